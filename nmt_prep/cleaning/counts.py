"""Counts of cleaning, and the decisions and histograms that follow from the values of a rule.

The counts of the parts of a corpus add up, in any order, to the counts of the corpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

import _nmt_prep_core as core
import numpy as np
import numpy.typing as npt

from nmt_prep.cleaning.rule import Bounds, Rule, Values

K = TypeVar("K")

EMPTY = "empty"
"""The reason for dropping pairs that have no text on a side after the fixes. Rules do not judge such pairs."""

Bins = tuple[int, ...]


@dataclass(frozen=True)
class Histogram:
    """A histogram of the values in one column of a rule."""

    edges: tuple[float, ...]  # ascending edges of the bins; values outside are counted in the first or last bin
    kept: Bins  # for each bin, the number of values of kept pairs
    dropped: Bins  # for each bin, the number of values of pairs that were dropped, for this rule or another
    failed: int  # number of values that the rule refuses

    def __add__(self, other: Histogram) -> Histogram:
        kept, dropped = _sum(self.kept, other.kept), _sum(self.dropped, other.dropped)
        return Histogram(self.edges, kept, dropped, self.failed + other.failed)


@dataclass(frozen=True)
class CleanCounts:
    """Counts of a corpus, or of a part of one."""

    pairs_in: int = 0  # pairs before cleaning
    pairs_out: int = 0  # pairs that were kept
    # number of dropped pairs by reason: `empty`, or the first rule that a pair fails
    dropped: dict[str, int] = field(default_factory=dict)
    # number of pairs that fail both of two rules: `failed[r][s]` for the rules `r` and `s`; `failed[r][r]` is the
    # number of all pairs that fail `r`
    failed: dict[str, dict[str, int]] = field(default_factory=dict)
    altered: dict[str, int] = field(default_factory=dict)  # number of lines that each fix altered, both sides together
    # histograms by rule and column, of the values of all pairs that the rules judged
    histograms: dict[str, dict[str, Histogram]] = field(default_factory=dict)

    def __add__(self, other: CleanCounts) -> CleanCounts:
        return CleanCounts(**merged(vars(self), vars(other)))


def dropped_counts(
    dropped: Mapping[str, int],
    histograms: Mapping[str, dict[str, Histogram]] = MappingProxyType({}),
    failed: Mapping[str, int] | None = None,
) -> CleanCounts:
    """Returns counts to add for pairs that are dropped after the rules have kept them.

    Args:
        failed: number of pairs to which a reason applies, also of those that were dropped for another reason;
            ``dropped`` by default.
    """
    counts = {reason: {reason: count} for reason, count in (failed or dropped).items()}
    return CleanCounts(0, -sum(dropped.values()), {**dropped}, counts, {}, {**histograms})


def counts_of(
    rules: Sequence[Rule[Any]],
    altered: Mapping[str, int],
    reasons: npt.NDArray[np.int16],
    values: Sequence[Values],
    failed: npt.NDArray[np.bool_],
) -> CleanCounts:
    """Returns the counts of a batch.

    Args:
        reasons: shape ``[pairs]``: -1 for pairs that are kept, 0 for pairs without text, 1 for pairs that fail the
            first rule, and so on.
        values: the values of each rule: float64, shape ``[columns, pairs with text]``.
        failed: true where a pair fails a rule: shape ``[rules, pairs with text]``.
    """
    names = [rule.key for rule in rules]
    pairs_out, *dropped = np.bincount(reasons + 1, minlength=len(rules) + 2).tolist()
    some = failed[:, failed.any(axis=0)].astype(np.float32)  # exact: a batch has fewer than 2**24 pairs
    with np.errstate(all="ignore"):  # libraries on aarch64 raise flags without a cause
        both = (some @ some.T).astype(np.int64).tolist()
    kept = reasons[reasons != 0] < 0
    return CleanCounts(
        len(reasons),
        pairs_out,
        dict(zip([EMPTY, *names], dropped, strict=True)),
        {name: dict(zip(names, row, strict=True)) for name, row in zip(names, both, strict=True)},
        {**altered},
        {
            rule.key: dict(_histograms(rule, columns, refused, kept))
            for rule, columns, refused in zip(rules, values, failed, strict=True)
        },
    )


def _histograms(
    rule: Rule[Any], values: Values, failed: npt.NDArray[np.bool_], kept: npt.NDArray[np.bool_]
) -> Iterator[tuple[str, Histogram]]:
    """Yields the histogram of each column of a rule."""
    counts = histogram(values, rule.edges, kept).tolist()
    for name, column, bounds, (dropped, passed) in zip(rule.columns, values, rule.bounds, counts, strict=True):
        refused = int(np.count_nonzero(~judge(column[np.newaxis, failed], [bounds])))
        yield name, Histogram(tuple(map(float, rule.edges)), tuple(passed), tuple(dropped), refused)


def _sum(first: Bins, second: Bins) -> Bins:
    return tuple(a + b for a, b in zip(first, second, strict=True))


def merged(first: Mapping[K, Any], second: Mapping[K, Any]) -> dict[K, Any]:
    """Returns the sums by key, also of mappings; a key that is in only one mapping keeps its value."""

    def total(one: Any, other: Any) -> Any:
        return merged(one, other) if isinstance(one, Mapping) else one + other

    return {**first, **{key: total(first[key], value) if key in first else value for key, value in second.items()}}


def judge(values: Values, bounds: Sequence[Bounds]) -> npt.NDArray[np.bool_]:
    """Returns true for each pair whose values are all within their bounds: bool, shape ``[pairs]``.

    Args:
        values: float64, shape ``[columns, pairs]``.
    """
    limits = [(limit.low, limit.high, limit.above, limit.below) for limit in bounds]
    return core.judge(np.ascontiguousarray(values), limits).view(np.bool_)


def histogram(values: Values, edges: Sequence[float], kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Returns the numbers of values in each bin: int64, shape ``[columns, 2, len(edges) - 1]``.

    The second axis has dropped pairs first, then kept ones. Bin b holds values from ``edges[b]`` up to, but not
    including, ``edges[b + 1]``; the last bin includes its end. Values outside the edges are counted in the first or
    last bin. NaN is not counted.

    Args:
        values: float64, shape ``[columns, pairs]``.
        edges: edges of the bins: two or more, ascending.
        kept: true for each pair that is kept: bool, shape ``[pairs]``.
    """
    counts = core.value_histogram(np.ascontiguousarray(values), [float(edge) for edge in edges], kept)
    return counts.reshape(len(values), 2, len(edges) - 1)
