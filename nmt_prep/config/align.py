"""The part of a config's schema for word alignment."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nmt_prep.config.section import Count, Location, Name, Section

Symmetrization = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]


class AlignSettings(Section):
    """Links of words, for training that needs them. Without this section, nothing is aligned."""

    symmetrize: Symmetrization = "grow-diag-final-and"
    """intersection, union, grow-diag, grow-diag-final or grow-diag-final-and: how the links of the two directions are
    joined"""
    splits: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """a list of splits, or null for all: the splits to align"""
    pairs: Count = Field(1_000_000, ge=1000)
    """an integer >= 1000: the most pairs to learn from, drawn at random"""
    model: Location | None = None
    """a path, or null to learn from the pairs: a model that nmt-prep align --save wrote"""
    learn: bool = False
    """true or false: also learn from the pairs if there is a model, which is then the beginning"""

    @property
    def learns(self) -> bool:
        """True if a model is learned from the pairs."""
        return self.model is None or self.learn
