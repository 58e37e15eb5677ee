from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.reporting.profile import (
    LENGTH_EDGES,
    RATIO_EDGES,
    joint_counts,
    length_bins,
    length_counts,
    ratio_counts,
)
from tests.reference import report as twin

lengths = st.lists(st.one_of(st.integers(0, 100), st.integers(0, 3_000_000)), max_size=50)


def test_edges() -> None:
    assert LENGTH_EDGES[:14] == (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24)
    assert (LENGTH_EDGES[-1], len(LENGTH_EDGES)) == (1_835_008, 79)
    assert (RATIO_EDGES[3], RATIO_EDGES[15], RATIO_EDGES[19], len(RATIO_EDGES)) == (0.125, 1.0, 2.0, 31)


@given(lengths)
def test_length_bins(values: list[int]) -> None:
    assert length_bins(np.array(values, np.int64)).tolist() == [twin.length_bin(value) for value in values]


def test_histogram_of_lengths() -> None:
    assert length_counts({1: 4, 3: 2, 9: 5, 8: 1}) == [4, 0, 2, 0, 0, 0, 0, 6]
    assert length_counts({}) == []


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=40))
def test_pairs_of_lengths(pairs: list[tuple[int, int]]) -> None:
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    assert ratio_counts(source, target) == twin.ratio_histogram(pairs)
    assert [list(cell) for cell in joint_counts(source, target)] == twin.cells(pairs)


def test_ratios_at_the_bounds() -> None:
    counts = ratio_counts(np.array([4, 4, 4, 0, 4]), np.array([4, 8, 3, 5, 0]))
    assert {place: count for place, count in enumerate(counts) if count} == {14: 1, 16: 1, 20: 1}
