"""The operations of :mod:`nmt_prep.training.batches.vectors` on TensorFlow tensors, in the graph.

Shared code compares with ``tf.equal``, since ``==`` compares identity of tensors in a TensorFlow 1 graph.
"""

from __future__ import annotations

import tensorflow as tf

from nmt_prep.training.batches.vectors import PackedRows, Scalar

__all__ = ["pack_rows"]

take = tf.gather
choose = tf.where
minimum = tf.minimum
maximum = tf.maximum
greatest = tf.reduce_max
total = tf.reduce_sum


def size(vector: tf.Tensor, /) -> tf.Tensor:
    """Same as the function of this name in :mod:`nmt_prep.training.batches.vectors`; so are all functions of this module."""
    return tf.size(vector, tf.int64)


def span(start: Scalar, stop: Scalar, step: int = 1, /) -> tf.Tensor:
    return tf.range(start, stop, step, dtype=tf.int64)


def repeat(vector: tf.Tensor, counts: tf.Tensor, /) -> tf.Tensor:
    # tf.repeat adds some fifty operations to the graph.
    places = tf.range(tf.reduce_sum(counts))
    indices = tf.raw_ops.UpperBound(sorted_inputs=[tf.cumsum(counts)], values=[places], out_type=tf.int64)
    return tf.gather(vector, tf.squeeze(indices, 0))


def spans(starts: tf.Tensor, sizes: tf.Tensor, /) -> tf.Tensor:
    ranges = tf.raw_ops.RaggedRange(starts=starts, limits=starts + sizes, deltas=tf.constant(1, tf.int64))
    return ranges.rt_dense_values


def where(mask: tf.Tensor, /) -> tf.Tensor:
    return tf.where(mask)[:, 0]


def sums_before(vector: tf.Tensor, /) -> tf.Tensor:
    return tf.cumsum(vector, exclusive=True)


def counts(numbers: tf.Tensor, size: Scalar, /) -> tf.Tensor:
    ones = tf.constant([], tf.int64)  # stands for a weight of 1 each
    return tf.raw_ops.DenseBincount(input=numbers, size=tf.cast(size, tf.int64), weights=ones)


def first_at_least(ascending: tf.Tensor, values: tf.Tensor, /) -> tf.Tensor:
    return tf.searchsorted(ascending, values, out_type=tf.int64)


def argsort(vector: tf.Tensor, /) -> tf.Tensor:
    descending = tf.raw_ops.TopKV2(input=tf.bitwise.invert(vector), k=tf.size(vector))  # equal values keep their order
    return tf.cast(descending.indices, tf.int64)


def inverse(permutation: tf.Tensor, /) -> tf.Tensor:
    count = tf.size(permutation, tf.int64)
    return tf.scatter_nd(permutation[:, tf.newaxis], tf.range(count), count[tf.newaxis])


def random(key: Scalar, number: Scalar, size: Scalar, /) -> tf.Tensor:
    seed = tf.stack([tf.convert_to_tensor(key, tf.int64), number])
    # Same as tf.random.stateless_uniform with alg="philox", which scrambles the seed in some forty operations.
    return tf.raw_ops.StatelessRandomUniformFullInt(shape=[size], seed=seed, dtype=tf.int64)


def shuffled(key: Scalar, number: Scalar, size: Scalar, /) -> tf.Tensor:
    return argsort(random(key, number, size))


def jumps(widths: tf.Tensor, /) -> tf.Tensor:
    # The number of known places doubles in each round: a step of the walk at a time would be thousands of operations.
    count = tf.size(widths, tf.int64)
    after = tf.concat([tf.minimum(tf.range(count) + widths, count), [count]], 0)

    def double(places: tf.Tensor, after: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.concat([places, tf.gather(after, places)], 0), tf.gather(after, after)

    vector = tf.TensorShape([None])
    places, _ = tf.while_loop(
        lambda places, _: places[-1] < count,
        double,
        (tf.zeros([1], tf.int64), after),
        shape_invariants=(vector, vector),
    )
    places = tf.boolean_mask(places, places < count)
    return tf.concat([places[1:], [count]], 0)[: tf.size(places)] - places


def pack_rows(source: tf.Tensor, target: tf.Tensor, length: int) -> PackedRows:
    """Packs pairs, given by the int64 lengths of their sides; no side is longer than ``length``.

    Pairs are sorted by their longer side, longest first. In each round every row gets one of the longest remaining
    pairs; the emptiest row gets the longest. A pair that does not fit is tried again in the next round, but pairs
    before the first pair that fits are postponed until all other pairs are in rows. New rows are then added for them,
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
