"""Bounds and histogram edges of custom rules, which may return numbers or booleans."""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field, model_validator

from nmt_prep.cleaning.rule import YES_OR_NO, Bounds
from nmt_prep.config import Section

_BINS = 20


class OwnBounds(Section):
    """The limits of the numbers that pass. Without limits, booleans are expected instead of numbers."""

    min: float | None = Field(None, strict=False, description="a number, or null: the least that passes")
    max: float | None = Field(None, strict=False, description="a number, or null: the most that passes")

    @model_validator(mode="after")
    def _in_order(self) -> OwnBounds:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min is greater than max")
        return self

    @property
    def numbers(self) -> bool:
        """True if numbers are expected, false if booleans are."""
        return self.min is not None or self.max is not None

    def bounds(self) -> Bounds:
        """Returns the bounds; of booleans, only true (1.0) passes."""
        if not self.numbers:
            return Bounds(low=1.0)
        return Bounds(-math.inf if self.min is None else self.min, math.inf if self.max is None else self.max)

    def edges(self) -> tuple[float, ...]:
        """Returns the edges of a histogram of the values, with the limits near its middle."""
        if not self.numbers:
            return YES_OR_NO
        known = [bound for bound in (self.min, self.max) if bound is not None]
        around = max(known[-1] - known[0], abs(known[0]), 1.0)
        return tuple(np.linspace(known[0] - around, known[-1] + around, _BINS + 1).tolist())
