"""Parts of get_iterator: words of lines, and shuffled batches."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import tensorflow as tf

from nmt_prep.training.tensorflow import windows as shuffled
from nmt_prep.training.tensorflow.iterator import Side, get_iterator, spell, split_words
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
    texts = [tf.data.Dataset.from_tensor_slices(["a"] * 60)] * 2
    batches = get_iterator(*texts, table, table, 2, "s", "e", 3, 1, output_buffer_size=20)
    assert [len(one._open) for one in made] == [0]
    first, second = iter(batches), iter(batches)
    next(first)
    next(second)
    assert [len(one._open) for one in made] == [2]
    del first
    gc.collect()
    assert [len(one._open) for one in made] == [1]
    assert len(list(second)) == 29
    del second
    gc.collect()
    assert [len(one._open) for one in made] == [0]


def test_words_are_what_spaces_separate() -> None:
    words = split_words(tf.constant([b" b  a\r b", b"", b"a\tb\xff", b"  ", b"\x00 b\x00\x00"]))
    assert words.distinct.numpy().tolist() == [b"b", b"a\r", b"a\tb\xff", b"\x00", b"b\x00\x00"]
    assert words.numbers.numpy().tolist() == [0, 1, 0, 2, 3, 4]
    assert words.lengths.numpy().tolist() == [3, 0, 1, 0, 2]


@pytest.mark.parametrize(("longest", "lengths"), [(None, [3, 1]), (0, [3, 1]), (2, [2, 1]), (1, [1, 1])])
def test_the_rest_of_a_long_line_is_left_out(longest: int | None, lengths: list[int]) -> None:
    words = split_words(tf.constant(["a b c", "c"]), longest)
    assert words.lengths.numpy().tolist() == lengths
    assert words.distinct.numpy()[words.numbers.numpy()[-1]] == b"c"


def test_lines_without_words() -> None:
    words = split_words(tf.constant(["", " "]))
    assert [part.numpy().tolist() for part in words] == [[], [], [0, 0]]
    assert spell(words.distinct).shape.as_list() == [0, 50]


def test_a_word_is_cut_to_48_bytes() -> None:
    short, long = spell(tf.constant(["é", "a" * 49])).numpy().tolist()
    assert short == [259, 0xC3 + 1, 0xA9 + 1, 260, *[261] * 46]
    assert long == [259, *[98] * 48, 260]


def test_each_occurrence_of_a_word_gets_its_ids() -> None:
    initializer = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([5, 6], tf.int64))
    table = tf.lookup.StaticHashTable(initializer, -1)
    ids, lengths = Side(table, 3).encode(tf.constant(["b a b a", "", "c a"]))
    assert (ids.numpy().tolist(), lengths.numpy().tolist()) == ([6, 5, 6, -1, 5], [3, 0, 2])
    ids, lengths = Side(table, 1, characters=True).encode(tf.constant(["b a", "a"]))
    assert (ids.numpy()[[1, 51]].tolist(), lengths.numpy().tolist()) == ([99, 98], [1, 1])
