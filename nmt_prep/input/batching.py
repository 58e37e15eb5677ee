"""Ragged columns of pairs in the ``tf.data`` graph: selects rows, and forms batches.

A column has flat ``values`` and a start and a length for each row. Dropping, reordering and truncating rows only edits
these two small vectors; the values are copied once, when the rows are in batch order.

Tensors are compared with ``tf.equal``, since ``==`` compares identity in a TensorFlow 1 graph.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from nmt_prep.input.tensors import spans


class Column(NamedTuple):
    """Rows of ids of different lengths.

    Attributes:
        values: int32, shape ``[n]`` or, with characters, ``[n, 50]``.
        starts: int64, shape ``[rows]``: offset of each row in ``values``.
        lengths: int64, shape ``[rows]``.
    """

    values: tf.Tensor
    starts: tf.Tensor
    lengths: tf.Tensor


class Windows(NamedTuple):
    """Batches formed from rows with bucket numbers.

    Attributes:
        rows: int64, the rows of all complete batches, batch after batch.
        sizes: int64, shape ``[batches]``: rows in each batch; they sum to the length of ``rows``.
        waiting: int64, the rows whose window is not full yet, in order of arrival within each bucket.
    """

    rows: tf.Tensor
    sizes: tf.Tensor
    waiting: tf.Tensor


def empty_column(values_shape: list[int]) -> Column:
    """Returns a column without rows."""
    return Column(tf.zeros(values_shape, tf.int32), tf.zeros([0], tf.int64), tf.zeros([0], tf.int64))


def packed_column(values: tf.Tensor, lengths: tf.Tensor) -> Column:
    """Returns a column whose rows are consecutive in ``values``, without gaps."""
    return Column(values, tf.cumsum(lengths, exclusive=True), lengths)


def concat_columns(first: Column, second: Column) -> Column:
    """Concatenates the rows of two columns."""
    offset = tf.shape(first.values, tf.int64)[0]
    return Column(
        tf.concat([first.values, second.values], 0),
        tf.concat([first.starts, second.starts + offset], 0),
        tf.concat([first.lengths, second.lengths], 0),
    )


def select_rows(column: Column, rows: tf.Tensor) -> Column:
    """Selects rows of a column in the given order; shares its values."""
    return Column(column.values, tf.gather(column.starts, rows), tf.gather(column.lengths, rows))


def truncate_rows(column: Column, max_length: int | None) -> Column:
    """Truncates each row to its first ``max_length`` ids; None and 0 change nothing."""
    if not max_length:
        return column
    return column._replace(lengths=tf.minimum(column.lengths, tf.cast(max_length, tf.int64)))


def pack(column: Column) -> Column:
    """Copies the values so that the rows are consecutive, in order and without gaps."""
    return packed_column(tf.gather(column.values, spans(column.starts, column.lengths)), column.lengths)


def cut_windows(buckets: tf.Tensor, num_buckets: int, window_size: tf.Tensor, flush: tf.Tensor) -> Windows:
    """Forms the batches of ``tf.data.Dataset.group_by_window``, for all rows at once.

    Rows come in order of arrival. A window of ``window_size`` rows of one bucket is complete when its last row arrives,
    so windows are in the order of their last rows. At the end of the input the incomplete windows follow in the order
    of their bucket numbers.

    Args:
        buckets: int64, shape ``[rows]``, each from 0 to ``num_buckets - 1``.
        num_buckets: number of buckets.
        window_size: int64 scalar, rows in a full window.
        flush: boolean scalar, true at the end of the input.
    """
    by_bucket = tf.argsort(buckets, stable=True)
    counts = tf.math.bincount(tf.cast(buckets, tf.int32), minlength=num_buckets, dtype=tf.int64)
    sorted_buckets = tf.gather(buckets, by_bucket)
    position = tf.range(tf.size(buckets, tf.int64))
    rank = position - tf.gather(tf.cumsum(counts, exclusive=True), sorted_buckets)
    full = rank < tf.gather(counts - counts % window_size, sorted_buckets)

    last_positions = tf.boolean_mask(position, full & tf.equal(rank % window_size, window_size - 1))
    last_positions = tf.gather(last_positions, tf.argsort(tf.gather(by_bucket, last_positions)))
    full_positions = tf.reshape(last_positions[:, tf.newaxis] + tf.range(1 - window_size, 1), [-1])
    open_rows = tf.cast(tf.boolean_mask(by_bucket, ~full), tf.int64)
    open_sizes = tf.boolean_mask(counts % window_size, counts % window_size > 0)

    flushed = tf.where(flush, tf.size(open_rows), 0)
    flushed_windows = tf.where(flush, tf.size(open_sizes), 0)
    return Windows(
        rows=tf.concat([tf.cast(tf.gather(by_bucket, full_positions), tf.int64), open_rows[:flushed]], 0),
        sizes=tf.concat([tf.fill([tf.size(last_positions)], window_size), open_sizes[:flushed_windows]], 0),
        waiting=open_rows[flushed:],
    )
