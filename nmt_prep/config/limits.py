"""The section ``limits`` of a config: what clean-corpus-n.perl drops."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from nmt_prep.config.section import Count, Section

TOKENS = "limits/tokens"  # Key of the cleaning rule for tokens


class PieceLimits(Section):
    """Piece count limits for both sides."""

    min: Count = Field(1, ge=1)
    """an integer >= 1: the minimum count on a side"""
    max: Count | None = Field(None, ge=1)
    """an integer >= 1, or null for no limit: the maximum count on a side"""
    ratio: float | None = Field(9, ge=1, strict=False)
    """a number >= 1, or null for no limit: the maximum ratio between the two counts"""

    def _problems(self) -> Iterator[str]:
        if self.max is not None and self.max < self.min:
            yield f"max is {self.max}, less than min, which is {self.min}; no pair would pass"


class TokenLimits(PieceLimits):
    """Token limits for both sides."""

    longest: Count | None = Field(1000, ge=1)
    """an integer >= 1, or null for no limit: the maximum token length in characters"""
    factors: bool = False
    """true or false: | divides a token's factors; otherwise | is ignored"""


class LimitSettings(Section):
    """Limits for token and piece counts; pairs beyond them are dropped, as clean-corpus-n.perl does."""

    tokens: TokenLimits | None = None
    """a mapping, or null: limits for tokens, which vocab.words makes, in all cleaned splits"""
    pieces: PieceLimits | None = None
    """a mapping, or null: limits for pieces in train and its held-out splits"""
