from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import tensorflow as tf

from nmt_prep.training.tensorflow.batching import (
    BatchedInput,
    BatchedInputWithColumns,
    Column,
    CutWindow,
    map_inline,
    pack,
    packed_column,
    pad,
    padded_batches,
    row_splits,
    shift_right,
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
        BatchedInputWithColumns(None, *[[number] for number in range(6)], context=[7]),
    ],
)
def test_an_iterator_gets_a_batch_from_its_tensors(batch: BatchedInput | BatchedInputWithColumns) -> None:
    dataset = tf.data.Dataset.from_tensors(batch)
    tensors = [tf.constant(field) for field in batch if field is not None]
    found = dataset.element_spec._from_compatible_tensor_list(tensors)
    for one in (found, next(iter(dataset))):
        assert type(one) is type(batch)
        assert [None if field is None else field.numpy().tolist() for field in one] == list(batch)


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
    source, target = column([1, 2, 3, 4, 5, 6], [1, 2, 3]), column([20, 21, 22, 23], [2, 1, 1])
    window = CutWindow(source, target, None, tf.constant([2, 1], tf.int64), None, {}, None)
    first, second = (
        [tensor.numpy().tolist() for tensor in batch[1:]] for batch in padded_batches(window, 9, (0, -1), lambda b: b)
    )
    assert first == [[[1, 0], [2, 3]], [[9, 20], [9, -1]], [[20, 21], [22, -1]], [1, 2], [2, 1]]
    assert second == [[[4, 5, 6]], [[9]], [[23]], [3], [1]]


def test_elements_are_mapped_with_tensors_from_outside() -> None:
    more = tf.constant([10, 20])
    numbers = tf.data.Dataset.from_tensor_slices(([1, 2], {"a": [3, 4]}))
    mapped = map_inline(numbers, lambda first, second: {"sum": first + second["a"] + more, "nothing": None})
    assert [(found["sum"].numpy().tolist(), found["nothing"]) for found in mapped] == [
        ([14, 24], None),
        ([16, 26], None),
    ]
    assert mapped.element_spec["sum"] == tf.TensorSpec([2], tf.int32)


def test_an_element_that_is_not_a_tuple_is_the_only_argument() -> None:
    assert list(map_inline(tf.data.Dataset.range(3), lambda number: number * 2).as_numpy_iterator()) == [0, 2, 4]


def test_the_outer_dataset_can_map_within_its_function() -> None:
    inner = tf.data.Dataset.range(1, 3).flat_map(
        lambda outer: map_inline(tf.data.Dataset.range(2), lambda number: 10 * outer + number)
    )
    assert list(inner.as_numpy_iterator()) == [10, 11, 20, 21]


def test_it_works_in_a_graph_of_tensorflow_1() -> None:
    with tf.Graph().as_default():
        mapped = map_inline(tf.data.Dataset.range(2), lambda number: number + 5)
        following = tf.compat.v1.data.make_one_shot_iterator(mapped).get_next()
        with tf.compat.v1.Session() as session:
            assert [int(session.run(following)) for _ in range(2)] == [5, 6]


HELD = """
import atexit, threading, time
atexit.register(lambda: print("end"))
import tensorflow as tf
from nmt_prep.training.tensorflow.batching import python_step

begun = threading.Event()

def slow(number):
    if number:
        begun.set()
        time.sleep(0.5)
        print("made", number)
    return number

held = iter(tf.data.Dataset.range(9).map(lambda number: python_step(slow, (number,), tf.int64)).prefetch(1))
print(int(next(held)))
begun.wait()
"""


def test_a_program_that_holds_an_iterator_ends_after_its_python_steps() -> None:
    done = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "0\nmade 1\nend\n"), done.stderr
