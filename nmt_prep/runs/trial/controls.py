"""The values of all rules for a sample, and the limits that the page can move.

A control is a rule with its options, from the config or from a preset. The page decides from its values as
:func:`~nmt_prep.cleaning.rejects.judge` does. The values of some rules depend on their limit; such a limit has a grid,
and each value becomes the last limit of the grid that the pair fails.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.base.errors import CleaningError
from nmt_prep.cleaning.rejects import judge
from nmt_prep.cleaning.rule import Bounds, Context, Pairs, Rule, Values
from nmt_prep.cleaning.rules import make_rules, rule_options

Spec: TypeAlias = "dict[str, Any]"

_FAR = 1_000_000

_GRID = 20  # Grid steps for a limit that is not an integer
_MOST_STEPS = 30  # Maximum number of grid steps for an integer


@dataclass(frozen=True)
class Limit:
    """An option that sets bounds of a rule."""

    path: tuple[str, ...]  # the keys of the option below the rule
    value: float | str  # its value; `auto` for a threshold that is found
    integer: bool  # true if it must be an integer
    targets: tuple[tuple[int, str], ...]  # the bounds that it sets: number of the column, and `low` or `high`
    grid: tuple[float, ...] = ()  # the values that it can have, ascending; empty for any
    least: float = -_FAR  # approximate minimum of the option
    most: float = _FAR  # approximate maximum


@dataclass
class Control:
    """A rule with its options."""

    key: str
    spec: Spec
    columns: tuple[str, ...]
    bounds: tuple[Bounds, ...]
    edges: tuple[float, ...]  # edges of its value histogram
    limits: tuple[Limit, ...]
    values: Values  # values of each column for all pairs of the sample: float64, shape `[columns, pairs]`
    judged: npt.NDArray[np.bool_]  # true where there is a value: bool, same shape
    # by corpus, the lowest value that passes, where the config says `auto`
    thresholds: dict[str, float] = field(default_factory=dict)
    note: str = ""  # where the values come from, for rules that need the whole corpus; or why there are none


@dataclass(frozen=True)
class Part:
    """A corpus's pairs after the fixes, without pairs that have no text."""

    pairs: Pairs
    places: npt.NDArray[np.int64]  # their indexes in the sample: int64, ascending
    context: Context


def control_of(key: str, spec: object, parts: Sequence[Part], size: int) -> Control | None:
    """Returns a rule with its values for some corpora, or None if the rule applies to no corpus."""
    options = dict(spec) if isinstance(spec, Mapping) else {}
    applying = [(part, rule) for part in parts if (rule := _built(key, options, part.context)) is not None]
    if not applying:
        return None
    first = max((rule for _, rule in applying), key=lambda rule: len(rule.columns))
    # A rule that compares sides, or scores the only side, takes its limits from the corpora that come first.
    applying = [(part, rule) for part, rule in applying if {*rule.columns} <= {*first.columns}]
    values = np.full((len(first.columns), size), np.nan)
    edges = tuple(map(float, first.edges))
    control = Control(key, options, first.columns, first.bounds, edges, (), values, np.zeros(values.shape, np.bool_))
    for part, rule in applying:
        for column, own in zip(_numbers_of(rule, control), rule.values(part.pairs), strict=True):
            values[column, part.places] = own
            control.judged[column, part.places] = True
    control.limits = tuple(_limits(control, [part for part, _ in applying], first))
    return control


def _numbers_of(rule: Rule[Any], control: Control) -> list[int]:
    """Returns the column indexes of a control's rule: a rule may score one side only in some languages."""
    return [control.columns.index(name) for name in rule.columns]


def _built(key: str, spec: object, context: Context) -> Rule[Any] | None:
    try:
        return next(iter(make_rules({key: spec}, context)), None)
    except ValueError as error:
        raise CleaningError(str(error)) from error


def _limits(control: Control, parts: Sequence[Part], rule: Rule[Any]) -> Iterator[Limit]:
    """Yields the options that set bounds, found by changing one option after the other."""

    def changed(path: tuple[str, ...], value: float, part: Part | None = None) -> Rule[Any] | None:
        try:
            return _built(control.key, _with(control.spec, path, value), (part or best).context)
        except CleaningError:
            return None

    best = next(
        part
        for part in parts
        if getattr(_built(control.key, control.spec, part.context), "columns", ()) == rule.columns
    )

    for path, value in _numbers(control.key, control.spec):
        integer = isinstance(value, int) and changed(path, value + 0.5) is None
        for other in _others(value, integer=integer):
            if (built := changed(path, other)) is None or built.columns != rule.columns:
                continue
            targets = tuple(_targets(rule.bounds, built.bounds, value, other))
            if not targets:
                break
            edges = {round(edge) if integer else edge for edge in control.edges}
            allowed = [value, *(edge for edge in (-_FAR, *edges, _FAR) if changed(path, edge) is not None)]
            limit = Limit(path, value, integer, targets, (), min(allowed), max(allowed))
            own, far = rule.values(best.pairs), (changed(path, end) for end in (limit.least, limit.most))
            others = [built, *(each for each in far if each is not None)]  # a near limit may change no value
            if all(np.array_equal(each.values(best.pairs), own, equal_nan=True) for each in others):
                yield limit
            else:
                yield from _on_grid(control, limit, parts, rule, changed)
            break


def _numbers(key: str, spec: Spec) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yields the options of a rule that are numbers; one for both sides if it is the same."""
    options = rule_options(key, spec)
    assert options is not None
    given = {**options.model_dump(mode="python"), **spec}
    for name, value in given.items():
        inner = value if isinstance(value, Mapping) else {}
        if set(inner) == {"source", "target"} and inner["source"] == inner["target"]:
            value = inner["source"]  # noqa: PLW2901
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield (name,), value
        elif isinstance(value, Mapping):
            for below, number in value.items():
                if isinstance(number, int | float) and not isinstance(number, bool):
                    yield (name, str(below)), number


def _with(spec: Spec, path: tuple[str, ...], value: float) -> Spec:
    """Returns the options with another value for one option."""
    if len(path) == 1:
        return {**spec, path[0]: value}
    inner = spec.get(path[0])
    return {**spec, path[0]: {**(inner if isinstance(inner, Mapping) else {}), path[1]: value}}


def _others(value: float, *, integer: bool) -> Iterator[float]:
    yield from (value + 1, value - 1) if integer else (value * 0.9 + 0.0123, value + 1, value * 0.5, value - 1)


def _targets(before: Sequence[Bounds], after: Sequence[Bounds], old: float, new: float) -> Iterator[tuple[int, str]]:
    """Yields the bounds that changed with an option from the old value to the new; none if another bound changed."""
    found = []
    for column, (first, second) in enumerate(zip(before, after, strict=True)):
        for end in ("low", "high"):
            was, now = getattr(first, end), getattr(second, end)
            if was != now:
                if (was, now) != (old, new):
                    return
                found.append((column, end))
    yield from found


def _on_grid(
    control: Control,
    limit: Limit,
    parts: Sequence[Part],
    rule: Rule[Any],
    changed: Callable[..., Rule[Any] | None],
) -> Iterator[Limit]:
    """Yields a limit with a grid, and makes the values of the control comparable with it.

    Yields nothing if a pair can fail a limit and pass a stricter one, or if columns have other limits too.
    """
    [*ends] = {end for _, end in limit.targets}
    if ends != ["high"] or len(limit.targets) != len(control.columns):
        return
    grid = [value for value in _steps(control.edges, limit) if changed(limit.path, value) is not None]
    failed = np.zeros((len(grid), *control.values.shape), np.bool_)
    for part in parts:
        for number, value in enumerate(grid):
            built = changed(limit.path, value, part)
            assert built is not None
            columns = zip(_numbers_of(built, control), built.values(part.pairs), built.bounds, strict=True)
            for column, values, bounds in columns:
                failed[number, column, part.places] = ~judge(values[np.newaxis], [bounds])
    if any((~stricter & looser).any() for stricter, looser in pairwise(failed)):
        return
    strict = rule.bounds[0].below
    above = [*grid[1:], math.inf] if not strict else grid
    lowest = grid[0] if not strict else grid[0] - 1
    fails = failed.sum(axis=0)
    control.values = np.where(control.judged, np.array([lowest, *above])[fails], np.nan)
    yield replace(limit, grid=tuple(grid))


def _steps(edges: Sequence[float], limit: Limit) -> list[float]:
    """Returns the values to try for a limit, ascending; its own value is one of them."""
    assert not isinstance(limit.value, str)
    if limit.integer:
        low, high = math.floor(edges[0]), math.ceil(min(edges[-1], edges[0] + _MOST_STEPS))
        return sorted({*range(low, high + 1), limit.value})
    span = edges[-1] - edges[0]
    around = {round(edges[0] + span * step / (2 * _GRID), 6) for step in range(2 * _GRID + 1)}
    return sorted({*around, limit.value})


def spec_key(key: str, spec: object) -> str:
    """Returns a text that is equal for equal rules."""
    return json.dumps([key, spec if isinstance(spec, Mapping) else {}], sort_keys=True, default=str)
