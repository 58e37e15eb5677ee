"""Rule ``longest_word``: text with a word that is too long.

Value: the number of code points in the longest word of a side; 0 without words. A pair passes if ``value < max`` on
both sides.

With ``unit: token``, words are the parts of ``str.split()``; this is OpusFilter's LongWordFilter. With ``unit: word``,
characters of scripts without spaces between words (Han, kana, Thai, Lao, Khmer, Myanmar, Tibetan) are not counted,
because a Chinese clause without spaces is not a long word.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from _nmt_prep_core import longest_tokens, longest_words

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.rule import Pairs, PerSide, SideRule, Values
from nmt_prep.config import Section

WordUnit: TypeAlias = Literal["token", "word"]


class LongestWordOptions(Section):
    """The limit for a word's length."""

    unit: WordUnit = "word"
    """token or word: token counts all characters between spaces, word none of Chinese and similar scripts"""
    max: PerSide[float] = PerSide[float].both(40)
    """a number, or one a side: a longest word of this length does not pass"""


class LongestWordRule(SideRule[LongestWordOptions]):
    """The longest word of each side."""

    edges = (0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 25, 30, 35, 40, 50, 60, 80, 100, 150, 200, 500, 1000)
    below = True

    def line_values(self, pairs: Pairs, side: Side) -> Values:
        longest = longest_tokens if self.given.unit == "token" else longest_words
        return longest(pairs.lines(side))
