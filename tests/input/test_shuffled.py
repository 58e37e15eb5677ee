"""Shuffled batches: their random numbers, and what an iteration holds."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import tensorflow as tf

from nmt_prep.input import shuffled
from nmt_prep.input.iterator import get_iterator
from tests.reference.pair_batches import shuffled as reference_order

pytestmark = pytest.mark.tensorflow


@pytest.mark.parametrize("reshuffle", [False, True])
@pytest.mark.parametrize(("seed", "count", "buffer_size"), [(3, 40, 7), (None, 40, 40), (0, 12, 100), (5, 9, 1)])
def test_random_numbers_are_those_of_the_shuffle(
    *, reshuffle: bool, seed: int | None, count: int, buffer_size: int
) -> None:
    tf.random.set_seed(11)
    expected = tf.data.Dataset.range(count).shuffle(buffer_size, seed, reshuffle)
    tf.random.set_seed(11)
    random = shuffled.random_numbers(seed, reshuffle).take(count)
    for _ in range(3):
        order = reference_order(count, buffer_size, list(random.as_numpy_iterator()))
        assert list(order) == list(expected.as_numpy_iterator())


def test_an_iteration_that_ends_early_holds_nothing_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    class Noted(shuffled._Iterations):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr(shuffled, "_Iterations", Noted)
    monkeypatch.setattr(shuffled, "_PAIRS_PER_BLOCK", 1)
    initializer = tf.lookup.KeyValueTensorInitializer(["a", "s", "e"], tf.range(3))
    table = tf.lookup.StaticHashTable(initializer, -1)
    texts = [tf.data.Dataset.from_tensor_slices(["a"] * 500)] * 2
    batches = get_iterator(*texts, table, table, 2, "s", "e", 3, 1, output_buffer_size=20)
    assert [len(one._open) for one in made] == [0]
    first, second = iter(batches), iter(batches)
    next(first)
    next(second)
    assert [len(one._open) for one in made] == [2]
    del first
    gc.collect()
    assert [len(one._open) for one in made] == [1]
    assert len(list(second)) == 249
    del second
    gc.collect()
    assert [len(one._open) for one in made] == [0]
