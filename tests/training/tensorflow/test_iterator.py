from __future__ import annotations

import gc
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.ops import lookup_ops

from nmt_prep.base.errors import NmtPrepError
from nmt_prep.training.tensorflow import windows as shuffled
from nmt_prep.training.tensorflow.batching import BatchedInput
from nmt_prep.training.tensorflow.iterator import Side, get_infer_iterator, get_iterator, spell, split_words
from tests.reference.pair_batches import shuffled as reference_order

pytestmark = pytest.mark.tensorflow

TOKENS = ["a", "b", "c", "eos", "sos"]
FIELDS = ("source", "target_input", "target_output", "source_sequence_length", "target_sequence_length")

# With this global seed TensorFlow 2.21 shuffles upstream's four pairs as TensorFlow 1 did under its test seed.
GLOBAL_SEED = 42

# What tensorflow/nmt's iterator_utils_test.py expects: batches in order, fields as in FIELDS.
PUBLISHED_BASIC = [
    ([[-1, -1, 0], [2, 0, 3]], [[4, 2, 2], [4, 1, 2]], [[2, 2, 3], [1, 2, 3]], [3, 2], [3, 3]),
    ([[2, 2, 0]], [[4, 0, 1]], [[0, 1, 3]], [3], [3]),
]
PUBLISHED_SHARD = PUBLISHED_BASIC[:1]
PUBLISHED_SKIP_3 = [([[-1, -1, 0]], [[4, 2, 2]], [[2, 2, 3]], [3], [3])]
PUBLISHED_SKIP_0 = [
    ([[2, 0, 3], [-1, -1, 0]], [[4, 1, 2], [4, 2, 2]], [[1, 2, 3], [2, 2, 3]], [2, 3], [3, 3]),
    ([[2, 2, 0]], [[4, 0, 1]], [[0, 1, 3]], [3], [3]),
]
PUBLISHED_INFER = [([[2, 2, 0], [2, 0, 3]], [3, 2]), ([[-1, 3, 3], [-1, -1, 0]], [1, 3])]

BASIC_LINES = ["f e a g", "c c a", "d", "c a"], ["c c", "a b", "", "b c"]
SHARD_LINES = ["c c a", "f e a g", "d", "c a"], ["a b", "c c", "", "b c"]
SKIP_LINES = ["c a", "c c a", "d", "f e a g"], ["b c", "a b", "", "c c"]
PUBLISHED = [
    (BASIC_LINES, {}, PUBLISHED_BASIC),
    (SHARD_LINES, {"num_shards": 2, "shard_index": 1}, PUBLISHED_SHARD),
    (SKIP_LINES, {"skip_count": 3}, PUBLISHED_SKIP_3),
    (SKIP_LINES, {"skip_count": 0}, PUBLISHED_SKIP_0),
]
INFER_LINES = ["c c a", "c a", "d", "f e a g"]


def table() -> Any:
    initializer = tf.lookup.KeyValueTensorInitializer(TOKENS, tf.range(len(TOKENS), dtype=tf.int64))
    return tf.lookup.StaticHashTable(initializer, default_value=-1)


def lines(values: list[str]) -> Any:
    return tf.data.Dataset.from_tensor_slices(tf.constant(values, tf.string))


def published(texts: tuple[list[str], list[str]], vocabulary: Any = None, **options: Any) -> Any:
    source, target = texts
    vocabulary = vocabulary or table()
    return get_iterator(
        src_dataset=lines(source),
        tgt_dataset=lines(target),
        src_vocab_table=vocabulary,
        tgt_vocab_table=vocabulary,
        batch_size=2,
        sos="sos",
        eos="eos",
        random_seed=3,
        num_buckets=5,
        src_max_len=3,
        **options,
    )


def literal(batch: BatchedInput) -> tuple[Any, ...]:
    return tuple(getattr(batch, field).numpy().tolist() for field in FIELDS)


class TestPublishedExpectationsInTensorFlow2:
    @pytest.fixture(autouse=True)
    def _seed(self) -> None:
        tf.random.set_seed(GLOBAL_SEED)

    @pytest.mark.parametrize(("texts", "options", "expected"), PUBLISHED)
    def test_training(self, texts: Any, options: dict[str, int], expected: Any) -> None:
        assert [literal(batch) for batch in published(texts, **options)] == expected

    def test_infer(self) -> None:
        batches = list(get_infer_iterator(lines(INFER_LINES), table(), 2, "eos", src_max_len=3))
        found = [(b.source.numpy().tolist(), b.source_sequence_length.numpy().tolist()) for b in batches]
        assert found == PUBLISHED_INFER
        assert all(b.target_input is b.target_output is b.target_sequence_length is None for b in batches)


class TestPublishedExpectationsInATensorFlow1Graph:
    """The calls are those of upstream's tests: initialise tables, initialise the iterator, run until the end."""

    @staticmethod
    def drain(session: Any, iterator: BatchedInput, fed: Any = None, fields: tuple[str, ...] = FIELDS) -> list[Any]:
        session.run(tf.compat.v1.tables_initializer())
        session.run(iterator.initializer, fed)
        fetched = [getattr(iterator, field) for field in fields]
        batches: list[Any] = []

        def run_for_ever() -> None:
            while True:
                batches.append(tuple(value.tolist() for value in session.run(fetched)))

        with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
            run_for_ever()
        return batches

    @pytest.mark.parametrize(("texts", "options", "expected"), PUBLISHED[:2])
    def test_training(self, texts: Any, options: dict[str, int], expected: Any) -> None:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            tf.compat.v1.set_random_seed(GLOBAL_SEED)
            iterator = published(texts, lookup_ops.index_table_from_tensor(tf.constant(TOKENS)), **options)
            shapes = [getattr(iterator, field).shape.as_list() for field in FIELDS]
            assert shapes == [[None, None]] * 3 + [[None]] * 2
            assert self.drain(session, iterator) == expected

    def test_skip_count_is_fed_at_initialisation(self) -> None:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            tf.compat.v1.set_random_seed(GLOBAL_SEED)
            skip_count = tf.compat.v1.placeholder(shape=(), dtype=tf.int64)
            iterator = published(SKIP_LINES, skip_count=skip_count)
            assert self.drain(session, iterator, {skip_count: 3}) == PUBLISHED_SKIP_3
            assert self.drain(session, iterator, {skip_count: 0}) == PUBLISHED_SKIP_0

    def test_infer_with_fed_batch_size_and_lines(self) -> None:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            batch_size = tf.compat.v1.placeholder(shape=(), dtype=tf.int64)
            fed = tf.compat.v1.placeholder(shape=(None,), dtype=tf.string)
            dataset = tf.data.Dataset.from_tensor_slices(fed)
            vocabulary = lookup_ops.index_table_from_tensor(tf.constant(TOKENS))
            iterator = get_infer_iterator(
                src_dataset=dataset, src_vocab_table=vocabulary, batch_size=batch_size, eos="eos", src_max_len=3
            )
            assert iterator.source.shape.as_list() == [None, None]
            assert iterator.source_sequence_length.shape.as_list() == [None]
            assert iterator.target_input is None
            values, fields = {batch_size: 2, fed: INFER_LINES}, ("source", "source_sequence_length")
            assert self.drain(session, iterator, values, fields) == PUBLISHED_INFER
            with pytest.raises(tf.errors.InvalidArgumentError, match="batch_size must be at least 1"):
                session.run(iterator.initializer, feed_dict={batch_size: 0, fed: INFER_LINES})

    def test_characters(self) -> None:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            texts = ["a b", "é"], ["a a", "b c"]
            iterator = published(texts, use_char_encode=True)
            ((source, *_, source_lengths, target_lengths),) = self.drain(session, iterator)
            a, b = ([259, ord(letter) + 1, 260] + [261] * 47 for letter in "ab")
            assert sorted(source) == sorted([a + b, [259, 0xC4, 0xAA, 260] + [261] * 46 + [257] * 50])
            assert (sorted(source_lengths), sorted(target_lengths)) == ([1, 2], [3, 3])


def test_elements_have_upstreams_shapes_and_types() -> None:
    matrix, vector = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)
    spec = published(BASIC_LINES).element_spec
    assert tuple(spec)[1:] == (matrix, matrix, matrix, vector, vector)
    assert spec._fields[0] == "initializer"
    infer = get_infer_iterator(lines(INFER_LINES), table(), 2, "eos").element_spec
    assert (infer.source, infer.source_sequence_length) == (matrix, vector)


def test_no_remaining_pair_gives_no_batch() -> None:
    assert list(published((["", " ", "a"], ["a", "b", "  "]))) == []


def test_works_inside_tf_function() -> None:
    tf.random.set_seed(1)
    dataset = published(BASIC_LINES)

    @tf.function
    def tokens() -> Any:
        total = 0
        for batch in dataset:
            total += tf.reduce_sum(batch.target_sequence_length)
        return total

    assert int(tokens()) == 9


def test_works_under_a_distribution_strategy() -> None:
    tf.random.set_seed(1)
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    distributed = strategy.experimental_distribute_dataset(published(BASIC_LINES))
    sums = [int(strategy.run(lambda b: tf.reduce_sum(b.source_sequence_length), (b,))) for b in distributed]
    assert sums == [5, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0; it must be at least 1"),
        ({"batch_size": tf.constant(0)}, "batch_size is 0; it must be at least 1"),
        ({"batch_size": tf.constant(1.5)}, "batch_size is 1.5; it must be a whole number"),
        ({"src_max_len": -1}, "src_max_len is -1; it must be at least 1"),
        ({"num_parallel_calls": 0}, "num_parallel_calls is 0; it must be at least 1"),
        ({"num_shards": 0}, "num_shards is 0; it must be at least 1"),
        ({"output_buffer_size": -1}, "output_buffer_size is -1; it must be at least 1"),
        ({"num_shards": 2, "shard_index": 2}, "shard_index is 2, with num_shards 2 it must be from 0 to 1"),
        ({"shard_index": -1}, "shard_index is -1, with num_shards 1 it must be from 0 to 0"),
    ],
)
def test_numbers_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"batch_size": 2, "random_seed": 1, "num_buckets": 2, **options}
    with pytest.raises(NmtPrepError, match=message) as caught:
        get_iterator(lines(["a"]), lines(["a"]), table(), table(), sos="sos", eos="eos", **arguments)
    assert isinstance(caught.value, ValueError)


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
