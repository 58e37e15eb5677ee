"""Rule ``brackets``: brackets that do not match.

The kinds of brackets are ( ), [ ], { } and ⟨ ⟩, wide forms included. The balance of a kind on a side is the number of
opening brackets minus the number of closing ones. Value: the absolute difference between the two sides' balances,
summed over all kinds; so ``a)`` on both sides counts as 0. In a one-sided corpus, the value is the sum of the absolute
balances. A pair passes if ``value <= max``.
"""

from __future__ import annotations

import numpy as np
from _nmt_prep_core import bracket_differences, unbalanced_brackets
from pydantic import Field

from nmt_prep.cleaning.rule import Bounds, Context, Pairs, Rule, Values
from nmt_prep.config import Section


class BracketsOptions(Section):
    """The limit of unbalanced brackets."""

    max: int = Field(0, ge=0)
    """an integer >= 0: the maximum number of brackets that passes"""


class BracketsRule(Rule[BracketsOptions]):
    """The unbalanced brackets in a pair, or in a line."""

    edges = (0, 1, 2, 3, 4, 5, 10, 20, 50)

    def __init__(self, options: BracketsOptions, context: Context) -> None:
        self._sides = context.sides
        self.columns = ("pair",) if len(context.sides) == 2 else context.sides
        self.bounds = (Bounds(high=options.max),)

    def values(self, pairs: Pairs) -> Values:
        lines = [pairs.lines(side) for side in self._sides]
        found = bracket_differences(*lines) if len(lines) == 2 else unbalanced_brackets(*lines)
        return found[np.newaxis]
