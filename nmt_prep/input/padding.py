"""Cuts packed pairs into padded batches: the last step of every input function.

The cost is in launching operations, not in the ids. So as much as possible is computed for many batches at once, and
each batch only needs a slice and a padding operation per field.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from nmt_prep.input.batched_input import BatchedInput
from nmt_prep.input.batching import Column


class PackedPairs(NamedTuple):
    """Pairs in batch order; the rows of each field are consecutive.

    Attributes:
        source: int32, flat ids.
        target_input: int32, flat ids.
        target_output: int32, flat ids, rows as long as those of ``target_input``.
        source_lengths: int32, shape ``[pairs]``.
        target_lengths: int32, shape ``[pairs]``.
        sizes: int64, shape ``[batches]``: pairs in each batch, none of them 0.
    """

    source: tf.Tensor
    target_input: tf.Tensor
    target_output: tf.Tensor
    source_lengths: tf.Tensor
    target_lengths: tf.Tensor
    sizes: tf.Tensor


class _Span(NamedTuple):
    """Arguments of ``tf.slice`` for a part of a vector: int64, shape ``[1]`` each."""

    begin: tf.Tensor
    size: tf.Tensor


def row_splits(lengths: tf.Tensor, width: int = 1) -> tf.Tensor:
    """Returns the row offsets, int64 ``[rows + 1]``; each item of a row takes ``width`` ids."""
    return tf.concat([[0], tf.cumsum(tf.cast(lengths, tf.int64) * width)], 0)


def pad(
    values: tf.Tensor, splits: tf.Tensor, padding: tf.Tensor | int, width: tf.Tensor | int | None = None
) -> tf.Tensor:
    """Pads flat rows to a matrix: int32, shape ``[rows, width]``; a width of None is the length of the longest row."""
    shape = tf.constant([-1, -1], tf.int64) if width is None else tf.stack([-1, tf.cast(width, tf.int64)])
    matrix = tf.raw_ops.RaggedTensorToTensor(
        shape=shape,
        values=values,
        default_value=padding,
        row_partition_tensors=[splits],
        row_partition_types=["ROW_SPLITS"],
    )
    matrix.set_shape([None, None])
    return matrix


def shift_right(target: Column, sos: tf.Tensor | int) -> tf.Tensor:
    """Returns the values of a packed column with each (non-empty) row shifted right: ``sos`` added, last id dropped."""
    shifted = tf.roll(target.values, 1, 0)
    begins = tf.fill(tf.shape(target.starts), sos)
    return tf.tensor_scatter_nd_update(shifted, target.starts[:, tf.newaxis], begins)


def append_id(column: Column, last: tf.Tensor | int) -> Column:
    """Returns a packed column with one id appended to each row."""
    rows = tf.range(tf.size(column.lengths, tf.int64))
    starts, lengths = column.starts + rows, column.lengths + 1
    places = tf.raw_ops.RaggedRange(starts=starts, limits=starts + column.lengths, deltas=tf.constant(1, tf.int64))
    values = tf.fill([tf.size(column.values) + tf.size(column.lengths)], last)
    places = places.rt_dense_values[:, tf.newaxis]
    return Column(tf.tensor_scatter_nd_update(values, places, column.values), starts, lengths)


def padded_batches(
    pairs: PackedPairs,
    source_padding: tf.Tensor | int,
    target_padding: tf.Tensor | int,
    source_width: int = 1,
    widths: tf.Tensor | None = None,
) -> tf.data.Dataset:
    """Cuts packed pairs into a dataset of :class:`BatchedInput`.

    Args:
        pairs: the pairs.
        source_padding: id that pads sources.
        target_padding: id that pads both targets.
        source_width: ids per source item: 50 with characters.
        widths: int64, shape ``[batches]``: ids that the rows of each batch are padded to, on both sides; None pads each
            side to its longest row.
    """
    source_splits, target_splits = row_splits(pairs.source_lengths, source_width), row_splits(pairs.target_lengths)
    rows = row_splits(pairs.sizes)
    source_bounds, target_bounds = tf.gather(source_splits, rows), tf.gather(target_splits, rows)

    def spans(bounds: tf.Tensor) -> _Span:
        return _Span(bounds[:-1, tf.newaxis], (bounds[1:] - bounds[:-1])[:, tf.newaxis])

    def batch(rows: _Span, source: _Span, target: _Span, width: tf.Tensor | None = None) -> BatchedInput:
        own_source_splits = tf.slice(source_splits, rows.begin, rows.size + 1) - source.begin
        own_target_splits = tf.slice(target_splits, rows.begin, rows.size + 1) - target.begin
        return BatchedInput(
            initializer=None,
            source=pad(tf.slice(pairs.source, *source), own_source_splits, source_padding, width),
            target_input=pad(tf.slice(pairs.target_input, *target), own_target_splits, target_padding, width),
            target_output=pad(tf.slice(pairs.target_output, *target), own_target_splits, target_padding, width),
            source_sequence_length=tf.slice(pairs.source_lengths, *rows),
            target_sequence_length=tf.slice(pairs.target_lengths, *rows),
        )

    columns = (spans(rows), spans(source_bounds), spans(target_bounds), *([] if widths is None else [widths]))
    return tf.data.Dataset.from_tensor_slices(columns).map(batch)
