"""How a line is cut before byte-level BPE merges anything: the one description that every file format is read into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

GPT2_PATTERN = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
"""GPT-2's pre-tokenisation: the native scanner's own; what it matches is a pretoken, and no merge goes beyond one."""

# As tiktoken words it: the same matches.
_SAME_AS_GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""

Behavior: TypeAlias = Literal["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
"""What becomes of a pattern's matches, by tokenizers' names: they are parts of their own, they are left out, they join
the part before or the one behind, or neighbouring matches make one part."""

Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]
"""A normalization form of Unicode."""


def is_gpt2_pattern(pattern: str) -> bool:
    """Whether a pattern is GPT-2's, in OpenAI's wording or in tiktoken's."""
    return pattern in (GPT2_PATTERN, _SAME_AS_GPT2)


@dataclass(frozen=True, slots=True)
class Cut:
    """One step of cutting: each part of the line is cut where a pattern matches.

    Attributes:
        pattern: in the syntax of the ``regex`` package.
        behavior: what becomes of the matches.
        invert: whether what lies between matches takes their place, and they its.
    """

    pattern: str
    behavior: Behavior = "Isolated"
    invert: bool = False


@dataclass(frozen=True, slots=True)
class Pretokenization:
    """From a line to its pretokens, in the order of the attributes.

    Attributes:
        forms: normalization forms that the text is brought into.
        cuts: steps that cut the text, each the parts that the one before left.
        add_prefix_space: whether a part that does not begin with a space gets one.
        gpt2: whether the parts are then cut by GPT-2's pattern, which the native scanner does.
        byte_cuts: steps that cut the parts as files spell their bytes, and so perhaps inside a character.
    """

    forms: tuple[Form, ...] = ()
    cuts: tuple[Cut, ...] = ()
    add_prefix_space: bool = False
    gpt2: bool = True
    byte_cuts: tuple[Cut, ...] = ()

    @classmethod
    def by_pattern(cls, pattern: str) -> Pretokenization:
        """Pretokens are what a pattern matches, and what lies between its matches."""
        return cls() if is_gpt2_pattern(pattern) else cls(cuts=(Cut(pattern),), gpt2=False)

    def fingerprint(self) -> bytes:
        """What tells one way of cutting from another, but for ``add_prefix_space``: of GPT-2's alone, its pattern."""
        if not self.forms and not self.patterns:
            return (GPT2_PATTERN if self.gpt2 else "").encode()
        return repr((self.forms, self.cuts, self.gpt2, self.byte_cuts)).encode()

    @property
    def patterns(self) -> bool:
        """Whether the ``regex`` package has part in the cutting."""
        return bool(self.cuts or self.byte_cuts)
