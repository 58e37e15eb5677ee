"""Encodings that tiktoken publishes as files of ranks: how each cuts text, and its special tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN

CL100K_PATTERN = "|".join(
    [
        r"'(?i:[sdmt]|ll|ve|re)",
        r"[^\r\n\p{L}\p{N}]?+\p{L}++",
        r"\p{N}{1,3}+",
        r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
        r"\s++$",
        r"\s*[\r\n]",
        r"\s+(?!\S)",
        r"\s",
    ]
)
"""The pattern of tiktoken's ``cl100k_base``."""

_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K_PATTERN = "|".join(
    [
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
"""The pattern of tiktoken's ``o200k_base``."""


class RankEncoding(NamedTuple):
    """What a file of ranks does not say.

    Attributes:
        pattern: what pretokens match, in the syntax of the ``regex`` package; None where that is not known.
        specials: id of each special token.
    """

    pattern: str | None
    specials: Mapping[str, int]


_GPT2 = RankEncoding(GPT2_PATTERN, {"<|endoftext|>": 50256})

TIKTOKEN_ENCODINGS: Mapping[str, RankEncoding] = {
    "r50k_base.tiktoken": _GPT2,
    "p50k_base.tiktoken": _GPT2,
    "cl100k_base.tiktoken": RankEncoding(
        CL100K_PATTERN,
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
    "o200k_base.tiktoken": RankEncoding(O200K_PATTERN, {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}),
}
"""By the usual name of the file."""
