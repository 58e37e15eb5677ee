"""Divides a window into its batches, with operations on vectors of any kind.

All loaders use the same :func:`cut_window`, each with its own kind of vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nmt_prep.training.batches import vectors
from nmt_prep.training.batches.epoch import CorpusMix, EpochOrder
from nmt_prep.training.batches.options import BatchRule, Buckets
from nmt_prep.training.batches.vectors import Int64s, Scalar, Vector, Vectors


@dataclass(frozen=True)
class DivisionPlan:
    """The part of an epoch's plan that decides how windows are divided into batches."""

    order: EpochOrder  # the order of the epoch, and the process's part of it
    rule: BatchRule  # limits of a batch
    mix: CorpusMix | None = None  # each pair's copy count in the epoch, or None if each occurs once
    pad_to_limits: bool = False  # True if batches are padded to the limits of their buckets
    # int64, shape `[corpora]`: language-pair index of each corpus, if a batch has only one language pair; else None
    groups: Int64s | None = None


class Split(NamedTuple):
    """How many parts each batch of a window is split into.

    A batch is split into ``parts`` parts, or into single pairs if it has fewer pairs. The last ``more`` of the larger
    batches are split into one part more.
    """

    parts: Scalar  # at least 1
    more: Scalar  # number of batches


WHOLE = Split(1, 0)  # Splits nothing


def split_into(sizes: Int64s, batches: int) -> Split:
    """Returns the split that makes a given batch count, in as few parts each as possible."""
    # One part more adds one batch per batch that is still larger than `parts`. So whole rounds are added while they
    # fit, and `Split.more` takes the rest, which is smaller than one round.
    parts, made, largest = 1, len(sizes), int(sizes.max(initial=1))
    while parts < largest:
        larger = int(np.count_nonzero(sizes > parts))
        if made + larger > batches:
            break
        parts, made = parts + 1, made + larger
    return Split(parts, batches - made)


class Parts(NamedTuple):
    """A window's batches after some were split."""

    batch: Vector  # int64: batch index of each part, ascending
    before: Vector  # int64: pair count (row count, if packed) of that batch before the part
    sizes: Vector  # int64: pairs (rows, if packed) in each part, never 0


def split_batches(sizes: Vector, split: Split, on: Vectors) -> Parts:
    """Splits a window's batches; a batch's parts differ by at most one pair, and larger parts come first.

    Args:
        sizes: int64: pairs (rows, if packed) in each batch, in the order of delivery, never 0.
    """
    # Sizes come as a vector that may be a tensor, so nothing here loops: `batch` repeats each batch's index once per
    # part, and all other vectors are looked up by it. Part p of n gets `(size + n - 1 - p) // n` pairs; these sum to
    # `size`, and descend by at most one.
    count = on.size(sizes)
    larger = on.where(sizes > split.parts)
    parts = on.minimum(sizes, split.parts) + on.counts(larger[on.size(larger) - split.more :], count)
    batch = on.repeat(on.span(0, count), parts)
    number = on.span(0, on.size(batch)) - on.take(on.sums_before(parts), batch)
    of = on.take(parts, batch)
    part_sizes = (on.take(sizes, batch) + of - 1 - number) // of
    before = on.sums_before(part_sizes) - on.take(on.sums_before(sizes), batch)
    return Parts(batch, before, part_sizes)


class PlannedWindow(NamedTuple):
    """A window, and the part of it to deliver."""

    # index of the window in the process's epoch. The window's random numbers depend on it alone, so a loader may start
    # at any window.
    number: Scalar
    runs: Vector  # int64, shape `[runs]`: indexes of the window's runs
    skip: Scalar  # number of pairs (rows, if packed) at the start that belong to another process
    take: Scalar  # number of pairs (rows, if packed) to deliver after the skipped ones
    done: Scalar  # number of batches to skip, because they were delivered before
    split: Split  # how the batches are split
    key: Scalar  # key of the epoch's random numbers; 0 if nothing is shuffled
    shift: Vector  # int64, shape `[corpora]`: `CorpusMix.shift` of the epoch; empty if corpora are not mixed
    epoch: Scalar


class WindowPairs(NamedTuple):
    """The pair data that a window's division depends on."""

    source: Vector  # int64, shape `[pairs]`: lengths of the sources
    target: Vector  # int64, shape `[pairs]`: lengths of the targets
    corpora: Vector | None  # int64, shape `[pairs]`: corpus index of each pair; None in layout `example`
    row_pairs: Vector  # int64, shape `[rows]`: pair count of each row in the records; empty if they are not packed


class Batches(NamedTuple):
    """A window's batches."""

    # int64: pair indexes in batch order (and in row order, if packed). The loader truncates IDs to the rule's
    # `max_length`.
    pairs: Vector
    row_pairs: Vector | None  # int64, shape `[rows]`: number of pairs in each row; None if pairs are not packed
    sizes: Vector  # int64, shape `[batches]`: number of pairs (rows, if packed) in each batch, never 0
    # int64, shape `[batches]`: length to which both sides of each batch are padded; None for the longest row of each
    # side. Packed rows are padded to the rule's `row_length`.
    widths: Vector | None


def cut_window(plan: DivisionPlan, window: PlannedWindow, contents: WindowPairs, on: Vectors) -> Batches:
    """Divides a window into its batches, in the order in which they are delivered."""
    cut = _batches_of_pairs if plan.rule.row_length is None else _batches_of_rows
    return cut(plan, window, contents, on)


# Shuffle, then sort stably by length, cut into batches, and shuffle the batches: a batch holds pairs of similar length,
# but which of them is random, and so is the order of lengths. Groups (language pairs) are one more key: buckets of
# group g follow those of group g - 1, so one cut serves all. `sizes_of_batches` gets the same sizes
# from a histogram alone, so which pairs share a length must never change the size of a batch.
def _batches_of_pairs(plan: DivisionPlan, window: PlannedWindow, contents: WindowPairs, on: Vectors) -> Batches:
    pairs, source, target = _admitted(plan, window, contents, on)
    order, rule, groups, group = _order(on.size(pairs), plan, window, 0, on), plan.rule, 1, None
    buckets = rule.buckets
    if plan.groups is not None:
        groups, group = int(plan.groups.max()) + 1, on.take(plan.groups, on.take(contents.corpora, pairs))
    if buckets is None:
        order = on.take(order, longest_first(on.take(source, order), on.take(target, order), on))
        if group is not None:
            order = on.take(order, on.argsort(on.take(group, order)))
            buckets = None if rule.pairs is None else Buckets((0,), (rule.pairs,))
    if buckets is None:
        left = None if group is None else _left_in_group(on.counts(group, groups), on)
        sizes = batch_sizes(on.take(on.maximum(source, target), order), rule, on, left)
        starts, limits = on.sums_before(sizes), None
    else:
        bucket = on.take(group, order) * len(buckets.limits) if group is not None else 0
        if rule.buckets is not None:
            bucket += on.first_at_least(np.array(buckets.limits), on.take(on.maximum(source, target), order))
            order = on.take(order, on.argsort(bucket))
        of_groups = Buckets(buckets.limits * groups, buckets.capacities * groups)
        starts, sizes, limits = _batches_of_buckets(bucket, of_groups, rule.drop_remainder, on)
    batches = _order(on.size(sizes), plan, window, 1, on)
    batch, before, sizes = (part[window.done :] for part in split_batches(on.take(sizes, batches), window.split, on))
    batches = on.take(batches, batch)
    places = on.spans(on.take(starts, batches) + before, sizes)
    widths = on.take(limits, batches) if plan.pad_to_limits else None
    return Batches(on.take(pairs, on.take(order, places)), None, sizes, widths)


# Rows have one length, so there is nothing to sort: rows are shuffled as a whole, and every batch but the last has
# `rule.pairs` of them. Skipped batches (`window.done`) are therefore the first rows of the shuffled order.
def _batches_of_rows(plan: DivisionPlan, window: PlannedWindow, contents: WindowPairs, on: Vectors) -> Batches:
    rule = plan.rule
    if plan.order.index.packed:
        pairs, row_pairs = on.span(0, on.size(contents.source)), contents.row_pairs
        # A pair that is longer than a row has a row to itself, which is left out.
        longer = on.take(on.maximum(contents.source, contents.target), on.sums_before(row_pairs))
        rows = on.where(longer <= rule.row_length)[window.skip : window.skip + window.take]
    else:
        pairs, source, target = _admitted(plan, window, contents, on)
        if rule.causal:  # shuffled, so that sequences of one length meet others in each epoch
            order = _order(on.size(pairs), plan, window, 1, on)
            pairs = on.take(pairs, order)
            places, row_pairs = on.pack_one_side(on.take(source, order), rule.row_length)
        else:
            places, row_pairs = on.pack_rows(source, target, rule.row_length)
        pairs, rows = on.take(pairs, places), on.span(0, on.size(row_pairs))
    sizes = split_batches(batch_sizes(rows, rule, on), window.split, on).sizes
    order = _order(on.size(rows), plan, window, 0, on)
    rows = on.take(rows, order)[on.total(sizes[: window.done]) :]
    sizes = sizes[window.done :]
    starts, row_pairs = on.take(on.sums_before(row_pairs), rows), on.take(row_pairs, rows)
    return Batches(on.take(pairs, on.spans(starts, row_pairs)), row_pairs, sizes, None)


def _admitted(
    plan: DivisionPlan, window: PlannedWindow, contents: WindowPairs, on: Vectors
) -> tuple[Vector, Vector, Vector]:
    """Returns the process's pairs, with copies and without pairs that are too long, and the lengths of both sides."""
    pairs = on.span(window.skip, window.skip + window.take)
    if plan.mix is not None:
        run_pairs = on.take(plan.order.index.runs.pairs, window.runs)
        mix = plan.mix._replace(shift=window.shift)
        pairs = on.repeat(pairs, on.take(mix.copies(contents.corpora, window.runs, run_pairs, on), pairs))
    if plan.rule.causal:  # an empty sequence stands for a pair that is a turn of another sequence
        pairs = on.take(pairs, on.where(on.take(contents.source, pairs) > 0))
    source, target = on.take(contents.source, pairs), on.take(contents.target, pairs)
    most = plan.rule.max_length
    if most is None:
        return pairs, source, target
    if plan.rule.too_long == "truncate":
        return pairs, on.minimum(source, most), on.minimum(target, most)
    kept = on.where(on.maximum(source, target) <= most)
    return on.take(pairs, kept), on.take(source, kept), on.take(target, kept)


def longest_first(source: Vector, target: Vector, on: Vectors) -> Vector:
    """Sorts pairs stably by the longer side, descending, then by source minus target; returns their indexes.

    The difference ascends for one length of the longer side and descends for the next, as a snake. So neighbors have
    similar lengths on both sides even where the longer side changes.
    """
    # One number holds both keys: differences are within [-longest, longest], so lengths are 2 * (longest + 1) apart.
    longer, difference = on.maximum(source, target), source - target
    key = longer * 2 * (on.greatest(longer) + 1) + on.choose(longer % 2 < 1, difference, -difference)
    return on.argsort(-key)


def _left_in_group(counts: Vector, on: Vectors) -> Vector:
    """Returns how many pairs of its group follow each pair, itself included, given the group sizes."""
    ends = on.sums_before(counts) + counts
    return on.repeat(ends, counts) - on.span(0, on.total(counts))


def batch_sizes(longer: Vector, rule: BatchRule, on: Vectors, left: Vector | None = None) -> Vector:
    """Returns the pair count of each batch; all but the last are as large as the rule allows.

    Args:
        left: for each pair, the number of pairs from this pair on that may be in its batch; None for all.
    """
    if rule.pairs is None:
        # Pairs descend by length, so the first pair of a batch alone decides how many fit: `most` at its index. The
        # walk jumps from one first pair to the next.
        most = on.maximum(rule.tokens // on.maximum(longer, 1), 1)
        return on.jumps(most if left is None else on.minimum(most, left))
    count = on.size(longer)
    sizes = on.minimum(count - on.span(0, count, rule.pairs), rule.pairs)
    return sizes[: count // rule.pairs] if rule.drop_remainder else sizes


def sizes_of_batches(histogram: Int64s, rule: BatchRule) -> Int64s:
    """Returns the pair count of each batch in a window, in order of length.

    Args:
        histogram: int64, pairs per length of the longer side, from length 0 on; if pairs are packed, index 0 has the
            row count. With two dimensions, one row per group of pairs with separate batches.
    """
    if histogram.ndim == 2:
        return np.concatenate([sizes_of_batches(row, rule) for row in histogram])
    longer = np.repeat(np.arange(len(histogram))[::-1], histogram[::-1])
    if rule.buckets is None:
        return np.asarray(batch_sizes(longer, rule, vectors))
    bucket = np.searchsorted(rule.buckets.limits, longer)
    return np.asarray(_batches_of_buckets(bucket, rule.buckets, rule.drop_remainder, vectors)[1])


def _batches_of_buckets(
    bucket: Vector, buckets: Buckets, drop_remainder: bool, on: Vectors
) -> tuple[Vector, Vector, Vector]:
    """Returns the start of each batch in the order of buckets, its pair count, and its bucket's limit."""
    limits, capacities = np.array(buckets.limits), np.array(buckets.capacities)
    counts = on.counts(bucket, len(limits))
    batches = counts // capacities if drop_remainder else -(-counts // capacities)
    of = on.repeat(on.span(0, len(limits)), batches)
    capacity = on.take(capacities, of)
    before = (on.span(0, on.size(of)) - on.take(on.sums_before(batches), of)) * capacity
    starts = on.take(on.sums_before(counts), of) + before
    return starts, on.minimum(capacity, on.take(counts, of) - before), on.take(limits, of)


def _order(count: Scalar, plan: DivisionPlan, window: PlannedWindow, which: int, on: Vectors) -> Vector:
    """Returns the indexes below ``count``, shuffled if the plan has a seed. A window has two orders, 0 and 1."""
    return on.span(0, count) if plan.order.seed is None else on.shuffled(window.key, 2 * window.number + which, count)
