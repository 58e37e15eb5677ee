"""Decisions and histograms from the values of a rule."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.cleaning.rejects import histogram, judge
from nmt_prep.cleaning.rule import Bounds
from tests.reference import cleaning as reference

NUMBERS = st.one_of(st.floats(), st.integers(-3, 300).map(float), st.just(math.nan))


def test_all_columns_must_be_within_their_bounds() -> None:
    values = np.array([[1.0, 2.0, 3.0, math.nan, 2.0], [5.0, 5.0, 5.0, 5.0, math.inf]])
    assert judge(values, [Bounds(1, 2), Bounds()]).tolist() == [True, True, False, False, True]
    assert judge(values, [Bounds(low=1, above=True), Bounds(high=9)]).tolist() == [False, True, True, False, False]
    assert judge(values, [Bounds(high=2, below=True), Bounds()]).tolist() == [True, False, False, False, False]


def test_histogram_of_dropped_and_kept_pairs() -> None:
    values = np.array([[-5.0, 0.0, 0.5, 1.0, 2.0, 9.0, math.nan, math.inf]])
    kept = np.array([True, True, False, True, True, False, True, True])
    assert histogram(values, (0, 1, 2), kept).tolist() == [[[1, 1], [2, 3]]]


def test_histogram_of_each_column() -> None:
    counts = histogram(np.array([[0.0, 3.0], [1.0, 1.0]]), (0, 1, 2), np.array([True, False]))
    assert counts.tolist() == [[[0, 1], [1, 0]], [[0, 1], [0, 1]]]


@pytest.mark.parametrize("edges", [(0,), (0, 0), (1, 0), (0, math.nan)])
def test_edges_must_ascend(edges: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="edges"):
        histogram(np.zeros((1, 1)), edges, np.array([True]))


def test_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match="bounds for each column"):
        judge(np.zeros((2, 1)), [Bounds()])
    with pytest.raises(ValueError, match="flag for each pair"):
        histogram(np.zeros((1, 2)), (0, 1), np.array([True]))


def passes(bounds: Bounds, value: float) -> bool:
    if math.isnan(value):
        return bounds == Bounds()
    above = value > bounds.low if bounds.above else value >= bounds.low
    return above and (value < bounds.high if bounds.below else value <= bounds.high)


@given(
    st.lists(NUMBERS, max_size=20),
    st.builds(Bounds, st.floats(allow_nan=False), st.floats(allow_nan=False), st.booleans(), st.booleans()),
)
def test_decisions_are_those_of_bounds(numbers: list[float], bounds: Bounds) -> None:
    assert judge(np.array([numbers]), [bounds]).tolist() == [passes(bounds, number) for number in numbers]


@given(
    st.lists(st.tuples(NUMBERS, st.booleans()), max_size=40), st.lists(st.integers(-2, 300), min_size=2, unique=True)
)
def test_bins(batch: list[tuple[float, bool]], edges: list[int]) -> None:
    edges.sort()
    expected = np.zeros((2, len(edges) - 1), np.int64)
    for number, kept in batch:
        if not math.isnan(number):
            expected[int(kept), reference.bin_of(number, edges)] += 1
    values = np.array([[number for number, _ in batch]], np.float64)
    counts = histogram(values, edges, np.array([kept for _, kept in batch], np.bool_))
    assert counts.tolist() == [expected.tolist()]
