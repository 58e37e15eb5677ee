from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from nmt_prep.input.batching import PackedPairs, packed_column, pad, padded_batches, row_splits, shift_right

pytestmark = pytest.mark.tensorflow


def column(values: list[int], lengths: list[int]) -> Any:
    return packed_column(tf.constant(values, tf.int32), tf.constant(lengths, tf.int64))


def test_rows_are_padded_to_the_longest() -> None:
    splits = row_splits(tf.constant([1, 2, 0]))
    assert splits.numpy().tolist() == [0, 1, 3, 3]
    assert pad(tf.constant([7, 8, 9]), splits, -1).numpy().tolist() == [[7, -1], [8, 9], [-1, -1]]
    assert row_splits(tf.constant([1, 2]), 50).numpy().tolist() == [0, 50, 150]


def test_each_row_is_shifted_right() -> None:
    assert shift_right(column([7, 5, 5, 8, 9, 5], [2, 1, 3]), 4).numpy().tolist() == [4, 7, 4, 4, 8, 9]
    assert shift_right(column([], []), 4).numpy().tolist() == []


def test_each_batch_is_truncated_and_padded() -> None:
    pairs = PackedPairs(
        source=tf.constant([1, 2, 3, 4, 5, 6]),
        target_input=tf.constant([10, 11, 12, 13]),
        target_output=tf.constant([20, 21, 22, 23]),
        source_lengths=tf.constant([1, 2, 3]),
        target_lengths=tf.constant([2, 1, 1]),
        sizes=tf.constant([2, 1], tf.int64),
    )
    first, second = ([tensor.numpy().tolist() for tensor in batch[1:]] for batch in padded_batches(pairs, 0, -1))
    assert first == [[[1, 0], [2, 3]], [[10, 11], [12, -1]], [[20, 21], [22, -1]], [1, 2], [2, 1]]
    assert second == [[[4, 5, 6]], [[13]], [[23]], [3], [1]]
