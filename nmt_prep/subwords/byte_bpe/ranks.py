"""Tiktoken's rank files: the published encodings, and encoding with tiktoken for patterns that are not native."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.base.errors import VocabularyError
from nmt_prep.base.runtime import needed_extra
from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN
from nmt_prep.subwords.byte_bpe.vocabulary import ByteBPEVocabulary
from nmt_prep.subwords.tokenizer_json import without_panic

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
    """Pattern and special tokens, which a rank file does not contain."""

    pattern: str | None  # regular expression that matches pretokens, in the syntax of `tiktoken`; None if it is unknown
    specials: Mapping[str, int]  # ID of each special token
    size: int = 0  # largest rank plus one

    def specials_of(self, size: int) -> dict[str, int]:
        """Returns the special tokens' IDs for a file with fewer ranks, from which pieces were taken out."""
        moved = max(self.size - size, 0)
        return {name: number - moved for name, number in self.specials.items()}


_GPT2 = {"<|endoftext|>": 50256}

TIKTOKEN_ENCODINGS: Mapping[str, RankEncoding] = {
    "r50k_base.tiktoken": RankEncoding(GPT2_PATTERN, _GPT2, 50256),
    "p50k_base.tiktoken": RankEncoding(GPT2_PATTERN, _GPT2, 50281),
    "cl100k_base.tiktoken": RankEncoding(
        CL100K_PATTERN,
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
        100256,
    ),
    "o200k_base.tiktoken": RankEncoding(O200K_PATTERN, {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}, 199998),
}
"""Published encodings by their usual file names."""

_BY_DIGEST = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": "r50k_base.tiktoken",
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": "p50k_base.tiktoken",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": "cl100k_base.tiktoken",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": "o200k_base.tiktoken",
}  # SHA-256 of the files, as in tiktoken


def published_encoding(name: str, data: bytes) -> RankEncoding:
    """Returns the published encoding of a rank file with this content, or else with this end of its name.

    The pattern is None for an unknown file.
    """
    usual = _BY_DIGEST.get(hashlib.sha256(data).hexdigest())
    usual = usual or next((known for known in TIKTOKEN_ENCODINGS if name.endswith(known)), "")
    return TIKTOKEN_ENCODINGS.get(usual, RankEncoding(None, {}))


class RankEncoder:
    """Encodes with tiktoken, for patterns that the native core does not recognize."""

    def __init__(self, vocabulary: ByteBPEVocabulary, pattern: str) -> None:
        """Prepares the encoding."""
        tiktoken = needed_extra("tiktoken", "tiktoken", "a rank file whose pattern is not native", VocabularyError)
        ranks = {token: number for number, token in enumerate(vocabulary.tokens) if token}
        try:
            self._encoding = tiktoken.Encoding(
                "ranks", pat_str=pattern, mergeable_ranks=ranks, special_tokens=vocabulary.specials
            )
        except ValueError as error:
            raise VocabularyError(f"tiktoken does not accept the pattern {pattern!r}: {error}; correct it") from error

    def encode(self, column: TextColumn, threads: int, allowed: frozenset[str]) -> Ragged:
        """Returns each line's IDs."""
        lines = list(column.strings())
        if not allowed:
            encode = self._encoding.encode_ordinary_batch
            return Ragged.from_lists(without_panic("tiktoken", encode, lines, num_threads=threads))
        encode = partial(self._encoding.encode, allowed_special=allowed, disallowed_special=())
        return Ragged.from_lists([without_panic("tiktoken", encode, line) for line in lines])
