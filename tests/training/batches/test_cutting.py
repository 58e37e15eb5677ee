from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.training.batches import vectors
from nmt_prep.training.batches.cutting import (
    WHOLE,
    Batches,
    DivisionPlan,
    PlannedWindow,
    Split,
    WindowPairs,
    batch_sizes,
    cut_window,
    longest_first,
    sizes_of_batches,
    split_batches,
    split_into,
)
from nmt_prep.training.batches.epoch import EpochOrder, SplitIndex
from nmt_prep.training.batches.options import BatchRule, Buckets, fixed_buckets
from tests.conftest import examples
from tests.reference.batching import token_batch_sizes

Lengths = list[tuple[int, int]]


def cut(
    lengths: Lengths, rule: BatchRule, seed: int | None = 1, done: int = 0, rows: list[int] | None = None
) -> Batches:
    """Returns the batches of a window that holds all of the pairs."""
    index = SplitIndex((), (), packed=rows is not None)
    plan = DivisionPlan(EpochOrder(index, seed), rule, pad_to_limits=rule.buckets is not None)
    source, target = np.array(lengths, np.int64).reshape(-1, 2).T
    row_pairs = np.array(rows or [], np.int64)
    take = len(lengths) if rows is None else len(rows)
    window = PlannedWindow(3, np.array([0]), 0, take, done, WHOLE, plan.order.key or 0, np.empty(0, np.int64), 0)
    return cut_window(plan, window, WindowPairs(source, target, None, row_pairs), vectors)


def batches(lengths: Lengths, rule: BatchRule, seed: int | None = 1, done: int = 0) -> list[Lengths]:
    found = cut(lengths, rule, seed, done)
    ordered = [lengths[pair] for pair in found.pairs.tolist()]
    ends = np.cumsum(found.sizes).tolist()
    return [ordered[end - size : end] for end, size in zip(ends, found.sizes.tolist(), strict=True)]


@given(st.lists(st.integers(0, 50), max_size=80), st.integers(1, 300))
def test_batches_are_as_large_as_the_tokens_allow(lengths: list[int], batch_tokens: int) -> None:
    lengths.sort(reverse=True)
    sizes = batch_sizes(np.array(lengths, np.int64), BatchRule(batch_tokens), vectors).tolist()
    assert sizes == token_batch_sizes([max(length, 1) for length in lengths], batch_tokens)


def test_a_pair_longer_than_the_limit_is_a_batch_of_its_own() -> None:
    assert batch_sizes(np.array([9, 4, 4, 2]), BatchRule(8), vectors).tolist() == [1, 2, 1]


def test_batches_of_a_number_of_pairs_end_with_a_smaller_one() -> None:
    longer = np.array([5, 4, 3, 2, 1])
    assert batch_sizes(longer, BatchRule(1, pairs=2), vectors).tolist() == [2, 2, 1]
    assert batch_sizes(longer, BatchRule(1, pairs=2, drop_remainder=True), vectors).tolist() == [2, 2]
    assert batch_sizes(longer[:0], BatchRule(1, pairs=2), vectors).tolist() == []


def test_order_is_by_longer_side_then_difference_alternating_down_and_up() -> None:
    source, target = np.array([3, 1, 4, 4, 5, 2, 3]), np.array([1, 5, 4, 3, 2, 4, 3])
    order = longest_first(source, target, vectors)
    assert list(zip(source[order].tolist(), target[order].tolist(), strict=True)) == [
        (1, 5), (5, 2), (4, 3), (4, 4), (2, 4), (3, 3), (3, 1)
    ]  # fmt: skip


def test_the_seed_decides_the_order_of_equals_and_of_batches() -> None:
    equal = [(1, 1)] * 50
    plain, seeded = (cut(equal, BatchRule(100), seed).pairs.tolist() for seed in (None, 1))
    assert plain == list(range(50))
    assert seeded != plain
    assert sorted(seeded) == plain
    assert seeded == cut(equal, BatchRule(100)).pairs.tolist()

    different = [(length, length) for length in range(1, 21)]
    in_order, shuffled = (cut(different, BatchRule(0, pairs=1), seed).pairs.tolist() for seed in (None, 1))
    assert in_order == list(range(19, -1, -1))
    assert shuffled != in_order
    assert sorted(shuffled, reverse=True) == in_order


def test_too_long_pairs_are_left_out_or_truncated() -> None:
    lengths = [(3, 9), (5, 2), (6, 6)]
    assert batches(lengths, BatchRule(10, max_length=5), None) == [[(5, 2)]]
    truncating = BatchRule(10, max_length=5, too_long="truncate")
    assert batches(lengths, truncating, None) == [[(3, 9), (6, 6)], [(5, 2)]]


def test_pairs_of_a_batch_are_of_one_bucket() -> None:
    lengths = [(3, 3), (9, 8), (4, 4), (2, 5), (10, 2), (1, 1)]
    rule = BatchRule(0, buckets=Buckets((5, 10), (3, 2)))
    assert batches(lengths, rule, None) == [[(3, 3), (4, 4), (2, 5)], [(1, 1)], [(9, 8), (10, 2)]]
    assert cut(lengths, rule, None).widths.tolist() == [5, 5, 10]  # type: ignore[union-attr]


def test_pairs_are_packed_into_rows() -> None:
    lengths = [(5, 5), (3, 4), (5, 2), (6, 6)]
    found = cut(lengths, BatchRule(0, 2, max_length=10, row_length=10), None)
    assert found.pairs.tolist() == [1, 3, 0, 2]
    assert found.row_pairs.tolist() == [2, 2]  # type: ignore[union-attr]
    assert found.sizes.tolist() == [2]


def test_rows_packed_in_records_drop_pairs_that_are_too_long() -> None:
    lengths = [(5, 5), (3, 4), (20, 1), (6, 6)]
    rule = BatchRule(0, 1, max_length=10, row_length=10)
    found = cut(lengths, rule, None, rows=[2, 1, 1])
    assert found.pairs.tolist() == [0, 1, 3]
    assert found.row_pairs.tolist() == [2, 1]  # type: ignore[union-attr]
    assert cut(lengths, rule, None, done=1, rows=[2, 1, 1]).pairs.tolist() == [3]


@settings(max_examples=examples(50))
@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=60),
    st.lists(st.integers(1, 29), max_size=4).map(lambda limits: (*sorted(set(limits)), 30)),
    st.integers(1, 9),
    st.integers(10, 90),
    st.booleans(),
    st.booleans(),
    st.integers(0, 4),
)
def test_number_of_batches_equals_the_count_made_in_advance(
    lengths: Lengths,
    limits: tuple[int, ...],
    pairs: int,
    tokens: int,
    drop_remainder: bool,
    by_count: bool,
    done: int,
) -> None:
    rules = [
        BatchRule(tokens),
        BatchRule(tokens, pairs, drop_remainder=drop_remainder),
        BatchRule(tokens, None, fixed_buckets(limits, tokens, pairs if by_count else None), drop_remainder),
    ]
    for rule in rules:
        expected = len(sizes_of_batches(rule.limited(np.bincount([max(pair) for pair in lengths])), rule))
        whole = batches(lengths, rule)
        assert len(whole) == expected
        assert all(whole)
        assert drop_remainder or sorted(pair for batch in whole for pair in batch) == sorted(lengths)
        assert batches(lengths, rule, done=done) == whole[done:]


def parts(sizes: list[int], split: Split) -> list[list[int]]:
    """Returns the sizes of the parts of each batch."""
    found = split_batches(np.array(sizes, np.int64), split, vectors)
    columns = zip(found.batch.tolist(), found.before.tolist(), found.sizes.tolist(), strict=True)
    of: list[list[int]] = [[] for _ in sizes]
    for batch, before, size in columns:
        assert before == sum(of[batch])
        of[batch].append(size)
    assert found.batch.tolist() == sorted(found.batch.tolist())
    return of


def test_the_last_batches_are_split() -> None:
    assert split_into(np.array([5, 5, 1, 4]), 4) == WHOLE
    assert split_into(np.array([5, 5, 1, 4]), 6) == Split(1, 2)
    assert parts([5, 5, 1, 4], Split(1, 2)) == [[5], [3, 2], [1], [2, 2]]


def test_more_parts_where_two_are_not_enough() -> None:
    assert split_into(np.array([5, 5, 1, 4]), 9) == Split(2, 2)
    assert parts([5, 5, 1, 4], Split(2, 2)) == [[3, 2], [2, 2, 1], [1], [2, 1, 1]]
    assert split_into(np.array([2, 1]), 3) == Split(2, 0)
    assert parts([2, 1], Split(2, 0)) == [[1, 1], [1]]


def test_no_batches() -> None:
    assert split_into(np.empty(0, np.int64), 0) == WHOLE
    assert parts([], WHOLE) == []


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.data())
def test_any_number_of_batches_up_to_that_of_pairs(sizes: list[int], data: st.DataObject) -> None:
    wanted = data.draw(st.integers(len(sizes), sum(sizes)))
    of = parts(sizes, split_into(np.array(sizes), wanted))
    assert sum(map(len, of)) == wanted
    assert [sum(part) for part in of] == sizes
    assert all(max(part) - min(part) <= 1 and part == sorted(part, reverse=True) for part in of)
    uncut = max(len(part) for part in of)
    assert all(len(part) >= min(size, uncut - 1) for part, size in zip(of, sizes, strict=True))
