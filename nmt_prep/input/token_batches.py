"""From a window of pairs to batches of like length, bounded by a number of tokens or of pairs."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from nmt_prep.input.batching import Column, pack, select_rows


class BatchLimit(NamedTuple):
    """What bounds a batch.

    Attributes:
        tokens: pairs times the longest row of either side, padding included; a longer pair is a batch of its own.
        pairs: number of pairs; used instead of ``tokens`` where it is not None.
    """

    tokens: int
    pairs: int | None = None


def longest_first(source: Column, target: Column, seed: tf.Tensor | None) -> tf.Tensor:
    """Order of a window's pairs: the longer side descending, then the source, in turns descending and ascending.

    So neighbours are alike on both sides, also where one length of the longer side gives way to the next.

    Args:
        source: the sources.
        target: the targets.
        seed: int64, shape ``[2]``: decides the order of pairs of equal lengths; None keeps them as they are.

    Returns:
        int64 row numbers, shape ``[rows]``.
    """
    rows = tf.size(source.lengths)
    order = tf.range(rows) if seed is None else tf.argsort(_random(seed, rows), stable=True)
    longer = tf.maximum(source.lengths, target.lengths)
    scale = tf.reduce_max(longer) + 1
    key = longer * scale + tf.where(tf.equal(longer % 2, 0), source.lengths, scale - 1 - source.lengths)
    by_length = tf.argsort(tf.gather(key, order), direction="DESCENDING", stable=True)
    return tf.cast(tf.gather(order, by_length), tf.int64)


def batch_sizes(longer: tf.Tensor, limit: BatchLimit) -> tf.Tensor:
    """Cuts pairs in descending order of their longer side into batches.

    Args:
        longer: int64, shape ``[rows]``, descending: length of each pair's longer side.
        limit: what bounds a batch.

    Returns:
        int64, shape ``[batches]``: pairs in each batch; all are as large as the limit allows but the last.
    """
    rows = tf.size(longer, tf.int64)
    if limit.pairs is not None:
        starts = tf.range(0, rows, limit.pairs, dtype=tf.int64)
    else:
        capacity = tf.maximum(limit.tokens // tf.maximum(longer, 1), 1)
        starts = _jump(capacity, rows)
    return tf.concat([starts[1:], rows[tf.newaxis]], 0)[: tf.size(starts)] - starts


def in_batches(
    source: Column, target: Column, limit: BatchLimit, seed: tf.Tensor | None
) -> tuple[Column, Column, tf.Tensor]:
    """Sorts a window's pairs by length, cuts them into batches, and shuffles the batches.

    Args:
        source: the sources.
        target: the targets.
        limit: what bounds a batch.
        seed: int64, shape ``[2]``: decides the order of the batches and of pairs of equal lengths; None leaves both
            as they are.

    Returns:
        Both sides packed, batch after batch, and int64 ``[batches]``, pairs in each.
    """
    order = longest_first(source, target, seed)
    source, target = select_rows(source, order), select_rows(target, order)
    sizes = batch_sizes(tf.maximum(source.lengths, target.lengths), limit)
    if seed is not None:
        batches = tf.argsort(_random(tf.add(seed, [0, 1]), tf.size(sizes)), stable=True)
        starts, sizes = tf.gather(tf.cumsum(sizes, exclusive=True), batches), tf.gather(sizes, batches)
        rows = tf.raw_ops.RaggedRange(starts=starts, limits=starts + sizes, deltas=tf.constant(1, tf.int64))
        source, target = (select_rows(side, rows.rt_dense_values) for side in (source, target))
    return pack(source), pack(target), sizes


def _jump(capacity: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Row 0, then from each row as many rows on as its capacity, to the end."""

    def step(row: tf.Tensor, starts: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
        return row + capacity[row], starts.write(starts.size(), row)

    starts = tf.TensorArray(tf.int64, size=0, dynamic_size=True, element_shape=[])
    _, starts = tf.while_loop(lambda row, _: row < rows, step, (tf.constant(0, tf.int64), starts))
    return starts.stack()


def _random(seed: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    return tf.random.stateless_uniform([size], seed, minval=None, maxval=None, dtype=tf.int64, alg="philox")
