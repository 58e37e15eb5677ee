"""Rule ``only_symbols``: text that consists of punctuation and symbols.

Value: the number of letters, marks and numeric characters (L*, M*, N*), divided by the number of all code points except
white space; 1.0 for an empty text. A pair passes if ``value >= min`` on both sides.
"""

from __future__ import annotations

from _nmt_prep_core import word_character_shares

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.rule import SHARES, Pairs, PerSide, SideRule, Values
from nmt_prep.config import Section


class OnlySymbolsOptions(Section):
    """The least share of letters and numbers."""

    min: PerSide[float] = PerSide[float].both(0.3)
    """a number from 0 to 1, or one a side: the least share that passes"""


class OnlySymbolsRule(SideRule[OnlySymbolsOptions]):
    """The share of letters and numbers on each side."""

    edges = SHARES

    def line_values(self, pairs: Pairs, side: Side) -> Values:
        return word_character_shares(pairs.lines(side))
