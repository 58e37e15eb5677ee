"""Rule ``only_digits``: text that consists of numbers.

Value: the number of numeric characters (N*), divided by the number of letters, marks and numeric characters (L*, M*,
N*); 0 if there are none. A pair passes if ``value < max`` on both sides.
"""

from __future__ import annotations

from _nmt_prep_core import number_shares

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.rule import SHARES, Pairs, PerSide, SideRule, Values
from nmt_prep.config import Section


class OnlyDigitsOptions(Section):
    """The limit for the share of numbers."""

    max: PerSide[float] = PerSide[float].both(0.6)
    """a number from 0 to 1, or one a side: a share of this size does not pass"""


class OnlyDigitsRule(SideRule[OnlyDigitsOptions]):
    """The share of numbers on each side."""

    edges = SHARES
    below = True

    def line_values(self, pairs: Pairs, side: Side) -> Values:
        return number_shares(pairs.lines(side))
