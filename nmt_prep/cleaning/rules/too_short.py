"""Rule ``too_short``: sides with too little text.

Value: a side's length, by default in letters. A pair passes if ``value >= min`` on both sides. It is separate from
``length`` so that counts and rejects distinguish short pairs from long ones.
"""

from __future__ import annotations

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.lengths import Unit, lengths
from nmt_prep.cleaning.rule import Pairs, PerSide, SideRule, Values
from nmt_prep.cleaning.rules.length import LENGTHS
from nmt_prep.config import Section


class TooShortOptions(Section):
    """The least length of a side."""

    unit: PerSide[Unit] = PerSide[Unit].both("letter")
    """char, byte, letter, token or word, or one a side: what is counted"""
    min: PerSide[float] = PerSide[float].both(2)
    """a number, or one a side: the least that passes"""


class TooShortRule(SideRule[TooShortOptions]):
    """The least length of each side."""

    edges = LENGTHS

    def line_values(self, pairs: Pairs, side: Side) -> Values:
        return lengths(pairs, side, self.given.unit.of(side))
