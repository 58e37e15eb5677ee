"""The section ``limits`` of a config: what clean-corpus-n.perl drops."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from nmt_prep.config.section import Count, Section


class PieceLimits(Section):
    """Piece count limits for both sides."""

    min: Count = Field(1, ge=1)
    """an integer >= 1: pairs with fewer on a side are dropped"""
    max: Count | None = Field(None, ge=1)
    """an integer >= 1, or null for no limit: pairs with more on a side are dropped"""
    ratio: float | None = Field(9, ge=1, strict=False)
    """a number >= 1, or null for no limit: pairs are dropped if the larger number divided by the other is greater"""

    def _problems(self) -> Iterator[str]:
        if self.max is not None and self.max < self.min:
            yield f"max is {self.max}, less than min, which is {self.min}; no pair would pass"


class TokenLimits(PieceLimits):
    """Token limits for both sides."""

    longest: Count | None = Field(1000, ge=1)
    """an integer >= 1, or null for no limit: pairs with a longer token, in characters, are dropped"""
    factors: bool = False
    """true or false: | divides the factors of tokens; otherwise it is not counted, as if deleted"""


class LimitSettings(Section):
    """Limits for token and piece counts; pairs beyond them are dropped, as clean-corpus-n.perl does."""

    tokens: TokenLimits | None = None
    """a mapping, or null: limits for tokens, which the steps in vocab.words make, in all splits that are cleaned"""
    pieces: PieceLimits | None = None
    """a mapping, or null: limits for pieces in train, and in splits that are held out from it"""
