"""Lengths of lines in the units of rules: characters, bytes, letters, tokens, words.

``char`` counts code points, as Python's ``len``; ``byte`` bytes of UTF-8; ``letter`` code points of the categories L*;
``token`` the parts of ``str.split()``.

``word`` is for languages with and without spaces between words. A token without characters of scripts that are written
without spaces is one word. In other tokens, every run of characters of one of these scripts counts as its number of
code points divided by the length of an average word, rounded to a whole number, at least 1: 1.6 for Han, 2 for
Hiragana, 4 for Katakana (with ー), Thai and Lao, 5 for Khmer, Myanmar and Tibetan. Every run of other characters counts
as one word if it holds a letter or a number.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from _nmt_prep_core import line_lengths

from nmt_prep.cleaning.rule import Pairs, Values
from nmt_prep.config import Side

Unit: TypeAlias = Literal["char", "byte", "letter", "token", "word"]


def lengths(pairs: Pairs, side: Side, unit: Unit) -> Values:
    """Returns the length of every line of a side: float64, shape ``[pairs]``."""
    return pairs.keep(("length", side, unit), lambda: line_lengths(pairs.lines(side), unit))
