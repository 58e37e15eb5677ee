from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.training.batches import vectors

RANDOM = [7464880146280614444, 1591045637757961278, -1057468755545501549]
INT64 = st.integers(-(2**63), 2**63 - 1)


def test_random_numbers_are_fixed() -> None:
    assert vectors.random(1, 2, 3).tolist() == RANDOM
    assert vectors.random(1, 2, 2).tolist() == RANDOM[:2]
    assert vectors.random(1, 2, 0).tolist() == []
    assert vectors.random(-1, 2, 3).tolist() != RANDOM != vectors.random(1, 3, 3).tolist()


@given(st.lists(INT64 | st.integers(0, 3) | st.integers(-70_000, 70_000)))
def test_sorting_keeps_the_order_of_equals(values: list[int]) -> None:
    assert vectors.argsort(np.array(values, np.int64)).tolist() == sorted(range(len(values)), key=values.__getitem__)


@given(st.permutations(range(20)))
def test_inverse_of_a_permutation(permutation: list[int]) -> None:
    order = np.array(permutation)
    assert order[vectors.inverse(order)].tolist() == list(range(20))


def test_ranges_are_concatenated() -> None:
    assert vectors.spans(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]
    assert vectors.spans(np.array([], np.int64), np.array([], np.int64)).tolist() == []


def test_the_last_jump_is_clipped_at_the_end() -> None:
    assert vectors.jumps(np.array([2, 9, 1, 5, 5])).tolist() == [2, 1, 2]
    assert vectors.jumps(np.array([], np.int64)).tolist() == []


def test_rows_are_numbered_without_gaps() -> None:
    packed = vectors.pack_rows(np.array([5, 3, 5, 6]), np.array([5, 4, 2, 6]), 10)
    assert packed.pairs.tolist() == [1, 3, 0, 2]
    assert packed.sizes.tolist() == [2, 2]
