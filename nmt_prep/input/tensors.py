"""The operations of :mod:`nmt_prep.batches.vectors` on TensorFlow tensors, in the graph.

Shared code compares with ``tf.equal``, since ``==`` compares identity of tensors in a TensorFlow 1 graph.
"""

from __future__ import annotations

import tensorflow as tf

from nmt_prep.batches.vectors import Scalar
from nmt_prep.input.packing import pack_rows

__all__ = ["pack_rows"]

take = tf.gather
choose = tf.where
repeat = tf.repeat
minimum = tf.minimum
maximum = tf.maximum
greatest = tf.reduce_max


def size(vector: tf.Tensor, /) -> tf.Tensor:
    """See the function of the same name in :mod:`nmt_prep.batches.vectors`, as for all functions here."""
    return tf.size(vector, tf.int64)


def span(start: Scalar, stop: Scalar, step: int = 1, /) -> tf.Tensor:
    return tf.range(start, stop, step, dtype=tf.int64)


def spans(starts: tf.Tensor, sizes: tf.Tensor, /) -> tf.Tensor:
    ranges = tf.raw_ops.RaggedRange(starts=starts, limits=starts + sizes, deltas=tf.constant(1, tf.int64))
    return ranges.rt_dense_values


def where(mask: tf.Tensor, /) -> tf.Tensor:
    return tf.where(mask)[:, 0]


def sums_before(vector: tf.Tensor, /) -> tf.Tensor:
    return tf.cumsum(vector, exclusive=True)


def counts(numbers: tf.Tensor, size: Scalar, /) -> tf.Tensor:
    return tf.math.bincount(tf.cast(numbers, tf.int32), minlength=tf.cast(size, tf.int32), dtype=tf.int64)


def first_at_least(ascending: tf.Tensor, values: tf.Tensor, /) -> tf.Tensor:
    return tf.searchsorted(ascending, values, out_type=tf.int64)


def argsort(vector: tf.Tensor, /) -> tf.Tensor:
    return tf.cast(tf.argsort(vector, stable=True), tf.int64)


def inverse(permutation: tf.Tensor, /) -> tf.Tensor:
    count = tf.size(permutation, tf.int64)
    return tf.scatter_nd(permutation[:, tf.newaxis], tf.range(count), count[tf.newaxis])


def random(key: int, number: Scalar, size: Scalar, /) -> tf.Tensor:
    seed = tf.stack([tf.constant(key, tf.int64), number])
    return tf.random.stateless_uniform([size], seed, minval=None, maxval=None, dtype=tf.int64, alg="philox")


def jumps(widths: tf.Tensor, /) -> tf.Tensor:
    count = tf.size(widths, tf.int64)

    def step(place: tf.Tensor, found: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
        width = tf.minimum(widths[place], count - place)
        return place + width, found.write(found.size(), width)

    found = tf.TensorArray(tf.int64, size=0, dynamic_size=True, element_shape=[])
    return tf.while_loop(lambda place, _: place < count, step, (tf.constant(0, tf.int64), found))[1].stack()
