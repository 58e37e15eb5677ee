"""Rule ``length``: each side's length.

Value: a side's length in units (:mod:`nmt_prep.cleaning.lengths`). A pair passes if ``min <= value <= max`` on
both sides. With ``unit: token`` or ``char``, this is OpusFilter's LengthFilter (its units ``word`` and ``char``).
"""

from __future__ import annotations

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.lengths import Unit, lengths
from nmt_prep.cleaning.rule import Pairs, PerSide, SideRule, Values
from nmt_prep.config import Section

LENGTHS = (0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 1000, 2000, 5000)
"""Edges of a length histogram."""


class LengthOptions(Section):
    """The limits for a side's length."""

    unit: PerSide[Unit] = PerSide[Unit].both("word")
    """char, byte, letter, token or word, or one a side: what is counted"""
    min: PerSide[float] = PerSide[float].both(1)
    """a number, or one a side: the least that passes"""
    max: PerSide[float] = PerSide[float].both(100)
    """a number, or one a side: the most that passes"""


class LengthRule(SideRule[LengthOptions]):
    """Each side's length."""

    edges = LENGTHS

    def line_values(self, pairs: Pairs, side: Side) -> Values:
        return lengths(pairs, side, self.given.unit.of(side))
