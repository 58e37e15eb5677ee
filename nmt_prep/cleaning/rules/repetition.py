r"""Rule ``repetition``: text that is repeated immediately.

It looks for the first string of ``min`` to ``max`` + 1 characters that is followed by at least ``times`` copies, with
or without spaces between them. Value: the number of these copies; 0 if there is no such string. A pair passes if
``value < times`` on both sides.

The string is the match of ``(\S.{min-1,max}?)(?: *\1){times,}`` in the package regex. This is OpusFilter's
RepetitionFilter, whose score is the greater value of the two sides. The native kernel finds it without backtracking.
"""

from __future__ import annotations

from _nmt_prep_core import repetitions
from pydantic import Field, model_validator

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.rule import Bounds, Context, Pairs, SideRule, Values
from nmt_prep.config import Section


class RepetitionOptions(Section):
    """The limits of repetitions."""

    times: int = Field(2, ge=1)
    """an integer >= 1: a string that is repeated this often does not pass"""
    min: int = Field(3, ge=1)
    """an integer >= 1: the minimum length of the string in characters"""
    max: int = Field(100, ge=1)
    """an integer >= 1: the maximum length of the string in characters, less 1"""

    @model_validator(mode="after")
    def _in_order(self) -> RepetitionOptions:
        if self.min > self.max:
            raise ValueError("min is greater than max")
        return self


class RepetitionRule(SideRule[RepetitionOptions]):
    """Each side's repetitions."""

    edges = (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 50, 100)

    def __init__(self, options: RepetitionOptions, context: Context) -> None:
        super().__init__(options, context)
        self.bounds = (Bounds(high=options.times, below=True),) * len(context.sides)

    def line_values(self, pairs: Pairs, side: Side) -> Values:
        return repetitions(pairs.lines(side), self.given.times, self.given.min, self.given.max)
