"""Lengths of lines in the units of rules: characters, bytes, letters, tokens, words.

- ``char``: code points, as in Python's ``len``.
- ``byte``: bytes of UTF-8.
- ``letter``: code points of the categories L*.
- ``token``: parts of ``str.split()``.
- ``word``: words, in languages with and without spaces between words. A token is one word if all its scripts are
  written with spaces. Other tokens are cut into runs of one script. A run of a script without spaces counts as its
  number of code points divided by the length of an average word, rounded to a whole number, at least 1. This length is
  1.6 for Han, 2 for Hiragana, 4 for Katakana (with ー), Thai and Lao, 5 for Khmer, Myanmar and Tibetan. A run of other
  characters counts as one word if it holds a letter or a number.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from _nmt_prep_core import line_lengths

from nmt_prep.cleaning.rule import Pairs, Values
from nmt_prep.sides import Side

Unit: TypeAlias = Literal["char", "byte", "letter", "token", "word"]


def lengths(pairs: Pairs, side: Side, unit: Unit) -> Values:
    """Returns the length of every line of a side: float64, shape ``[pairs]``."""
    return pairs.keep(("length", side, unit), lambda: line_lengths(pairs.lines(side), unit))
