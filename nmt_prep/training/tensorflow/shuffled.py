"""Shuffled batches of pairs, padded, as tensorflow/nmt's operators of ``tf.data`` give them.

The native core has the shuffle buffer and the buckets. It draws the random numbers of ``tf.data``'s shuffle from a
dataset with the same seeds, so the order is the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from _nmt_prep_core import PairBatches

from nmt_prep.training.tensorflow.batching import BatchedInput, map_inline, python_step

_PAIRS_PER_BLOCK = 4096
_DRAINS = 32  # parts in which the shuffle buffer is emptied at the end


class BatchSizes(NamedTuple):
    """Sizes and special ids of the batches; each is a number or a scalar tensor."""

    buffer_size: int | tf.Tensor  # pairs in the shuffle buffer
    batch_size: tf.Tensor  # pairs in a batch
    buckets: int  # number of the bucket of the longest pairs; 0 if there is no other one
    bucket_width: int  # lengths in each other bucket
    source_width: int  # ids of each word of a source
    source_padding: tf.Tensor  # id that pads sources
    sos: tf.Tensor  # id that begins `target_input`
    eos: tf.Tensor  # id that ends `target_output` and pads targets


class _Padded(NamedTuple):
    """Batches, one after the other, as in the native ``PaddedBatches``."""

    source: tf.Tensor
    target_input: tf.Tensor
    target_output: tf.Tensor
    source_lengths: tf.Tensor
    target_lengths: tf.Tensor
    places: tf.Tensor


_PADDED_TYPES = [*[tf.int32] * 5, tf.int64]


def blocks_of(lines: tf.data.Dataset) -> tf.data.Dataset:
    """Returns a dataset of blocks of lines, which are encoded and shuffled together."""
    return lines.batch(_PAIRS_PER_BLOCK)


def random_numbers(seed: int | None, another_each_iteration: bool) -> tf.data.Dataset:
    """Returns the random numbers that ``tf.data.Dataset.shuffle`` draws with this seed, int64 scalars without end."""
    with warnings.catch_warnings():
        # TensorFlow 1 warns that new numbers need a repeated dataset, which holds for its own shuffle too.
        warnings.filterwarnings("ignore", ".*rerandomize_each_iteration", UserWarning)
        return tf.data.Dataset.random(seed, rerandomize_each_iteration=another_each_iteration)


def shuffled_batches(
    source: tf.data.Dataset, target: tf.data.Dataset, order: tf.data.Dataset, sizes: BatchSizes
) -> tf.data.Dataset:
    """Shuffles pairs, drops pairs with an empty side, and batches pairs of similar length.

    A batch is complete when its last pair leaves the shuffle buffer. The incomplete ones follow at the end, in the
    order of their buckets.

    Args:
        source: blocks of rows, as large as those of :func:`blocks_of`: the ids of all rows, int32, and the number of
            words in each, int64.

    Returns:
        A dataset of :class:`BatchedInput`.
    """
    iterations = _Iterations()
    nothing = tf.constant([], tf.int32), tf.constant([], tf.int64)
    end = tf.data.Dataset.from_tensors((nothing, nothing)).repeat(_DRAINS)
    pairs = tf.data.Dataset.zip((source, target)).concatenate(end)
    blocks = tf.data.Dataset.zip((pairs, order.batch(_PAIRS_PER_BLOCK)))

    def batches(iteration: tf.Tensor) -> tf.data.Dataset:
        def add(pairs: Any, random: tf.Tensor) -> _Padded:
            arguments = iteration, *tf.nest.flatten(pairs), random
            fields = python_step(iterations.add, arguments, _PADDED_TYPES)
            return _Padded(*(tf.ensure_shape(field, [None]) for field in fields))

        return _cut(blocks.map(add))

    arguments = tuple(tf.cast(size, tf.int64) for size in sizes)
    spec = tf.TensorSpec([], tf.int64)
    return tf.data.Dataset.from_generator(iterations.begin, args=arguments, output_signature=spec).flat_map(batches)


class _Iterations:
    """The shuffle buffers and buckets of the iterations under way, by number of the iteration."""

    def __init__(self) -> None:
        self._open: dict[int, PairBatches] = {}
        self._numbers = count()

    def begin(self, *sizes: np.int64) -> Iterator[int]:
        """Yields the number of a new iteration. TensorFlow drops this generator together with its iterator."""
        number = next(self._numbers)
        options = dict(zip(BatchSizes._fields, map(int, sizes), strict=True))
        self._open[number] = PairBatches(**options, drains=_DRAINS)
        try:
            yield number
        finally:
            del self._open[number]

    def add(self, iteration: np.int64, *arguments: Any) -> tuple[npt.NDArray[Any], ...]:
        """Adds a block of pairs to an iteration; returns the fields of :class:`_Padded`."""
        source, source_lengths, target, target_lengths, random = arguments
        batches = self._open[int(iteration)]
        if not len(source_lengths):  # the end of the input
            return batches.drain()
        return batches.add(source, source_lengths, target, target_lengths, random)


# Numbers in a row of the native `places`: of the lengths, the first and how many; of the source, the first id, how many
# ids, and the shape; of both targets, the same. `tf.slice` and `tf.reshape` take vectors.
_PLACE = [1, 1, 1, 1, 2, 1, 1, 2]


def _cut(blocks: tf.data.Dataset) -> tf.data.Dataset:
    """Returns the batches of all blocks of :class:`_Padded`."""

    def places(padded: _Padded) -> tf.data.Dataset:
        # No function here: TensorFlow would prepare it again for each block, which takes longer than everything else.
        of_batches = tf.data.Dataset.from_tensor_slices(tf.reshape(padded.places, [-1, sum(_PLACE)]))
        return tf.data.Dataset.zip((tf.data.Dataset.from_tensors(padded).repeat(), of_batches))

    def batch(padded: _Padded, place: tf.Tensor) -> BatchedInput:
        first, rows, source, source_size, source_shape, target, target_size, target_shape = tf.split(place, _PLACE)
        return BatchedInput(
            initializer=None,
            source=tf.reshape(tf.slice(padded.source, source, source_size), source_shape),
            target_input=tf.reshape(tf.slice(padded.target_input, target, target_size), target_shape),
            target_output=tf.reshape(tf.slice(padded.target_output, target, target_size), target_shape),
            source_sequence_length=tf.slice(padded.source_lengths, first, rows),
            target_sequence_length=tf.slice(padded.target_lengths, first, rows),
        )

    return map_inline(blocks.flat_map(places), batch)
