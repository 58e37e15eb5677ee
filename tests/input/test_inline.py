from __future__ import annotations

import pytest
import tensorflow as tf

from nmt_prep.input.inline import map_inline

pytestmark = pytest.mark.tensorflow


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
