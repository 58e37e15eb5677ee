"""Rule ``terminal_punctuation``: unequal or many terminal punctuation marks.

Value: −ln(p + 1), where p = |a − b| + max(a − 1, 0) + max(b − 1, 0), and a and b are the numbers of ``.``, ``?``, ``!``
and ``…`` on the two sides. A pair passes if ``value >= min``. This is OpusFilter's TerminalPunctuationFilter, after
Vázquez et al., "The University of Helsinki submission to the WMT19 parallel corpus filtering task", 2019.
"""

from __future__ import annotations

import _nmt_prep_core as core

from nmt_prep.cleaning.rule import PairRule, Pairs, Values
from nmt_prep.config import Section


class TerminalPunctuationOptions(Section):
    """The limit of the penalty."""

    min: float = -2
    """a number <= 0: the least value that passes; -2 lets up to 6 points pass"""


class TerminalPunctuationRule(PairRule[TerminalPunctuationOptions]):
    """The penalty for terminal punctuation marks."""

    edges = (-5, -4, -3.5, -3, -2.75, -2.5, -2.25, -2, -1.75, -1.5, -1.25, -1, -0.75, -0.5, -0.25, 0.25)

    def pair_values(self, pairs: Pairs) -> Values:
        return core.terminal_punctuation(pairs.lines("source"), pairs.lines("target"))
