from __future__ import annotations

import pytest
import tensorflow as tf

from nmt_prep.input.batching import (
    BatchedInput,
    BatchedInputWithCorpora,
    Column,
    pack,
    packed_column,
    truncate_rows,
)

pytestmark = pytest.mark.tensorflow


def test_rows_are_dropped_reordered_and_truncated_then_copied_once() -> None:
    column = packed_column(tf.constant([1, 2, 3, 4, 5, 6]), tf.constant([1, 3, 0, 2], tf.int64))
    chosen = pack(truncate_rows(column, 2), tf.constant([3, 1, 2], tf.int64))
    assert chosen.values.numpy().tolist() == [5, 6, 2, 3]
    assert chosen.starts.numpy().tolist() == [0, 2, 4]
    assert chosen.lengths.numpy().tolist() == [2, 2, 0]
    assert truncate_rows(column, None) is truncate_rows(column, 0) is column


def test_a_column_without_rows_is_copied_to_an_empty_one() -> None:
    nothing = packed_column(tf.zeros([0], tf.int32), tf.zeros([0], tf.int64))
    assert [part.shape.as_list() for part in pack(nothing, tf.zeros([0], tf.int64))] == [[0], [0], [0]]


def test_rows_between_gaps_are_copied_more_than_once() -> None:
    column = Column(tf.range(10, dtype=tf.int32), tf.constant([1, 4, 9], tf.int64), tf.constant([2, 0, 1], tf.int64))
    copied = pack(column, tf.constant([2, 0, 1, 0], tf.int64))
    assert copied.values.numpy().tolist() == [9, 1, 2, 1, 2]
    assert copied.lengths.numpy().tolist() == [1, 2, 0, 2]


@pytest.mark.parametrize(
    "batch",
    [
        BatchedInput(None, *[[number] for number in range(5)]),
        BatchedInput(None, [1], None, None, [2], None),
        BatchedInputWithCorpora(None, *[[number] for number in range(6)]),
    ],
)
def test_an_iterator_gets_a_batch_from_its_tensors(batch: BatchedInput | BatchedInputWithCorpora) -> None:
    dataset = tf.data.Dataset.from_tensors(batch)
    tensors = [tf.constant(field) for field in batch if field is not None]
    found = dataset.element_spec._from_compatible_tensor_list(tensors)
    for one in (found, next(iter(dataset))):
        assert type(one) is type(batch)
        assert [None if field is None else field.numpy().tolist() for field in one] == list(batch)
