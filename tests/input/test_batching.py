from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.input.batching import (
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
