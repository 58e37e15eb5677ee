"""From a window of pairs to batches of like length, bounded by a :class:`~nmt_prep.records.batch_rules.BatchRule`."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from nmt_prep.input.batching import Column, pack, select_rows
from nmt_prep.records.batch_rules import BatchRule, Buckets


class CutWindow(NamedTuple):
    """A window's pairs in the order of their batches.

    Attributes:
        source: packed.
        target: packed.
        sizes: int64, shape ``[batches]``: pairs in each batch.
        limits: int64, shape ``[batches]``: limit of each batch's bucket; without buckets the longest pair's length.
    """

    source: Column
    target: Column
    sizes: tf.Tensor
    limits: tf.Tensor


def longest_first(source: Column, target: Column, seed: tf.Tensor | None) -> tf.Tensor:
    """Order of a window's pairs: the longer side descending, then source minus target, in turns down and up.

    So neighbours are alike on both sides, also where one length of the longer side gives way to the next.

    Args:
        source: the sources.
        target: the targets.
        seed: int64, shape ``[2]``: decides the order of pairs of equal lengths; None keeps them as they are.

    Returns:
        int64 row numbers, shape ``[rows]``.
    """
    order = shuffled_range(tf.size(source.lengths), seed)
    longer = tf.maximum(source.lengths, target.lengths)
    scale = tf.reduce_max(longer) + 1
    difference = source.lengths - target.lengths
    key = longer * 2 * scale + tf.where(tf.equal(longer % 2, 0), difference, -difference)
    by_length = tf.argsort(tf.gather(key, order), direction="DESCENDING", stable=True)
    return tf.cast(tf.gather(order, by_length), tf.int64)


def batch_sizes(longer: tf.Tensor, rule: BatchRule) -> tf.Tensor:
    """Cuts pairs in descending order of their longer side into batches.

    Args:
        longer: int64, shape ``[rows]``, descending: length of each pair's longer side.
        rule: what bounds a batch; without buckets.

    Returns:
        int64, shape ``[batches]``: pairs in each batch; all are as large as the rule allows but the last.
    """
    rows = tf.size(longer, tf.int64)
    if rule.pairs is not None:
        starts = tf.range(0, rows, rule.pairs, dtype=tf.int64)
    else:
        starts = _jump(tf.maximum(rule.tokens // tf.maximum(longer, 1), 1), rows)
    sizes = tf.concat([starts[1:], rows[tf.newaxis]], 0)[: tf.size(starts)] - starts
    return sizes[: rows // rule.pairs] if rule.drop_remainder and rule.pairs is not None else sizes


def cut_window(
    source: Column, target: Column, rule: BatchRule, seed: tf.Tensor | None, done: tf.Tensor | int = 0
) -> CutWindow:
    """Cuts a window's pairs into batches, and shuffles the batches.

    Args:
        source: the sources.
        target: the targets.
        rule: what bounds a batch.
        seed: int64, shape ``[2]``: decides the order of the batches and of pairs that are alike; None leaves both as
            they are.
        done: batches at the beginning to leave out.
    """
    longer = tf.maximum(source.lengths, target.lengths)
    if rule.buckets is None:
        order = longest_first(source, target, seed)
        sizes = batch_sizes(tf.gather(longer, order), rule)
        starts = tf.cumsum(sizes, exclusive=True)
        limits = tf.gather(longer, tf.gather(order, starts))
    else:
        order, starts, sizes, limits = _bucketed(longer, rule.buckets, rule.drop_remainder, seed)
    batches = tf.range(tf.size(sizes))
    if seed is not None:
        batches = tf.argsort(_random(tf.add(seed, [0, 1]), tf.size(sizes)), stable=True)
    batches = batches[done:]
    starts, sizes, limits = (tf.gather(column, batches) for column in (starts, sizes, limits))
    rows = tf.raw_ops.RaggedRange(starts=starts, limits=starts + sizes, deltas=tf.constant(1, tf.int64)).rt_dense_values
    rows = tf.gather(order, rows)
    return CutWindow(pack(select_rows(source, rows)), pack(select_rows(target, rows)), sizes, limits)


def _bucketed(
    longer: tf.Tensor, buckets: Buckets, drop_remainder: bool, seed: tf.Tensor | None
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Pairs in order of their buckets; where each batch starts in that order, its size, and its bucket's limit."""
    limits, capacities = tf.constant(buckets.limits, tf.int64), tf.constant(buckets.capacities, tf.int64)
    order = shuffled_range(tf.size(longer), seed)
    bucket = tf.searchsorted(limits, tf.gather(longer, order))
    order = tf.cast(tf.gather(order, tf.argsort(bucket, stable=True)), tf.int64)
    counts = tf.math.bincount(bucket, minlength=len(buckets.limits), dtype=tf.int64)
    batches = counts // capacities if drop_remainder else (counts + capacities - 1) // capacities
    of = tf.repeat(tf.range(len(buckets.limits)), batches)
    rank = tf.range(tf.size(of, tf.int64)) - tf.gather(tf.cumsum(batches, exclusive=True), of)
    capacity = tf.gather(capacities, of)
    starts = tf.gather(tf.cumsum(counts, exclusive=True), of) + rank * capacity
    sizes = tf.minimum(capacity, tf.gather(counts, of) - rank * capacity)
    return order, starts, sizes, tf.gather(limits, of)


def _jump(capacity: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Row 0, then from each row as many rows on as its capacity, to the end."""

    def step(row: tf.Tensor, starts: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
        return row + capacity[row], starts.write(starts.size(), row)

    starts = tf.TensorArray(tf.int64, size=0, dynamic_size=True, element_shape=[])
    _, starts = tf.while_loop(lambda row, _: row < rows, step, (tf.constant(0, tf.int64), starts))
    return starts.stack()


def shuffled_range(rows: tf.Tensor, seed: tf.Tensor | None) -> tf.Tensor:
    """The numbers below ``rows``, int32, shuffled where there is a seed: int64, shape ``[2]``."""
    return tf.range(rows) if seed is None else tf.argsort(_random(seed, rows), stable=True)


def _random(seed: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    return tf.random.stateless_uniform([size], seed, minval=None, maxval=None, dtype=tf.int64, alg="philox")
