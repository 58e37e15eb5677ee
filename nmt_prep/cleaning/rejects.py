"""Rejected pairs: their files' columns, samples of them, and notes about them for the report.

Samples and notes do not depend on the order of work. Notes hold, for each reason, the byte count of its pairs and the
pairs nearest to the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import _nmt_prep_core as core
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.digests import seed_of
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.rule import Bounds, Rule, Values
from nmt_prep.text.step import EXAMPLES
from nmt_prep.training.modifiers.draws import scrambled

K = TypeVar("K")

EMPTY = "empty"
"""The reason for dropping pairs that have no text on a side after the fixes. Rules do not judge such pairs."""

Bins = tuple[int, ...]


# Counts of cleaning, and the decisions and histograms that follow from the values of a rule.
#
# The counts of a corpus's parts add up, in any order, to the corpus's counts.


@dataclass(frozen=True)
class Histogram:
    """A histogram of the values in one column of a rule."""

    edges: tuple[float, ...]  # ascending edges of the bins; values outside are counted in the first or last bin
    kept: Bins
    dropped: Bins  # of pairs that were dropped for this rule or another
    failed: int  # number of values that the rule rejects

    def __add__(self, other: Histogram) -> Histogram:
        kept, dropped = _sum(self.kept, other.kept), _sum(self.dropped, other.dropped)
        return Histogram(self.edges, kept, dropped, self.failed + other.failed)


@dataclass(frozen=True)
class CleanCounts:
    """Counts for a corpus, or for a part of it."""

    pairs_in: int = 0  # pairs before cleaning
    pairs_out: int = 0  # pairs that were kept
    # number of dropped pairs by reason: `empty`, or the first rule that a pair fails
    dropped: dict[str, int] = field(default_factory=dict)
    # number of pairs that fail both of two rules: `failed[r][s]` for the rules `r` and `s`; `failed[r][r]` is the
    # number of all pairs that fail `r`
    failed: dict[str, dict[str, int]] = field(default_factory=dict)
    altered: dict[str, int] = field(default_factory=dict)  # number of lines that each fix altered, both sides together
    # histograms by rule and column, over the values of all pairs that the rules scored
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
        failed: number of pairs to which a reason applies, including pairs dropped for another reason; ``dropped`` by
            default.
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
    """Returns a batch's counts.

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
    """Returns true for each pair whose values, ``[columns, pairs]``, are all within their bounds: bool, ``[pairs]``."""
    limits = [(limit.low, limit.high, limit.above, limit.below) for limit in bounds]
    return core.judge(np.ascontiguousarray(values), limits).view(np.bool_)


def histogram(values: Values, edges: Sequence[float], kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Returns the numbers of values in each bin: int64, shape ``[columns, 2, len(edges) - 1]``.

    The second axis has dropped pairs first, then kept ones. Bin b holds values from ``edges[b]`` up to, but not
    including, ``edges[b + 1]``; the last bin includes its end. Values outside the edges are counted in the first or
    last bin. NaN is not counted.

    Args:
        values: float64, shape ``[columns, pairs]``.
        edges: two or more, ascending.
    """
    counts = core.value_histogram(np.ascontiguousarray(values), [float(edge) for edge in edges], kept)
    return counts.reshape(len(values), 2, len(edges) - 1)


SAMPLE = 1000  # Maximum number of rejected pairs in a sample, for each rule and corpus

_FULL = 4 * SAMPLE


Instead: TypeAlias = "tuple[pa.Array, pa.Array]"
"""For each rejected pair, the corpus (text) and the row (int64) of the pair that was kept in its place."""


def reject_schema() -> pa.Schema:
    """Returns the columns of rejected pairs.

    ``source`` and ``target`` are the text after the fixes, which is the text that the rules judged. ``row`` is the
    position of the pair in its corpus before any pair was dropped. ``rule`` is the reason. ``column`` is what the rule
    refused: a side, ``pair``, or another name in :attr:`Rule.columns`. ``value`` is the value that the rule computed,
    and ``threshold`` the limit that it violates. All three are null if the reason is not a rule. For ``empty``,
    however, ``column`` names the fix that left no text, such as ``wiki.source``. ``kept_corpus`` and ``kept_row`` say
    which pair was kept instead, if the reason is a comparison with other pairs. ``unanswered`` has the words of the
    side ``column`` without counterpart on the other side, if the reason is the ``adequacy`` rule.
    """
    text, corpus = pa.string(), pa.dictionary(pa.int32(), pa.string())
    always = {"source": text, "target": text, "corpus": corpus, "row": pa.int64(), "rule": text}
    others = {"column": text, "value": pa.float64(), "threshold": pa.float64(), "kept_corpus": corpus}
    others |= {"kept_row": pa.int64(), "unanswered": text}
    return pa.schema([*(pa.field(*each, nullable=False) for each in always.items()), *others.items()])


@dataclass(frozen=True)
class Verdict:
    """The pairs of a batch that are kept, and why the others are rejected."""

    kept: npt.NDArray[np.bool_]  # true for each pair that is kept: bool, shape `[pairs]`
    reasons: pa.Array  # the reason of each rejected pair, an array of strings
    columns: pa.Array  # the column of each refused value, an array of strings; null without a value
    values: Values  # the refused value of each rejected pair: float64, shape `[rejected]`; NaN for none
    thresholds: Values  # the limit that each value violates: float64, shape `[rejected]`; NaN for none
    instead: Instead | None = None  # the pairs that were kept in their place; None if there are none
    # the words of each rejected pair without counterpart on the other side, an array of strings; None if the rule does
    # not look for such words
    unanswered: pa.Array | None = None

    def rejected(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the rejected pairs in a part's batch, with the columns that :func:`reject_schema` gives."""
        pairs = batch.filter(pa.array(~self.kept))
        columns = [pairs.column(name) for name in ("source", "target", "corpus", "row")]
        numbers = (pa.array(each, from_pandas=True) for each in (self.values, self.thresholds))  # NaN becomes null
        corpora, rows = self.instead or (pa.nulls(len(pairs), pa.string()), pa.nulls(len(pairs), pa.int64()))
        unanswered = pa.nulls(len(pairs), pa.string()) if self.unanswered is None else self.unanswered
        others = [self.reasons, self.columns, *numbers, corpora.dictionary_encode(), rows, unanswered]
        return pa.record_batch([*columns, *others], schema=reject_schema())


def distances(rejected: pa.RecordBatch | pa.Table) -> npt.NDArray[np.float64]:
    """Returns the distances of values from their thresholds, divided by the thresholds: float64, shape ``[pairs]``.

    The distance is infinite for a pair without a value.
    """
    values, thresholds = (
        np.asarray(rejected.column(name).to_numpy(zero_copy_only=False), np.float64) for name in ("value", "threshold")
    )
    far = np.abs(values - thresholds) / np.maximum(np.abs(thresholds), 1e-9)
    return np.where(np.isnan(far), np.inf, far)


def sample_keys(rows: npt.NDArray[np.int64], seed: int, corpus: str) -> npt.NDArray[np.uint64]:
    """Returns pseudorandom keys for pairs: a bijection of their rows, which depends on seed and corpus."""
    return scrambled(rows.astype(np.uint64) ^ np.uint64(seed_of(f"{seed}/{corpus}")))


class RejectSample:
    """A corpus's rejected pairs with the smallest keys, up to :data:`SAMPLE` per rule.

    Sampling the samples of a corpus's parts, in any order, gives the same as sampling the whole corpus.
    """

    def __init__(self, seed: int, corpus: str) -> None:
        self._seed, self._corpus = seed, corpus
        self._held: list[pa.RecordBatch] = []
        self._size = 0
        self._largest: dict[str, np.uint64] = {}  # largest key in the sample, for rules with a full sample

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds rejected pairs, with the columns of :func:`reject_schema`."""
        keys = self._keys(batch)
        wanted = np.ones(len(batch), np.bool_)
        for rule, places in places_by_rule(batch).items():
            if rule in self._largest:
                wanted[places] = keys[places] < self._largest[rule]
        if wanted.any():
            self._held.append(batch.filter(pa.array(wanted)))
            self._size += int(wanted.sum())
        if self._size > _FULL + 2 * SAMPLE * len(self._largest):
            self._prune()

    def sample(self) -> pa.RecordBatch:
        """Returns the sample, ordered by row."""
        self._prune()
        if not self._held:
            return pa.RecordBatch.from_pylist([], schema=reject_schema())
        (batch,) = self._held
        return batch.take(pa.array(np.argsort(_rows(batch), kind="stable")))

    def _prune(self) -> None:
        if not self._held:
            return
        batch = pa.Table.from_batches(self._held).combine_chunks().to_batches(max_chunksize=None)[0]
        keys = self._keys(batch)
        chosen = []
        for rule, places in places_by_rule(batch).items():
            if len(places) > SAMPLE:
                places = places[np.argpartition(keys[places], SAMPLE)[:SAMPLE]]  # noqa: PLW2901
            if len(places) == SAMPLE:
                self._largest[rule] = keys[places].max()
            chosen.append(places)
        self._held = [batch.take(pa.array(np.sort(np.concatenate(chosen))))]
        self._size = len(self._held[0])

    def _keys(self, batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
        return sample_keys(_rows(batch), self._seed, self._corpus)


def _rows(batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    return np.asarray(batch.column("row").to_numpy(zero_copy_only=False), np.int64)


def places_by_rule(batch: pa.RecordBatch) -> Mapping[str, npt.NDArray[np.int64]]:
    """Returns, for each rule, the indexes of its rejected pairs in the batch."""
    encoded = batch.column("rule").dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    return {rule: np.flatnonzero(codes == code) for code, rule in enumerate(encoded.dictionary.to_pylist())}


NEAREST = 5  # Number of nearest pairs in the notes, for each reason

_CHARACTERS = 300


@dataclass(frozen=True)
class NearReject:
    """A rejected pair near a threshold."""

    row: int  # position of the pair in its corpus, before any pair was dropped
    source: str  # its first characters
    target: str
    value: float | None  # None if the reason is no rule
    threshold: float | None
    distance: float | None  # distance of the value from the threshold, divided by the threshold; None without a value
    characters: int  # character count of both sides together
    # the words without counterpart on the other side, as a sentence; empty if the rule does not tell
    unanswered: str = ""
    column: str | None = None  # the column of the value; None without a value


@dataclass(frozen=True)
class RepairedLine:
    """A line that a fix altered."""

    side: Side
    before: str  # its first characters, or those around the first difference
    after: str

    @classmethod
    def of(cls, side: Side, before: str, after: str) -> RepairedLine:
        """Cuts long lines near the first difference."""
        differ = (i for i, (one, other) in enumerate(zip(before, after, strict=False)) if one != other)
        same = next(differ, min(len(before), len(after)))
        begin = max(0, same - _CHARACTERS // 3) if max(len(before), len(after)) > _CHARACTERS else 0
        return cls(side, before[begin : begin + _CHARACTERS], after[begin : begin + _CHARACTERS])


@dataclass(frozen=True)
class RejectNotes:
    """Notes about rejected pairs and repaired lines in a corpus, or in a part of it."""

    bytes: dict[str, int] = field(default_factory=dict)  # for each reason, the UTF-8 bytes of both sides
    # for each reason, the nearest pairs, nearest first; of equally near pairs, the pairs with smaller rows
    nearest: dict[str, list[NearReject]] = field(default_factory=dict)

    repaired: dict[str, list[RepairedLine]] = field(default_factory=dict)  # the first lines that each fix altered

    def __add__(self, other: RejectNotes) -> RejectNotes:
        return RejectNotes(
            merged(self.bytes, other.bytes),
            {rule: _nearest(pairs) for rule, pairs in merged(self.nearest, other.nearest).items()},
            {fix: lines[:EXAMPLES] for fix, lines in merged(self.repaired, other.repaired).items()},
        )


def notes_of(rejected: pa.RecordBatch, *, text: bool) -> RejectNotes:
    """Returns notes about a batch of rejected pairs; without their text unless ``text`` is true."""
    far = distances(rejected)
    source, target = (np.diff(TextColumn.from_arrow(rejected.column(side)).offsets) for side in SIDES)
    sizes = source + target
    notes = RejectNotes()
    for rule, places in places_by_rule(rejected).items():
        notes.bytes[rule] = int(sizes[places].sum())
        if text:
            near = places[np.argsort(far[places], kind="stable")[:NEAREST]]
            notes.nearest[rule] = [_pair(rejected, place, far[place]) for place in near.tolist()]
    return notes


def _pair(batch: pa.RecordBatch, place: int, distance: float) -> NearReject:
    (pair,) = batch[place : place + 1].to_pylist()
    return NearReject(
        pair["row"],
        pair["source"][:_CHARACTERS],
        pair["target"][:_CHARACTERS],
        pair["value"],
        pair["threshold"],
        distance if math.isfinite(distance) else None,
        characters=len(pair["source"]) + len(pair["target"]),
        unanswered=unanswered_text(pair["column"], pair["unanswered"]),
        column=pair["column"],
    )


def unanswered_text(side: str | None, words: str | None) -> str:
    """Returns a sentence about words of a side without counterpart on the other side; empty without such words."""
    if words is None:
        return ""
    (other,) = {*SIDES} - {side}
    return f"no counterpart on the {other} side for “{words[:_CHARACTERS]}”"


def _nearest(pairs: list[NearReject]) -> list[NearReject]:
    far = math.inf  # without a value
    return sorted(pairs, key=lambda pair: (far if pair.distance is None else pair.distance, pair.row))[:NEAREST]
