"""Packs several pairs per row in the graph, and builds Tensor2Tensor's features of packed rows."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from nmt_prep.batches.vectors import PackedRows
from nmt_prep.input.batching import Column
from nmt_prep.input.padding import pad, row_splits


def pack_rows(source: tf.Tensor, target: tf.Tensor, length: int) -> PackedRows:
    """Packs pairs, given by the int64 lengths of their sides; no side is longer than ``length``.

    Pairs are sorted by their longer side, longest first. In each round every row gets one of the longest remaining
    pairs; the emptiest row gets the longest. A pair that does not fit is tried again in the next round, but those
    before the first one that fits are postponed until all others are in rows. New rows are then added for them,
    somewhat more than their larger side fills. A round is a few vector operations, so this is fast in a graph.
    ``pack_rounds`` of the native core does the same to count the rows beforehand; ``pack_best_fit`` wastes less space
    if there are few rows.
    """
    tokens = tf.stack([source, target], 1)
    order = tf.argsort(tf.maximum(source, target), direction="DESCENDING", stable=True)

    def open_rows(put_off: tf.Tensor, filled: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        most = tf.reduce_max(tf.reduce_sum(tf.gather(tokens, put_off), 0))
        more = tf.maximum((most * 1003 + 1000 * length - 1) // (1000 * length), 1)
        return put_off, put_off[:0], tf.concat([filled, tf.zeros([more, 2], tf.int64)], 0)

    def put(
        waiting: tf.Tensor, put_off: tf.Tensor, filled: tf.Tensor, row_of: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        waiting, put_off, filled = tf.cond(
            tf.equal(tf.size(waiting), 0), lambda: open_rows(put_off, filled), lambda: (waiting, put_off, filled)
        )
        rows = tf.argsort(tf.reduce_max(filled, 1), stable=True)[: tf.size(waiting)]
        pairs, others = waiting[: tf.size(rows)], waiting[tf.size(rows) :]
        fits = tf.reduce_max(tf.gather(filled, rows) + tf.gather(tokens, pairs), 1) <= length
        put_pairs, put_rows = tf.boolean_mask(pairs, fits)[:, tf.newaxis], tf.boolean_mask(rows, fits)
        filled = tf.tensor_scatter_nd_add(filled, put_rows[:, tf.newaxis], tf.gather_nd(tokens, put_pairs))
        row_of = tf.tensor_scatter_nd_update(row_of, put_pairs, put_rows)
        tried = tf.cumsum(tf.cast(fits, tf.int32)) > 0
        put_off = tf.concat([put_off, tf.boolean_mask(pairs, ~tried)], 0)
        return tf.concat([tf.boolean_mask(pairs, tried & ~fits), others], 0), put_off, filled, row_of

    vector, matrix = tf.TensorShape([None]), tf.TensorShape([None, 2])
    _, _, _, row_of = tf.while_loop(
        lambda waiting, put_off, filled, row_of: tf.size(waiting) + tf.size(put_off) > 0,
        put,
        (order[:0], order, tf.zeros([0, 2], tf.int64), tf.zeros_like(order)),
        shape_invariants=(vector, vector, matrix, vector),
    )
    sizes = tf.math.bincount(row_of, dtype=tf.int64)
    return PackedRows(tf.cast(tf.argsort(row_of, stable=True), tf.int64), tf.boolean_mask(sizes, sizes > 0))


class _Side(NamedTuple):
    """Flat int32 vectors of one side, and the offset of each row in them."""

    ids: tf.Tensor
    segmentation: tf.Tensor
    position: tf.Tensor
    splits: tf.Tensor


def packed_batches(
    source: Column, target: Column, row_pairs: tf.Tensor, sizes: tf.Tensor, length: int, paddings: tuple[int, int]
) -> tf.data.Dataset:
    """Returns batches of rows as Tensor2Tensor's features: int32, shape ``[rows, length]`` each.

    ``inputs`` and ``targets`` hold the ids, ``*_segmentation`` the number of the pair in its row, from 1, and
    ``*_position`` the position in its sentence, from 0; both are 0 for padding.

    Args:
        source: the sources, row after row, packed.
        target: the targets.
        row_pairs: int64, shape ``[rows]``: pairs in each row.
        sizes: int64, shape ``[batches]``: rows in each batch.
        length: ids of a row.
        paddings: ids that pad source and target.
    """
    first = tf.cumsum(row_pairs, exclusive=True)
    segment = tf.range(tf.reduce_sum(row_pairs)) - tf.repeat(first, row_pairs) + 1
    bounds = row_splits(row_pairs)
    sides = [_side(column, tf.cast(segment, tf.int32), bounds) for column in (source, target)]

    def features(start: tf.Tensor, size: tf.Tensor) -> dict[str, tf.Tensor]:
        found = {}
        for name, side, padding in zip(("inputs", "targets"), sides, paddings, strict=True):
            splits = side.splits[start : start + size + 1]
            for suffix, values, fill in (
                ("", side.ids, padding),
                ("_segmentation", side.segmentation, 0),
                ("_position", side.position, 0),
            ):
                matrix = pad(values[splits[0] : splits[-1]], splits - splits[0], fill, length)
                matrix.set_shape([None, length])
                found[name + suffix] = matrix
        return found

    return tf.data.Dataset.from_tensor_slices((tf.cumsum(sizes, exclusive=True), sizes)).map(features)


def _side(column: Column, segment: tf.Tensor, bounds: tf.Tensor) -> _Side:
    places = tf.range(tf.size(column.values)) - tf.repeat(tf.cast(column.starts, tf.int32), column.lengths)
    return _Side(
        column.values, tf.repeat(segment, column.lengths), places, tf.gather(row_splits(column.lengths), bounds)
    )
