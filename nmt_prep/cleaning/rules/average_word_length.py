"""Rule ``average_word_length``: text whose words are too short or too long on average.

Value: the number of code points in a side's tokens, divided by the token count; 0 without tokens. A pair
passes if ``min <= value <= max`` on both sides. With ``unit: token`` this is OpusFilter's AverageWordLengthFilter. With
``unit: word`` the divisor is the number of words (:mod:`nmt_prep.cleaning.lengths`).
"""

from __future__ import annotations

import numpy as np
from _nmt_prep_core import average_tokens

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.lengths import lengths
from nmt_prep.cleaning.rule import Pairs, PerSide, SideRule, Values
from nmt_prep.cleaning.rules.longest_word import WordUnit
from nmt_prep.config import Section


class AverageWordLengthOptions(Section):
    """The limits for the average word length."""

    unit: WordUnit = "word"
    """token or word: how words are counted in Chinese and the like"""
    min: PerSide[float] = PerSide[float].both(2)
    """a number, or one a side: the least that passes"""
    max: PerSide[float] = PerSide[float].both(20)
    """a number, or one a side: the most that passes"""


class AverageWordLengthRule(SideRule[AverageWordLengthOptions]):
    """The average word length on each side."""

    edges = (0, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 50)

    def line_values(self, pairs: Pairs, side: Side) -> Values:
        average = average_tokens(pairs.lines(side))
        if self.given.unit == "token":
            return average
        tokens, words = lengths(pairs, side, "token"), lengths(pairs, side, "word")
        return np.asarray(average * (tokens / np.maximum(words, 1)), np.float64)
