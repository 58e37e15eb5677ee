"""Rule ``copy``: a side that repeats the other instead of translating it.

- ``measure: letters``: value 1.0 if the letters (L*) of the sides are equal after case folding, else 0.0, which passes.
  Digits, punctuation and spaces may differ. Pairs without letters, or with fewer than ``min_letters``, pass.
- ``measure: distance``: value = 1 − d / max(a, b), where d is the Levenshtein distance of the sides and a and b their
  lengths, in code points or tokens (``unit``); 1.0 if both are empty. A pair passes if ``value < max``. This is
  OpusFilter's SimilarityFilter with weights of 1, which is rapidfuzz's ``Levenshtein.normalized_similarity``.
- ``measure: substring``: value = length of the longest common substring / length of the shorter side, in code points; 0
  if a side is empty. A pair passes if ``value < max``. This is OpusFilter's LongestCommonSubstringFilter: difflib's
  ``find_longest_match``, with its shortcut for texts of 200 or more characters ("autojunk").

The two other measures compare the first 16,384 code points or tokens of each side; ``lowercase: true`` compares
``str.lower()`` of the sides.
"""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
from _nmt_prep_core import Lines, common_substring, edit_similarity, equal_letters
from pydantic import Field

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.sides import Side
from nmt_prep.cleaning.rule import NOT_FOUND, SHARES, Context, PairRule, Pairs, Values
from nmt_prep.config import Section


class CopyOptions(Section):
    """The measure of similarity, and the similarity from which pairs are copies."""

    measure: Literal["letters", "distance", "substring"] = "letters"
    """letters, distance or substring: equal letters, edit distance or longest common substring"""
    min_letters: int = Field(1, ge=1)
    """an integer >= 1: pairs with fewer letters are not copies (measure: letters)"""
    unit: Literal["char", "token"] = "char"
    """char or token: what is compared (measure: distance)"""
    lowercase: bool = False
    """true or false: whether case is ignored (distance and substring)"""
    max: float = 0.9
    """a number from 0 to 1: this similarity does not pass (measure: distance or substring)"""


class CopyRule(PairRule[CopyOptions]):
    """The similarity of the sides."""

    edges = SHARES
    below = True

    def __init__(self, options: CopyOptions, context: Context) -> None:
        super().__init__(options, context)
        if options.measure == "letters":
            self.bounds = (NOT_FOUND,)

    def pair_values(self, pairs: Pairs) -> Values:
        if self.given.measure == "letters":
            return equal_letters(pairs.lines("source"), pairs.lines("target"), self.given.min_letters)
        source, target = (self._lines(pairs, side) for side in ("source", "target"))
        if self.given.measure == "distance":
            return edit_similarity(source, target, self.given.unit == "token")
        return common_substring(source, target)

    def _lines(self, pairs: Pairs, side: Side) -> Lines:
        if not self.given.lowercase:
            return pairs.lines(side)
        lowered = [line.lower() for line in pairs.arrow(side).to_pylist()]
        column = TextColumn.from_arrow(pa.array(lowered, pa.large_string()))
        return Lines(column.data, column.offsets)
