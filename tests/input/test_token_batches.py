from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.input.batching import packed_column
from nmt_prep.input.token_batches import batch_sizes, cut_window, longest_first
from nmt_prep.records.batch_rules import BatchRule, Buckets, fixed_buckets
from tests.reference.batching import token_batch_sizes

pytestmark = pytest.mark.tensorflow

SEED = tf.constant([1, 2], tf.int64)


def column(lengths: list[int]) -> Any:
    return packed_column(tf.range(sum(lengths)), tf.constant(lengths, tf.int64))


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), max_size=80), st.integers(1, 300))
def test_batches_are_as_large_as_the_tokens_allow(lengths: list[int], batch_tokens: int) -> None:
    lengths.sort(reverse=True)
    sizes = batch_sizes(tf.constant(lengths, tf.int64), BatchRule(batch_tokens)).numpy().tolist()
    assert sizes == token_batch_sizes([max(length, 1) for length in lengths], batch_tokens)


def test_a_pair_longer_than_the_limit_is_a_batch_of_its_own() -> None:
    assert batch_sizes(tf.constant([9, 4, 4, 2], tf.int64), BatchRule(8)).numpy().tolist() == [1, 2, 1]


def test_batches_of_a_number_of_pairs_end_with_a_smaller_one() -> None:
    longer = tf.constant([5, 4, 3, 2, 1], tf.int64)
    assert batch_sizes(longer, BatchRule(1, pairs=2)).numpy().tolist() == [2, 2, 1]
    assert batch_sizes(longer[:0], BatchRule(1, pairs=2)).numpy().tolist() == []


def test_order_is_by_the_longer_side_then_the_difference_in_turns_down_and_up() -> None:
    source, target = column([3, 1, 4, 4, 5, 2, 3]), column([1, 5, 4, 3, 2, 4, 3])
    order = longest_first(source, target, None).numpy().tolist()
    pairs = [(int(source.lengths[row]), int(target.lengths[row])) for row in order]
    assert pairs == [(1, 5), (5, 2), (4, 3), (4, 4), (2, 4), (3, 3), (3, 1)]


def test_the_seed_decides_the_order_of_equals_and_of_batches() -> None:
    source = target = column([1] * 50)
    plain, seeded = (longest_first(source, target, seed).numpy().tolist() for seed in (None, SEED))
    assert plain == list(range(50))
    assert seeded != plain
    assert sorted(seeded) == plain
    assert seeded == longest_first(source, target, SEED).numpy().tolist()

    lengths = column(list(range(1, 21)))
    in_order = cut_window(lengths, lengths, BatchRule(0, pairs=1), None).source.lengths.numpy().tolist()
    shuffled = cut_window(lengths, lengths, BatchRule(0, pairs=1), SEED).source.lengths.numpy().tolist()
    assert in_order == list(range(20, 0, -1))
    assert shuffled != in_order
    assert sorted(shuffled, reverse=True) == in_order


LENGTHS = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=60)
BUCKETS = st.lists(st.integers(1, 29), max_size=4).map(lambda limits: (*sorted(set(limits)), 30))


@settings(max_examples=12, deadline=None)
@given(LENGTHS, BUCKETS, st.integers(1, 9), st.integers(10, 90), st.booleans(), st.booleans(), st.integers(0, 4))
def test_batches_are_those_that_are_counted_beforehand(
    lengths: list[tuple[int, int]],
    limits: tuple[int, ...],
    pairs: int,
    tokens: int,
    drop_remainder: bool,
    by_count: bool,
    done: int,
) -> None:
    source, target = (column([pair[side] for pair in lengths]) for side in (0, 1))
    rules = [
        BatchRule(tokens),
        BatchRule(tokens, pairs, drop_remainder=drop_remainder),
        BatchRule(tokens, None, fixed_buckets(limits, tokens, pairs if by_count else None), drop_remainder),
    ]
    for rule in rules:
        expected = rule.count(rule.admitted(np.array([max(pair) for pair in lengths], np.int64)))
        sizes = cut_window(source, target, rule, SEED).sizes.numpy().tolist()
        assert len(sizes) == expected
        assert all(sizes)
        assert drop_remainder or sum(sizes) == len(lengths)
        assert cut_window(source, target, rule, SEED, done).sizes.numpy().tolist() == sizes[done:]


def test_a_batch_is_of_one_bucket() -> None:
    source, target = column([3, 9, 4, 2, 10, 1]), column([3, 8, 4, 5, 2, 1])
    cut = cut_window(source, target, BatchRule(0, buckets=Buckets((5, 10), (3, 2))), None)
    assert cut.sizes.numpy().tolist() == [3, 1, 2]
    assert cut.limits.numpy().tolist() == [5, 5, 10]
    assert cut.source.lengths.numpy().tolist() == [3, 4, 2, 1, 9, 10]
