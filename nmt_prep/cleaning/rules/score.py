"""Rule ``score``: scores that come with a corpus, or computed values.

The rule is a mapping from score names to their limits, such as ``score: {bicleaner: {min: 0.5}, laser: {min: 1.06}}``.
Value, for each score: the pair's score. A pair passes if ``min <= value <= max`` for all of them; NaN never
passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from nmt_prep.cleaning.rule import Context, OwnBounds, Pairs, Rule, Values
from nmt_prep.config import Section
from nmt_prep.config.section import Name
from nmt_prep.text.computed import Column

_BINS = 40


class ScoreLimits(OwnBounds):
    """A score's limits."""

    @model_validator(mode="after")
    def _limited(self) -> ScoreLimits:
        if not self.numbers:
            raise ValueError("a score needs min, max, or both")
        return self


class ScoreOptions(Section):
    """The limits by score."""

    limits: dict[Name, ScoreLimits] = Field(min_length=1)
    """a mapping from names of scores to {min: …, max: …}: the scores that pass"""

    @model_validator(mode="before")
    @classmethod
    def _limits_alone(cls, value: Any) -> Any:
        return {"limits": value} if isinstance(value, Mapping) and set(value) != {"limits"} else value


class ScoreRule(Rule[ScoreOptions]):
    """Scores that come with a corpus, or computed values."""

    def __init__(self, options: ScoreOptions, context: Context) -> None:
        made = {
            name: Column(name, context.computed[name], context.languages, context.sides, context.base_dir)
            for name in options.limits
            if name in context.computed
        }
        self.computed = {name: column for name, column in made.items() if column.sides}
        limits = {name: each for name, each in options.limits.items() if name in self.computed or name not in made}
        self.scores = tuple(name for name in limits if name not in self.computed)
        self.columns = tuple(limits)
        self.bounds = tuple(each.bounds() for each in limits.values())
        self.files = {name: path for column in self.computed.values() for name, path in column.files.items()}
        around = [edge for each in limits.values() for edge in each.edges()]
        low, high = min([0.0, *around]), max([1.0, *around])
        self.edges = tuple(np.linspace(low, high, _BINS + 1).tolist())

    def values(self, pairs: Pairs) -> Values:
        return np.stack([pairs.score(name, self.computed.get(name)) for name in self.columns])
