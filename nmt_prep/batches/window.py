"""How a window is cut into batches: one function, computed by each loader on its own kind of vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmt_prep.batches.plan import BatchPlan
from nmt_prep.batches.rules import BatchRule, Buckets
from nmt_prep.batches.vectors import Scalar, Vector, Vectors


class WindowPairs(NamedTuple):
    """What was read of a window, and the part of it to deliver.

    Attributes:
        number: of the window in the worker's epoch, so that what is drawn for it does not depend on where one begins.
        runs: int64, shape ``[runs]``: numbers of its runs.
        skip: pairs (rows, where they are packed) at the beginning that belong to another worker.
        take: pairs (rows) after these.
        done: batches that are left out, as they were delivered before.
        source: int64, shape ``[pairs]``: lengths of the sources.
        target: int64, shape ``[pairs]``: lengths of the targets.
        corpora: int64, shape ``[pairs]``: numbers of the corpora; None in layout ``example``.
        row_pairs: int64, shape ``[rows]``: pairs in each row of the records; empty where they are not packed.
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
        pairs: int64: numbers of the window's pairs, batch after batch, row after row where they are packed. The rows of
            ids are cut to the rule's ``max_length``.
        row_pairs: int64, shape ``[rows]``: pairs in each row; None where pairs are not packed.
        sizes: int64, shape ``[batches]``: pairs (rows, where they are packed) in each batch, none of them 0.
        widths: int64, shape ``[batches]``: ids that both sides of each batch are padded to; None for the longest row of
            each side. Packed rows are padded to the rule's ``row_length``.
    """

    pairs: Vector
    row_pairs: Vector | None
    sizes: Vector
    widths: Vector | None


def cut_window(plan: BatchPlan, window: WindowPairs, on: Vectors) -> Batches:
    """Cuts a window into its batches, in the order in which they are delivered.

    Args:
        plan: of the epoch.
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
        # A pair that is longer than a row has one of its own, which does not count.
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
    """Returns the worker's pairs, as often as they are in the epoch and not too long, and the lengths of both sides."""
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
    """Returns the order of pairs by the longer side descending, then source minus target, in turns down and up.

    So neighbours are alike on both sides, also where one length of the longer side gives way to the next.
    Pairs of the same lengths keep their order.
    """
    longer, difference = on.maximum(source, target), source - target
    key = longer * 2 * (on.greatest(longer) + 1) + on.choose(longer % 2 < 1, difference, -difference)
    return on.argsort(-key)


def batch_sizes(longer: Vector, rule: BatchRule, on: Vectors) -> Vector:
    """Returns the numbers of pairs of batches: all are as large as the rule allows but the last.

    Args:
        longer: length of each pair's longer side, descending; of rows any number.
        rule: what bounds a batch; without buckets.
        on: the vectors' operations.
    """
    if rule.pairs is None:
        return on.jumps(on.maximum(rule.tokens // on.maximum(longer, 1), 1))
    count = on.size(longer)
    sizes = on.minimum(count - on.span(0, count, rule.pairs), rule.pairs)
    return sizes[: count // rule.pairs] if rule.drop_remainder else sizes


def _batches_of_buckets(
    bucket: Vector, buckets: Buckets, drop_remainder: bool, on: Vectors
) -> tuple[Vector, Vector, Vector]:
    """Returns where each batch starts in the order of buckets, its number of pairs, and its bucket's limit."""
    limits, capacities = np.array(buckets.limits), np.array(buckets.capacities)
    counts = on.counts(bucket, len(limits))
    batches = counts // capacities if drop_remainder else -(-counts // capacities)
    of = on.repeat(on.span(0, len(limits)), batches)
    capacity = on.take(capacities, of)
    before = (on.span(0, on.size(of)) - on.take(on.sums_before(batches), of)) * capacity
    starts = on.take(on.sums_before(counts), of) + before
    return starts, on.minimum(capacity, on.take(counts, of) - before), on.take(limits, of)


def _shuffled(count: Scalar, key: int | None, number: Scalar, on: Vectors) -> Vector:
    """Returns the numbers below ``count``, shuffled where there is a key."""
    return on.span(0, count) if key is None else on.argsort(on.random(key, number, count))
