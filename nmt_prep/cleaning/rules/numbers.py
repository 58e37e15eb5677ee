"""Rule ``numbers``: numbers that the sides do not share.

Value: 2m / (2m + d), where m is the number of matches between the sides, and d the number of numbers without a match;
1.0 if both are 0. A pair passes if ``value >= min``. Order does not matter. Numbers match if they have the same value,
in any of these notations:

- in the digits of any script;
- with points, commas, spaces or apostrophes as decimal mark or thousands separator. A number with a single mark before
  its last three digits matches either reading;
- with a word or character for a power of ten from a thousand on: ``3.5 million``, ``3,500,000`` and ``350万``;
- in Han numerals (``三百五十``, ``二〇一〇``). A Han numeral without a match does not count, because many are parts of
  words. A number in digits matches a Han numeral only if its side has more unmatched numbers in digits than the other:
  ``10`` and ``37`` differ even if ``十`` is beside ``37``.

A whole number up to ``small`` does not count if the other side has no number in its place, because the other side may
spell it out, as in ``2 men`` and ``zwei Männer``. It counts if the other side has a different number instead.
"""

from __future__ import annotations

from _nmt_prep_core import number_similarity
from pydantic import Field

from nmt_prep.cleaning.rule import SHARES, PairRule, Pairs, Values
from nmt_prep.config import Section


class NumbersOptions(Section):
    """The least similarity of the numbers."""

    min: float = 0.5
    """a number from 0 to 1: the least similarity that passes"""
    small: int = Field(12, ge=0)
    """an integer >= 0: the greatest number that one side may spell out"""


class NumbersRule(PairRule[NumbersOptions]):
    """The similarity of the sides' numbers."""

    edges = SHARES

    def pair_values(self, pairs: Pairs) -> Values:
        return number_similarity(pairs.lines("source"), pairs.lines("target"), self.given.small)
