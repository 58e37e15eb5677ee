"""Rule ``numbers``: numbers that the sides do not share.

Value: 2m / (2m + d), where m numbers of the sides match and d do not; 1.0 if there are none. A pair passes if
``value >= min``. Order does not matter. Numbers match if they have the same value, however they are written:

- in the digits of any script;
- with points, commas, spaces or apostrophes as decimal mark or between groups of three digits. A number with one mark
  and three digits after it matches both readings;
- with powers of ten from a thousand on spelled out: ``3.5 million``, ``3,500,000`` and ``350万``;
- in Han numerals (``三百五十``, ``二〇一〇``), which are never missed on the other side, since many are parts of words.
  They match only numbers that the other side has beyond as many in digits: ``10`` and ``37`` differ despite a ``十``.

A whole number up to ``small`` that only one side has is not counted: the other may spell it out, as in ``2 men`` and
``zwei Männer``. Numbers that differ from one of the other side always count.
"""

from __future__ import annotations

from _nmt_prep_core import number_similarity
from pydantic import Field

from nmt_prep.cleaning.rule import SHARES, Bounds, Context, PairRule, Pairs, Values
from nmt_prep.config import Section


class NumbersOptions(Section):
    """The least similarity of the numbers."""

    min: float = Field(0.5, description="a number from 0 to 1: the least similarity that passes")
    small: int = Field(12, ge=0, description="an integer >= 0: the greatest number that one side may spell out")


class NumbersRule(PairRule[NumbersOptions]):
    """The similarity of the numbers of the sides."""

    name = "numbers"
    options = NumbersOptions
    edges = SHARES

    def __init__(self, options: NumbersOptions, context: Context) -> None:
        super().__init__(options, context)
        self._small = options.small
        self.bounds = (Bounds(low=options.min),)

    def pair_values(self, pairs: Pairs) -> Values:
        return number_similarity(pairs.lines("source"), pairs.lines("target"), self._small)
