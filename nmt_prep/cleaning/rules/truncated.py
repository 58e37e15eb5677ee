"""Rule ``truncated``: a side that breaks off.

A side may be truncated if the other side ends like a sentence, and this side does not. A sentence ends with ``.``,
``!``, ``?``, ``…``, ``:``, ``;`` or their counterparts in other scripts; closing quotes and brackets may follow. Value:
(b + slack) / (a + slack), where a is this side's length and b the other side's, in code points divided by the usual
length in the language (:mod:`nmt_prep.cleaning.lengths`); 0 if no side may be truncated, or if a is not less than b. A
pair passes if ``value < max``. ``slack`` allows higher ratios for short sides, because the lengths of short
translations vary more. The limit can be lower than for ``length_ratio``, which ignores how sides end.
"""

from __future__ import annotations

import numpy as np
from _nmt_prep_core import sentence_ends
from pydantic import Field

from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.lengths import expansion, lengths
from nmt_prep.cleaning.rule import Context, PairRule, Pairs, Values
from nmt_prep.config import Section


class TruncatedOptions(Section):
    """The limit for the length ratio, if one side breaks off."""

    max: float = 1.8
    """a number >= 1: a ratio of this size does not pass"""
    slack: float = Field(20, ge=0)
    """a number >= 0: this is added to both lengths"""


class TruncatedRule(PairRule[TruncatedOptions]):
    """The ratio of the lengths, if one side breaks off."""

    edges = (0, 1, 1.2, 1.4, 1.6, 1.8, 2, 2.25, 2.5, 3, 3.5, 4, 5, 6, 8, 10, 15, 20)
    below = True

    def __init__(self, options: TruncatedOptions, context: Context) -> None:
        super().__init__(options, context)
        self._factors = {side: expansion(context.language(side), "char") for side in SIDES}

    def pair_values(self, pairs: Pairs) -> Values:
        source, target = (lengths(pairs, side, "char") / self._factors[side] + self.given.slack for side in SIDES)
        source_ends, target_ends = (sentence_ends(pairs.lines(side)) for side in SIDES)
        longer, shorter = np.where(target_ends > source_ends, (target, source), (source, target))
        broken = (source_ends != target_ends) & (longer > shorter)
        ratios: Values = np.where(broken, np.inf, 0.0)
        np.divide(longer, shorter, out=ratios, where=broken & (shorter > 0))
        return ratios
