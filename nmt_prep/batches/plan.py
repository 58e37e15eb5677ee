"""The plan that decides the pairs of each batch of a worker's epoch, for any loader.

A plan is a pure function of the dataset and the options. It lists the windows of the epoch, and counts the batches of
each window from the shards' indexes. A loader reads the windows from ``plan.start`` on, divides each into batches with
:func:`cut_window`, copies the ids of their pairs, and stops after ``plan.batches_left``.

All loaders use the same :func:`cut_window`, each with its own kind of vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from _nmt_prep_core import pack_rounds

from nmt_prep.batches import vectors
from nmt_prep.batches.epoch import WINDOW_PAIRS, CorpusMix, EpochOrder, SplitIndex, Window, corpus_mix
from nmt_prep.batches.options import Options
from nmt_prep.batches.rules import BatchRule, Buckets
from nmt_prep.batches.vectors import Int64s, Scalar, Vector, Vectors
from nmt_prep.errors import ArgumentError, RecordsError
from nmt_prep.records import DatasetInfo, check_records, records_in
from nmt_prep.records.index import SATURATED


class Place(NamedTuple):
    """Resume position: the number of a window, and the number of its batches that were delivered before."""

    window: int
    done: int


@dataclass(frozen=True)
class BatchPlan:
    """The windows of a worker's epoch, and their batches.

    Attributes:
        info: content of ``dataset.json``.
        order: the order of the epoch, and the worker's part of it.
        rule: limits of a batch.
        mix: number of copies of each pair in the epoch; None if each occurs once.
        pad_to_limits: True if batches are padded to the limits of their buckets.
        skip_batches: number of batches to skip at the start.
        equal_batches: True if all workers get the same number of batches.
    """

    info: DatasetInfo
    order: EpochOrder
    rule: BatchRule
    mix: CorpusMix | None = None
    pad_to_limits: bool = False
    skip_batches: int = 0
    equal_batches: bool = False

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """The windows, none of them empty."""
        return tuple(self.order.windows())

    def batches(self) -> Iterator[int]:
        """Returns the number of batches of each window; reads the indexes, about a second for 100 million pairs."""
        return map(self._batches, self.windows)

    @cached_property
    def batches_of_all(self) -> int | None:
        """Number of batches of each worker in an epoch; None if the workers may have different numbers."""
        if not self.equal_batches:
            return None
        orders = (replace(self.order, shard_index=index) for index in range(self.order.num_shards))
        return min(sum(replace(self, order=order).batches()) for order in orders)

    @cached_property
    def batches_left(self) -> int | None:
        """Number of batches from :attr:`start` on; None for all."""
        return None if self.batches_of_all is None else self.batches_of_all - self.skip_batches

    @cached_property
    def start(self) -> Place:
        """Position from which the epoch starts or resumes; after the last window if all batches are skipped.

        Raises:
            ArgumentError: the epoch has fewer batches than ``skip_batches``.
        """
        if self.batches_of_all is not None and self.skip_batches > self.batches_of_all:
            raise self._too_many(self.batches_of_all)
        left = self.skip_batches
        if not left:
            return Place(0, 0)
        for number, count in enumerate(self.batches()):
            if left < count:
                return Place(number, left)
            left -= count
        if left:
            raise self._too_many(self.skip_batches - left)
        return Place(len(self.windows), 0)

    def _too_many(self, batches: int) -> ArgumentError:
        return ArgumentError(
            f"skip_batches is {self.skip_batches}, but this epoch has {batches} batches; give the options with which "
            "the skipped batches were counted, or begin the next epoch with skip_batches=0"
        )

    def _batches(self, window: Window) -> int:
        index = self.order.index
        if index.packed:
            return self.rule.count(np.array([window.take]))
        own = slice(window.skip, window.skip + window.take)
        pairs = index.pairs_of(window.runs)
        copies = None
        if self.mix is not None:
            copies = self.mix.copies(pairs[:, 2], window.runs, index.runs.pairs[window.runs], vectors)[own]
        source, target = (np.ascontiguousarray(side) for side in pairs[own, :2].T)
        longer = np.maximum(source, target)
        if self.rule.max_length is None and longer.max(initial=0) == SATURATED:
            raise RecordsError(
                f"a pair is longer than {SATURATED - 1:,} ids, the limit of an index, so batches cannot be counted; "
                "set max_length"
            )
        if self.rule.row_length is None:
            return self.rule.count(self.rule.admitted(longer, copies))
        return self.rule.count(np.array([self._packed_rows(source, target, longer, copies)]))

    def _packed_rows(self, source: Int64s, target: Int64s, longer: Int64s, copies: Int64s | None) -> int:
        kept = np.arange(len(longer)) if copies is None else np.repeat(np.arange(len(longer)), copies)
        length = self.rule.row_length or 0
        if self.rule.too_long == "drop":
            kept = kept[longer[kept] <= length]
        sources, targets = (np.minimum(side[kept], length).astype(np.int32) for side in (source, target))
        return int(np.count_nonzero(np.bincount(pack_rounds(sources, targets, length))))


def plan_batches(
    run_dir: str | Path,
    split: str,
    options: Options,
    check: Literal["full", "quick"] = "full",
    window_pairs: int = WINDOW_PAIRS,
) -> BatchPlan:
    """Returns the plan of a worker's epoch over the shards of a run.

    Args:
        run_dir: directory of the run, which holds ``records``, or of an output of kind ``tfrecord``.
        split: name of the split.
        options: options of the loader.
        check: how thoroughly the shards are checked first, see :func:`nmt_prep.records.check_records`.
        window_pairs: approximate number of pairs in a window.

    Raises:
        RecordsError: shards are missing, damaged, or not those of ``dataset.json``.
        ArgumentError: an option conflicts with another one or with the records.
    """
    records_dir = records_in(run_dir)
    info = check_records(records_dir, split, check)
    batching, order, sharding = options.batching, options.order, options.sharding
    rule = BatchRule.of(info, split, batching)
    index = SplitIndex.load(records_dir, info, split)
    if batching.packed is False:
        index = replace(index, packed=False)
    seed = order.seed if order.shuffle else None
    return BatchPlan(
        info,
        EpochOrder(index, seed, order.epoch, sharding.num_shards, sharding.shard_index, window_pairs),
        rule,
        corpus_mix(info, split, index, options.mixing, order.seed, order.epoch),
        batching.pad_to is not None,
        order.skip_batches,
        sharding.equal_batches,
    )


class WindowPairs(NamedTuple):
    """The lengths of the pairs of a window, and the part of it to deliver.

    Attributes:
        number: number of the window in the worker's epoch; its random numbers depend on it, and so not on the window
            that a loader starts from.
        runs: int64, shape ``[runs]``: numbers of its runs.
        skip: number of pairs (rows, if packed) at the start that belong to another worker.
        take: number of pairs (rows, if packed) of this window after these.
        done: number of its batches to skip, because they were delivered before.
        source: int64, shape ``[pairs]``: lengths of the sources.
        target: int64, shape ``[pairs]``: lengths of the targets.
        corpora: int64, shape ``[pairs]``: number of each pair's corpus; None in layout ``example``.
        row_pairs: int64, shape ``[rows]``: number of pairs in each row of the records; empty if they are not packed.
    """

    number: Scalar
    runs: Vector
    skip: Scalar
    take: Scalar
    done: Scalar
    source: Vector
    target: Vector
    corpora: Vector | None
    row_pairs: Vector


class Batches(NamedTuple):
    """The batches of a window.

    Attributes:
        pairs: int64: numbers of the window's pairs in the order of batches (and of rows, if packed). The loader
            truncates their ids to the rule's ``max_length``.
        row_pairs: int64, shape ``[rows]``: number of pairs in each row; None if pairs are not packed.
        sizes: int64, shape ``[batches]``: number of pairs (rows, if packed) in each batch, never 0.
        widths: int64, shape ``[batches]``: length to which both sides of each batch are padded; None for the longest
            row of each side. Packed rows are padded to the rule's ``row_length``.
    """

    pairs: Vector
    row_pairs: Vector | None
    sizes: Vector
    widths: Vector | None


def cut_window(plan: BatchPlan, window: WindowPairs, on: Vectors) -> Batches:
    """Divides a window into its batches, in the order in which they are delivered.

    Args:
        plan: the plan of the epoch.
        window: the lengths of the pairs.
        on: the operations on vectors.
    """
    if plan.rule.row_length is None:
        return _batches_of_pairs(plan, window, on)
    return _batches_of_rows(plan, window, on)


def _batches_of_pairs(plan: BatchPlan, window: WindowPairs, on: Vectors) -> Batches:
    pairs, source, target = _admitted(plan, window, on)
    key = plan.order.key
    order = _shuffled(on.size(pairs), key, 2 * window.number, on)
    if plan.rule.buckets is None:
        order = on.take(order, longest_first(on.take(source, order), on.take(target, order), on))
        sizes = batch_sizes(on.take(on.maximum(source, target), order), plan.rule, on)
        starts, limits = on.sums_before(sizes), None
    else:
        bucket = on.first_at_least(np.array(plan.rule.buckets.limits), on.take(on.maximum(source, target), order))
        order = on.take(order, on.argsort(bucket))
        starts, sizes, limits = _batches_of_buckets(bucket, plan.rule.buckets, plan.rule.drop_remainder, on)
    batches = _shuffled(on.size(sizes), key, 2 * window.number + 1, on)[window.done :]
    sizes = on.take(sizes, batches)
    places = on.spans(on.take(starts, batches), sizes)
    widths = on.take(limits, batches) if plan.pad_to_limits else None
    return Batches(on.take(pairs, on.take(order, places)), None, sizes, widths)


def _batches_of_rows(plan: BatchPlan, window: WindowPairs, on: Vectors) -> Batches:
    rule = plan.rule
    if plan.order.index.packed:
        pairs, row_pairs = on.span(0, on.size(window.source)), window.row_pairs
        # A pair that is longer than a row has a row to itself, which is left out.
        longer = on.take(on.maximum(window.source, window.target), on.sums_before(row_pairs))
        rows = on.where(longer <= rule.row_length)[window.skip : window.skip + window.take]
    else:
        pairs, source, target = _admitted(plan, window, on)
        places, row_pairs = on.pack_rows(source, target, rule.row_length)
        pairs, rows = on.take(pairs, places), on.span(0, on.size(row_pairs))
    sizes = batch_sizes(rows, rule, on)[window.done :]
    order = _shuffled(on.size(rows), plan.order.key, 2 * window.number, on)
    rows = on.take(rows, order)[window.done * (rule.pairs or 1) :]
    starts, row_pairs = on.take(on.sums_before(row_pairs), rows), on.take(row_pairs, rows)
    return Batches(on.take(pairs, on.spans(starts, row_pairs)), row_pairs, sizes, None)


def _admitted(plan: BatchPlan, window: WindowPairs, on: Vectors) -> tuple[Vector, Vector, Vector]:
    """Returns the worker's pairs, with copies and without those too long, and the lengths of both sides."""
    pairs = on.span(window.skip, window.skip + window.take)
    if plan.mix is not None:
        run_pairs = on.take(plan.order.index.runs.pairs, window.runs)
        pairs = on.repeat(pairs, on.take(plan.mix.copies(window.corpora, window.runs, run_pairs, on), pairs))
    source, target = on.take(window.source, pairs), on.take(window.target, pairs)
    most = plan.rule.max_length
    if most is None:
        return pairs, source, target
    if plan.rule.too_long == "truncate":
        return pairs, on.minimum(source, most), on.minimum(target, most)
    kept = on.where(on.maximum(source, target) <= most)
    return on.take(pairs, kept), on.take(source, kept), on.take(target, kept)


def longest_first(source: Vector, target: Vector, on: Vectors) -> Vector:
    """Sorts pairs by the longer side, descending, then by source minus target; returns their numbers.

    The difference alternates between ascending and descending from one length of the longer side to the next. So
    neighbours have similar lengths on both sides even where the longer side changes. The sort is stable.
    """
    longer, difference = on.maximum(source, target), source - target
    key = longer * 2 * (on.greatest(longer) + 1) + on.choose(longer % 2 < 1, difference, -difference)
    return on.argsort(-key)


def batch_sizes(longer: Vector, rule: BatchRule, on: Vectors) -> Vector:
    """Returns the number of pairs of each batch; all but the last are as large as the rule allows.

    Args:
        longer: length of each pair's longer side, descending; for packed rows only the number of elements matters.
        rule: limits of a batch, without buckets.
        on: the operations on vectors.
    """
    if rule.pairs is None:
        return on.jumps(on.maximum(rule.tokens // on.maximum(longer, 1), 1))
    count = on.size(longer)
    sizes = on.minimum(count - on.span(0, count, rule.pairs), rule.pairs)
    return sizes[: count // rule.pairs] if rule.drop_remainder else sizes


def _batches_of_buckets(
    bucket: Vector, buckets: Buckets, drop_remainder: bool, on: Vectors
) -> tuple[Vector, Vector, Vector]:
    """Returns the start of each batch in the order of buckets, its number of pairs, and its bucket's limit."""
    limits, capacities = np.array(buckets.limits), np.array(buckets.capacities)
    counts = on.counts(bucket, len(limits))
    batches = counts // capacities if drop_remainder else -(-counts // capacities)
    of = on.repeat(on.span(0, len(limits)), batches)
    capacity = on.take(capacities, of)
    before = (on.span(0, on.size(of)) - on.take(on.sums_before(batches), of)) * capacity
    starts = on.take(on.sums_before(counts), of) + before
    return starts, on.minimum(capacity, on.take(counts, of) - before), on.take(limits, of)


def _shuffled(count: Scalar, key: int | None, number: Scalar, on: Vectors) -> Vector:
    """Returns the numbers below ``count``, shuffled if there is a key."""
    return on.span(0, count) if key is None else on.argsort(on.random(key, number, count))
