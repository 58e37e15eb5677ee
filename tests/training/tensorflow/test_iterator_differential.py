"""get_iterator and get_infer_iterator against the reference, on random corpora and parameters."""

from __future__ import annotations

import random
from typing import Any

import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt_prep.training.tensorflow.iterator import get_infer_iterator, get_iterator
from tests.reference.nmt_iterator import reference_infer_iterator, reference_iterator

pytestmark = pytest.mark.tensorflow

WORDS = ["a", "b", "cc", "日本", "é", "▁x", "unknown", "x" * 70, "\t", "\u3000"]


def examples(number: int) -> settings:
    return settings(max_examples=number, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def table(words: list[str], default: int) -> Any:
    initializer = tf.lookup.KeyValueTensorInitializer(words, tf.range(len(words), dtype=tf.int64))
    return tf.lookup.StaticHashTable(initializer, default)


def corpus(seed: int, pairs: int, longest: int) -> tuple[Any, Any]:
    draw = random.Random(seed)

    def line() -> str:
        words = [draw.choice(WORDS) for _ in range(draw.randint(0, draw.choice([3, longest])))]
        return draw.choice(["", " "]) + draw.choice([" ", "  "]).join(words) + draw.choice(["", " "])

    sides = [[line() for _ in range(pairs)] for _ in range(2)]
    source, target = (tf.data.Dataset.from_tensor_slices(tf.constant(side, tf.string)) for side in sides)
    return source, target


def same(found: Any, expected: Any, fields: list[str]) -> None:
    found, expected = list(found), list(expected)
    assert len(found) == len(expected)
    for batch, reference in zip(found, expected, strict=True):
        for field, tensor in zip(fields, reference, strict=True):
            assert getattr(batch, field).dtype == tensor.dtype == tf.int32
            assert getattr(batch, field).numpy().tolist() == tensor.numpy().tolist(), field


def compare_training(texts: tuple[Any, Any], epochs: int = 1, **options: Any) -> None:
    source = table(["<unk>", "<s>", "</s>", "a", "b", "cc", "日本"], 0)
    target = table(["</s>", "é", "▁x", "a", "<s>"], -1)
    datasets = []
    for function in (get_iterator, reference_iterator):
        tf.random.set_seed(7)
        datasets.append(function(*texts, source, target, sos="<s>", eos="</s>", **options))
    fields = ["source", "target_input", "target_output", "source_sequence_length", "target_sequence_length"]
    for _ in range(epochs):
        same(*datasets, fields)


def check_drawn_training(data: st.DataObject) -> None:
    def drawn(name: str, strategy: st.SearchStrategy[Any]) -> Any:
        return data.draw(strategy, name)

    num_shards = drawn("num_shards", st.integers(1, 3))
    texts = corpus(
        seed=drawn("corpus", st.integers(0, 2**32)),
        pairs=drawn("pairs", st.integers(0, 90)),
        longest=drawn("longest", st.integers(1, 60)),
    )
    compare_training(
        texts,
        batch_size=drawn("batch_size", st.integers(1, 9)),
        random_seed=drawn("random_seed", st.integers(0, 2**31)),
        num_buckets=drawn("num_buckets", st.integers(0, 7)),
        src_max_len=drawn("src_max_len", st.none() | st.integers(0, 40)),
        tgt_max_len=drawn("tgt_max_len", st.none() | st.integers(0, 40)),
        num_parallel_calls=drawn("num_parallel_calls", st.sampled_from([1, 4, tf.data.AUTOTUNE])),
        output_buffer_size=drawn("output_buffer_size", st.none() | st.integers(1, 50)),
        skip_count=drawn("skip_count", st.none() | st.integers(0, 20)),
        num_shards=num_shards,
        shard_index=drawn("shard_index", st.integers(0, num_shards - 1)),
        use_char_encode=drawn("use_char_encode", st.booleans()),
    )


@examples(3)
@given(st.data())
def test_training_batches(data: st.DataObject) -> None:
    check_drawn_training(data)


@pytest.mark.slow
@examples(60)
@given(st.data())
def test_training_batches_of_more_examples(data: st.DataObject) -> None:
    check_drawn_training(data)


@pytest.mark.parametrize(("num_buckets", "reshuffle"), [(5, False), (1, True)])
def test_training_batches_of_many_blocks(monkeypatch: pytest.MonkeyPatch, num_buckets: int, *, reshuffle: bool) -> None:
    monkeypatch.setattr("nmt_prep.training.tensorflow.windows._PAIRS_PER_BLOCK", 1)
    texts, options = corpus(1, pairs=100, longest=40), {"num_buckets": num_buckets, "output_buffer_size": 40}
    compare_training(texts, 2, batch_size=3, random_seed=3, reshuffle_each_iteration=reshuffle, **options)


@pytest.mark.parametrize(("source", "target"), [(9, 21), (21, 8)])
def test_training_batches_of_sides_with_unequal_numbers_of_lines(
    monkeypatch: pytest.MonkeyPatch, source: int, target: int
) -> None:
    monkeypatch.setattr("nmt_prep.training.tensorflow.windows._PAIRS_PER_BLOCK", 4)
    sources, targets = corpus(1, pairs=21, longest=9)
    compare_training((sources.take(source), targets.take(target)), batch_size=2, random_seed=3, num_buckets=3)


@examples(3)
@given(
    seed=st.integers(0, 2**32),
    pairs=st.integers(0, 40),
    batch_size=st.integers(1, 9),
    src_max_len=st.none() | st.integers(0, 20),
    use_char_encode=st.booleans(),
)
def test_inference_batches(
    seed: int, pairs: int, batch_size: int, src_max_len: int | None, *, use_char_encode: bool
) -> None:
    lines, _ = corpus(seed, pairs, longest=30)
    arguments: Any = lines, table(["</s>", "a", "cc"], -1), batch_size, "</s>", src_max_len, use_char_encode
    same(get_infer_iterator(*arguments), reference_infer_iterator(*arguments), ["source", "source_sequence_length"])
