"""The batch that training code receives, with the fields of tensorflow/nmt's ``BatchedInput``."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf


class BatchedInput(NamedTuple):
    """One batch of pairs (TensorFlow 2), or the tensors that the next ``Session.run`` fills (a TensorFlow 1 graph).

    ``rows`` is the number of pairs in the batch. All ids and lengths are int32.

    Attributes:
        initializer: operation that starts an epoch in a TensorFlow 1 graph; None in TensorFlow 2.
        source: ids, shape ``[rows, longest source]``.
        target_input: ids that the decoder reads, shape ``[rows, longest target_input]``.
        target_output: ids that the decoder should predict, same shape as ``target_input``.
        source_sequence_length: shape ``[rows]``.
        target_sequence_length: length of each row of ``target_input`` and of ``target_output``, shape ``[rows]``.

    The three target fields are None in inference.
    """

    initializer: tf.Operation | None
    source: tf.Tensor
    target_input: tf.Tensor | None
    target_output: tf.Tensor | None
    source_sequence_length: tf.Tensor
    target_sequence_length: tf.Tensor | None


def batches_or_tensors(batches: tf.data.Dataset) -> tf.data.Dataset | BatchedInput:
    """Returns the result of the input functions for a dataset of :class:`BatchedInput`.

    That is the dataset itself in TensorFlow 2; in a TensorFlow 1 graph the tensors of its next batch, with their
    initializer.
    """
    if tf.compat.v1.executing_eagerly_outside_functions():
        return batches
    iterator = tf.compat.v1.data.make_initializable_iterator(batches)
    return iterator.get_next()._replace(initializer=iterator.initializer)
