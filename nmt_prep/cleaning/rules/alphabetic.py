r"""Rule ``alphabetic``: the share of letters.

Value with ``unit: char``: the number of code points with the Unicode property Alphabetic, divided by the number of all
code points, or with ``spaces: false`` of all except white space (``\s`` of the package regex); 1.0 for an empty text.
This is OpusFilter's AlphabetRatioFilter, whose ``exclude_whitespace`` is the opposite of ``spaces``.

Value with ``unit: word``: the number of tokens that contain a letter (L*), divided by the number of all tokens; 1.0
without tokens.

A pair passes if ``value >= min`` on both sides.
"""

from __future__ import annotations

from typing import Literal

from _nmt_prep_core import alphabetic_shares, letter_word_shares

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.rule import SHARES, Pairs, PerSide, SideRule, Values
from nmt_prep.config import Section


class AlphabeticOptions(Section):
    """The least share of letters."""

    unit: Literal["char", "word"] = "char"
    """char or word: what is counted"""
    spaces: bool = True
    """true or false: whether white space is among the characters (unit: char)"""
    min: PerSide[float] = PerSide[float].both(0.5)
    """a number from 0 to 1, or one a side: the least share that passes"""


class AlphabeticRule(SideRule[AlphabeticOptions]):
    """The share of letters on each side."""

    edges = SHARES

    def line_values(self, pairs: Pairs, side: Side) -> Values:
        lines = pairs.lines(side)
        return letter_word_shares(lines) if self.given.unit == "word" else alphabetic_shares(lines, self.given.spaces)
