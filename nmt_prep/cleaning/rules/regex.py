r"""Rule ``regex``: custom patterns.

The rule is a mapping from names to patterns of the package regex: ``regex: {ads: 'click here', end: {pattern: '[.!?]$',
side: target, match: keep}}``. Value, for each pattern and each side that it is searched on: 1.0 if ``regex.search``
finds a match, else 0.0. With ``match: drop`` a pair passes if no such side has a match; with ``match: keep``, if every
such side has one. This is OpusFilter's RegExpFilter, whose ``accept_match: true`` is ``match: keep``.

A search that takes longer than :data:`SECONDS` of processor time for each core is an error, because patterns such as
``(x+x+)+y`` take practically for ever on some lines. Such a pair is not dropped, because the result would depend on the
machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import regex
from pydantic import Field, field_validator, model_validator

from nmt_prep.base.runtime import available_cores, unstoppable
from nmt_prep.base.sides import Side
from nmt_prep.cleaning.rule import NOT_FOUND, YES_OR_NO, Bounds, Context, PairError, Pairs, Rule, Values
from nmt_prep.config import Section
from nmt_prep.config.section import Name

SECONDS = 10.0  # Time limit of a search, for each core: the package regex counts the processor time of all threads


class Pattern(Section):
    """A pattern, the sides to search, and the effect of a match."""

    pattern: str
    """a regular expression of the package regex: what is searched for"""
    side: Literal["source", "target", "both"] = "both"
    """source, target or both: the sides that are searched"""
    match: Literal["drop", "keep"] = "drop"
    """drop or keep: drop pairs with a match, or pairs without one"""

    @model_validator(mode="before")
    @classmethod
    def _pattern_alone(cls, value: Any) -> Any:
        return {"pattern": value} if isinstance(value, str) else value

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            regex.compile(value)
        except (regex.error, OverflowError, RecursionError) as error:
            raise ValueError(f"not a regular expression: {error}") from error
        return value


class RegexOptions(Section):
    """The patterns by name."""

    patterns: dict[Name, Pattern] = Field(min_length=1)
    """a mapping from names to patterns, or to {pattern: …, side: …, match: …}"""

    @model_validator(mode="before")
    @classmethod
    def _patterns_alone(cls, value: Any) -> Any:
        return {"patterns": value} if isinstance(value, Mapping) and set(value) != {"patterns"} else value


class RegexRule(Rule[RegexOptions]):
    """Matches of patterns."""

    edges = YES_OR_NO

    def __init__(self, options: RegexOptions, context: Context) -> None:
        found: list[tuple[str, Side, regex.Pattern[str], Bounds]] = [
            (name, side, regex.compile(wanted.pattern), Bounds(low=1.0) if wanted.match == "keep" else NOT_FOUND)
            for name, wanted in options.patterns.items()
            for side in context.sides
            if wanted.side in (side, "both")
        ]
        self._searches = [(name, side, pattern) for name, side, pattern, _ in found]
        self.columns = tuple(f"{name}.{side}" for name, side, _, _ in found)
        self.bounds = tuple(bounds for *_, bounds in found)

    def values(self, pairs: Pairs) -> Values:
        with unstoppable():
            return np.stack([_found(name, pattern, pairs.arrow(side)) for name, side, pattern in self._searches])


def _found(name: str, pattern: regex.Pattern[str], lines: pa.Array) -> Values:
    values = np.zeros(len(lines), np.float64)
    limit = SECONDS * available_cores()
    for number, line in enumerate(lines.to_pylist()):
        try:
            values[number] = pattern.search(line, timeout=limit) is not None
        except TimeoutError as error:
            raise PairError(
                number,
                f"the search for the pattern {name} takes more than {SECONDS:g} s per core; write it without nested "
                f"repetitions such as (x+x+)+ (the line begins with {line[:40]!r})",
            ) from error
    return values
