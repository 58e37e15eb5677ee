from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.training.batches.cutting import sizes_of_batches
from nmt_prep.training.batches.options import BatchRule, best_limits, fixed_buckets, t2t_buckets
from tests.conftest import examples

HISTOGRAMS = st.dictionaries(st.integers(1, 40), st.integers(1, 9), min_size=1, max_size=8).map(
    lambda counts: sorted(counts.items())
)


def padding(histogram: list[tuple[int, int]], limits: tuple[int, ...]) -> int:
    return sum(count * (min(limit for limit in limits if limit >= length) - length) for length, count in histogram)


@given(HISTOGRAMS, st.integers(1, 5))
def test_limits_give_the_least_padding(histogram: list[tuple[int, int]], buckets: int) -> None:
    lengths = [length for length, _ in histogram]
    others = [
        (*chosen, lengths[-1])
        for size in range(min(buckets, len(lengths)))
        for chosen in combinations(lengths[:-1], size)
    ]
    limits = best_limits(histogram, buckets)
    assert len(limits) <= buckets
    assert padding(histogram, limits) == min(padding(histogram, choice) for choice in others)


def test_limits_for_a_small_histogram() -> None:
    histogram = [(2, 10), (3, 1), (9, 4), (10, 4), (50, 1)]
    assert best_limits(histogram, 1) == (50,)
    assert best_limits(histogram, 2) == (10, 50)
    assert best_limits(histogram, 3) == (2, 10, 50)
    assert best_limits(histogram, 99) == (2, 3, 9, 10, 50)
    assert best_limits([], 3) == ()


def test_limits_for_many_lengths() -> None:
    histogram = [(length, 1) for length in range(1, 20_001)]
    limits = best_limits(histogram, 20)
    assert len(limits) == 20
    assert limits[-1] == 20_000
    assert padding(histogram, limits) < 1.02 * padding(histogram, tuple(range(1000, 20_001, 1000)))


def test_tensor2tensors_scheme() -> None:
    # data_reader.batching_scheme(4096, 20, 8, 1.1) of tensor2tensor 1.15.7, whose boundaries are our limits plus one.
    buckets = t2t_buckets(20, 4096)
    assert buckets.limits == (7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20)
    assert buckets.capacities == (420, 420, 315, 315, 315, 315, 252, 252, 252, 210, 210, 210, 180)


@settings(max_examples=examples(50))
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=20), st.sampled_from(["drop", "truncate"]))
def test_too_long_pairs_are_left_out_or_truncated(pairs: list[tuple[int, int]], too_long: str) -> None:
    rule = BatchRule(10, max_length=5, too_long=too_long)  # type: ignore[arg-type]
    lengths, copies = (np.array([pair[part] for pair in pairs], np.int64) for part in (0, 1))
    histogram = rule.limited(np.bincount(lengths, copies).astype(np.int64))
    kept = [min(length, 5) for length, count in pairs for _ in range(count) if too_long == "truncate" or length <= 5]
    assert histogram.sum() == len(kept)
    assert (histogram * np.arange(len(histogram))).sum() == sum(kept)


def test_capacities() -> None:
    assert fixed_buckets([100, 8], 64).capacities == (8, 1)
    assert fixed_buckets([8, 100], 64, 5).capacities == (5, 5)


@pytest.mark.parametrize(("drop_remainder", "batches"), [(False, 4), (True, 2)])
def test_remainder_is_dropped_if_asked(batches: int, *, drop_remainder: bool) -> None:
    rule = BatchRule(0, buckets=fixed_buckets([4, 8], 16), drop_remainder=drop_remainder)
    assert len(sizes_of_batches(np.bincount([1, 2, 3, 4, 4, 5, 6, 7]), rule)) == batches
