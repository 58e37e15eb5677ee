from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.input.batching import (
    BatchedInput,
    BatchedInputWithCorpora,
    Column,
    concat_columns,
    cut_windows,
    empty_column,
    pack,
    packed_column,
    truncate_rows,
)
from tests.reference.batching import group_by_window

pytestmark = pytest.mark.tensorflow

BUCKETS = 5


@tf.function(input_signature=[tf.TensorSpec([None], tf.int64), tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.bool)])
def windows(buckets: Any, window_size: Any, flush: Any) -> Any:
    return cut_windows(buckets, BUCKETS, window_size, flush)


def batches_of(rows: list[int], sizes: list[int]) -> list[list[int]]:
    ends = list(accumulate(sizes))
    return [rows[end - size : end] for end, size in zip(ends, sizes, strict=True)]


@settings(deadline=None)
@given(buckets=st.lists(st.integers(0, BUCKETS - 1), max_size=60), window_size=st.integers(1, 7), flush=st.booleans())
def test_windows_equal_those_of_group_by_window(buckets: list[int], window_size: int, *, flush: bool) -> None:
    found = windows(tf.constant(buckets, tf.int64), window_size, flush)
    full, rest = group_by_window(buckets, window_size)
    emitted = full + rest if flush else full
    assert batches_of(found.rows.numpy().tolist(), found.sizes.numpy().tolist()) == emitted
    assert found.waiting.numpy().tolist() == ([] if flush else [row for batch in rest for row in batch])


def test_a_window_is_emitted_with_its_last_row() -> None:
    found = windows(tf.constant([1, 0, 0, 1, 3], tf.int64), 2, flush=True)
    assert batches_of(found.rows.numpy().tolist(), found.sizes.numpy().tolist()) == [[1, 2], [0, 3], [4]]


def test_rows_are_dropped_reordered_and_truncated_then_copied_once() -> None:
    column = packed_column(tf.constant([1, 2, 3, 4, 5, 6]), tf.constant([1, 3, 0, 2], tf.int64))
    chosen = pack(truncate_rows(column, 2), tf.constant([3, 1, 2], tf.int64))
    assert chosen.values.numpy().tolist() == [5, 6, 2, 3]
    assert chosen.starts.numpy().tolist() == [0, 2, 4]
    assert chosen.lengths.numpy().tolist() == [2, 2, 0]
    assert truncate_rows(column, None) is truncate_rows(column, 0) is column


def test_columns_are_concatenated_by_rows() -> None:
    column = packed_column(tf.constant([7, 8, 9]), tf.constant([2, 1], tf.int64))
    both = pack(concat_columns(concat_columns(empty_column([0]), column), column), tf.range(4, dtype=tf.int64))
    assert both.values.numpy().tolist() == [7, 8, 9, 7, 8, 9]
    assert both.lengths.numpy().tolist() == [2, 1, 2, 1]


def test_an_empty_column_is_copied_to_an_empty_one() -> None:
    copied = pack(empty_column([0]), tf.zeros([0], tf.int64))
    assert [part.shape.as_list() for part in copied] == [[0], [0], [0]]


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
