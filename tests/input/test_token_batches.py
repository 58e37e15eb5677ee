from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.input.batching import packed_column
from nmt_prep.input.token_batches import BatchLimit, batch_sizes, in_batches, longest_first
from tests.reference.batching import token_batch_sizes

pytestmark = pytest.mark.tensorflow

SEED = tf.constant([1, 2], tf.int64)


def column(lengths: list[int]) -> Any:
    return packed_column(tf.range(sum(lengths)), tf.constant(lengths, tf.int64))


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), max_size=80), st.integers(1, 300))
def test_batches_are_as_large_as_the_tokens_allow(lengths: list[int], batch_tokens: int) -> None:
    lengths.sort(reverse=True)
    sizes = batch_sizes(tf.constant(lengths, tf.int64), BatchLimit(batch_tokens)).numpy().tolist()
    assert sizes == token_batch_sizes([max(length, 1) for length in lengths], batch_tokens)


def test_a_pair_longer_than_the_limit_is_a_batch_of_its_own() -> None:
    assert batch_sizes(tf.constant([9, 4, 4, 2], tf.int64), BatchLimit(8)).numpy().tolist() == [1, 2, 1]


def test_batches_of_a_number_of_pairs_end_with_a_smaller_one() -> None:
    longer = tf.constant([5, 4, 3, 2, 1], tf.int64)
    assert batch_sizes(longer, BatchLimit(1, pairs=2)).numpy().tolist() == [2, 2, 1]
    assert batch_sizes(longer[:0], BatchLimit(1, pairs=2)).numpy().tolist() == []


def test_order_is_by_the_longer_side_then_the_source_in_turns_down_and_up() -> None:
    source, target = column([3, 1, 4, 4, 5, 2, 3]), column([1, 5, 4, 3, 2, 4, 3])
    order = longest_first(source, target, None).numpy().tolist()
    pairs = [(int(source.lengths[row]), int(target.lengths[row])) for row in order]
    assert pairs == [(1, 5), (5, 2), (4, 4), (4, 3), (2, 4), (3, 1), (3, 3)]


def test_the_seed_decides_the_order_of_equals_and_of_batches() -> None:
    source = target = column([1] * 50)
    plain, seeded = (longest_first(source, target, seed).numpy().tolist() for seed in (None, SEED))
    assert plain == list(range(50))
    assert seeded != plain
    assert sorted(seeded) == plain
    assert seeded == longest_first(source, target, SEED).numpy().tolist()

    lengths = column(list(range(1, 21)))
    in_order = in_batches(lengths, lengths, BatchLimit(0, pairs=1), None)[0].lengths.numpy().tolist()
    shuffled = in_batches(lengths, lengths, BatchLimit(0, pairs=1), SEED)[0].lengths.numpy().tolist()
    assert in_order == list(range(20, 0, -1))
    assert shuffled != in_order
    assert sorted(shuffled, reverse=True) == in_order
