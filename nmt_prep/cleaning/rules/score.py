"""Rule ``score``: scores that come with a corpus.

The rule is a mapping from names of scores to their limits, such as ``score: {bicleaner: {min: 0.5}, laser: {min:
1.06}}``. Value, for each score: the score of the pair. A pair passes if ``min <= value <= max`` for all of them; NaN
never passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from nmt_prep.cleaning.rule import Context, OwnBounds, Pairs, Rule, Values
from nmt_prep.config import Section
from nmt_prep.config.section import Name

_BINS = 40


class ScoreLimits(OwnBounds):
    """The limits of a score."""

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
    """Scores that come with a corpus."""

    def __init__(self, options: ScoreOptions, context: Context) -> None:
        self.scores = tuple(options.limits)
        self.columns = self.scores
        self.bounds = tuple(limits.bounds() for limits in options.limits.values())
        around = [edge for limits in options.limits.values() for edge in limits.edges()]
        low, high = min(0.0, *around), max(1.0, *around)
        self.edges = tuple(np.linspace(low, high, _BINS + 1).tolist())

    def values(self, pairs: Pairs) -> Values:
        return np.stack([np.asarray(pairs.scores[name], np.float64) for name in self.scores])
