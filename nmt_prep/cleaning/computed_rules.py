"""Rules on computed values (:mod:`nmt_prep.text.computed`), which judge only the pairs that all other rules keep."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from nmt_prep.cleaning.corpus_rules.top import TOP
from nmt_prep.cleaning.rule import Context, OwnBounds, PairError, Pairs, Rule, Values
from nmt_prep.config import ComputedValue
from nmt_prep.config.computed import Version
from nmt_prep.text.computed import Column

SCORE = "score"  # The rule whose options name scores
SHORT_FORMS = ("program", "python")  # The rules that are short for a computed value and its limits


@dataclass(frozen=True)
class ComputedUse:
    """A value that is computed for a corpus."""

    value: ComputedValue
    rules: Mapping[str, Any]  # the rules on it
    key: str  # its key in the config, for messages
    shown: str  # its name
    short: bool = False  # true for the value of a rule that is a short form, which parts do not keep


class ShortFormOptions(OwnBounds):
    """A value and its limits."""

    version: Version = ""
    """a text or number: another version computes all values again"""

    @property
    def value(self) -> ComputedValue:
        """The value that the rule is short for."""
        raise NotImplementedError


O = TypeVar("O", bound=ShortFormOptions)  # noqa: E741  (O for options)


class ShortForm(Rule[O]):
    """A rule that is short for a computed value and its limits."""

    def __init__(self, options: O, context: Context) -> None:
        self._options = options
        self._column = Column(options.value.name, options.value, context.languages, context.sides, context.base_dir)
        self.computed = {options.value.name: self._column}
        self.columns: tuple[str, ...] = (self._column.label,) if self._column.sides else ()
        self.bounds = (options.bounds(),) * len(self.columns)
        self.edges, self.files = options.edges(), self._column.files

    def values(self, pairs: Pairs) -> Values:
        values = pairs.score(short_name(self.key), self._column)
        wrong = np.flatnonzero((values != 0) & (values != 1) & (not self._options.numbers))
        if len(wrong):
            name, value = self._column.program.name, f"{values[wrong[0]]:g}"
            raise PairError(int(wrong[0]), f"{name} returned numbers, such as {value}; give the rule min or max")
        return values[np.newaxis]


def short_name(key: str) -> str:
    """Returns the name of the value of a rule that is a short form; no score of a corpus can have it."""
    return f"rule:{key}"


def divided(rules: Mapping[str, Any], computed: Collection[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Returns the rules without those on computed values, and these by the name of their value.

    A rule ``score`` with limits for several scores is divided.
    """
    others: dict[str, Any] = {}
    by_value: dict[str, dict[str, Any]] = {}
    for key, spec in rules.items():
        kind = key.partition("/")[0]
        if kind in SHORT_FORMS:
            by_value[short_name(key)] = {key: spec}
        elif kind == SCORE and isinstance(spec, Mapping):
            limits = limits_of(spec)
            for name in limits:
                if name in computed:
                    by_value.setdefault(name, {})[key] = {name: limits[name]}
            if rest := {name: limit for name, limit in limits.items() if name not in computed}:
                others[key] = rest
        else:
            others[key] = spec
    return others, by_value


def named_scores(rules: Mapping[str, Any]) -> Iterator[str]:
    """Yields the names of the scores that rules use."""
    for key, spec in rules.items():
        kind = key.partition("/")[0]
        if kind == SCORE and isinstance(spec, Mapping):
            yield from limits_of(spec)
        elif kind == TOP and isinstance(spec, Mapping) and isinstance(spec.get("score"), str):
            yield spec["score"]


def limits_of(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the limits in the options of a rule ``score``."""
    limits = spec["limits"] if set(spec) == {"limits"} else spec
    return limits if isinstance(limits, Mapping) else {}
