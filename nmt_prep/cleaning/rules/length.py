"""Rule ``length``: the length of each side.

Value: the number of units of a side (:mod:`nmt_prep.cleaning.lengths`). A pair passes if ``min <= value <= max`` on
both sides. With ``unit: token`` or ``char``, this is OpusFilter's LengthFilter (unit ``word`` or ``char``).
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from nmt_prep.cleaning.lengths import Unit, lengths
from nmt_prep.cleaning.rule import Bounds, Context, Pairs, PerSide, Rule, Values
from nmt_prep.config import Section


class LengthOptions(Section):
    """The limits of the length of a side."""

    unit: PerSide[Unit] = Field(
        PerSide[Unit].both("word"), description="char, byte, letter, token or word, or one a side: what is counted"
    )
    min: PerSide[float] = Field(PerSide[float].both(1), description="a number, or one a side: the least that passes")
    max: PerSide[float] = Field(PerSide[float].both(100), description="a number, or one a side: the most that passes")


class LengthRule(Rule[LengthOptions]):
    """The length of each side."""

    name = "length"
    options = LengthOptions
    edges = (0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 1000, 2000, 5000)

    def __init__(self, options: LengthOptions, context: Context) -> None:
        self._units = tuple((side, options.unit.of(side)) for side in context.sides)
        self.columns = context.sides
        self.bounds = tuple(Bounds(options.min.of(side), options.max.of(side)) for side in context.sides)

    def values(self, pairs: Pairs) -> Values:
        return np.stack([lengths(pairs, side, unit) for side, unit in self._units])
