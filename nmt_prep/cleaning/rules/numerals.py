"""Rule ``numerals``: similarity of the sides' digits, without zeros.

Value: the ratio that ``difflib.SequenceMatcher`` computes for the sequences of ASCII digits from 1 to 9 on the two
sides: twice the number of matching digits, divided by the number of digits on both sides; 1.0 if there are none. Only
the first 16,384 digits of a side count. A pair passes if ``value >= min``. This is OpusFilter's NonZeroNumeralsFilter,
after Vázquez et al., 2019. To compare numbers instead of digits, use the ``numbers`` rule.
"""

from __future__ import annotations

import _nmt_prep_core as core

from nmt_prep.cleaning.rule import SHARES, PairRule, Pairs, Values
from nmt_prep.config import Section


class NumeralsOptions(Section):
    """The least similarity of digits."""

    min: float = 0.5
    """a number from 0 to 1: the least similarity that passes"""


class NumeralsRule(PairRule[NumeralsOptions]):
    """The similarity of the sides' digits."""

    edges = SHARES

    def pair_values(self, pairs: Pairs) -> Values:
        return core.numerals(pairs.lines("source"), pairs.lines("target"))
