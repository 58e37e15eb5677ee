"""The global shuffle: a bijection with fixed values and no trace of the input's order, equal to its twin; the plan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.training.records.shuffle_plan import GlobalShuffle, ShardPlan, shard_name
from tests.reference import shuffle as reference

SIZES = [10, 100, 1_000, 30_000]


def order(rows: int, seed: int = 1, split: str = "train") -> np.ndarray:
    return GlobalShuffle(rows, seed, split).positions(0, rows)


def test_every_small_size_is_a_bijection_with_its_inverse() -> None:
    for rows in range(2_001):
        shuffle = GlobalShuffle(rows, 7, "train")
        positions = shuffle.positions(0, rows)
        assert np.array_equal(np.sort(positions), np.arange(rows))
        assert np.array_equal(shuffle.rows_at(positions), np.arange(rows))


@pytest.mark.parametrize("rows", [2**20, 2**32 + 1, 10**9 + 7, 3 * 10**11, 2**40 - 1, 2**40])
def test_large_sizes_are_bijections_on_samples(rows: int) -> None:
    shuffle = GlobalShuffle(rows, 7, "train")
    for first in (0, rows // 3, rows - 10_000):
        positions = shuffle.positions(first, 10_000)
        assert positions.min() >= 0
        assert positions.max() < rows
        assert len(np.unique(positions)) == 10_000
        assert np.array_equal(shuffle.rows_at(positions), np.arange(first, first + 10_000))


def test_values_never_change() -> None:
    assert order(10).tolist() == [0, 9, 6, 1, 5, 3, 7, 8, 2, 4]
    assert order(10, seed=2).tolist() == [2, 1, 4, 8, 0, 7, 9, 6, 3, 5]
    assert order(10, split="dev").tolist() == [0, 5, 9, 7, 2, 3, 4, 1, 8, 6]
    assert GlobalShuffle(10**12, 1, "train").positions(123_456_789_012, 3).tolist() == [
        39373663784,
        145847978744,
        843892055516,
    ]


def test_parts_agree_with_the_whole() -> None:
    shuffle = GlobalShuffle(1_000, 3, "train")
    parts = [shuffle.positions(first, 125) for first in range(0, 1_000, 125)]
    assert np.array_equal(np.concatenate(parts), shuffle.positions(0, 1_000))


@given(st.integers(1, 2**40), st.integers(), st.text(max_size=8), st.data())
def test_equals_the_reference(rows: int, seed: int, split: str, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, rows - 1))
    expected = reference.position(row, rows, reference.round_keys(seed, split))
    assert GlobalShuffle(rows, seed, split).positions(row, 1).tolist() == [expected]


def test_all_orders_of_four_rows_are_equally_frequent() -> None:
    seen = {}
    for seed in range(24_000):
        key = tuple(order(4, seed).tolist())
        seen[key] = seen.get(key, 0) + 1
    assert len(seen) == 24
    chi_square = sum((count - 1_000) ** 2 / 1_000 for count in seen.values())
    assert chi_square < 49.7  # 23 degrees of freedom, p = 0.001


SEEDS = 100


@pytest.fixture(scope="module", params=SIZES)
def orders(request: pytest.FixtureRequest) -> np.ndarray:
    """Returns the positions under many seeds, shape ``[seeds, rows]``."""
    return np.stack([order(request.param, seed) for seed in range(SEEDS)])


def test_no_rank_correlation(orders: np.ndarray) -> None:
    rows = orders.shape[1]
    centred = np.arange(rows) - (rows - 1) / 2
    correlations = (orders - (rows - 1) / 2) @ centred / (centred @ centred)
    z = correlations * np.sqrt(rows - 1)  # standard normal for a uniform permutation
    assert abs(z.mean()) < 4 / np.sqrt(SEEDS)
    assert abs(z.var() - 1) < 0.57  # four standard deviations


@pytest.mark.parametrize("rows", [100, 30_000])
def test_seeds_and_splits_are_independent(rows: int) -> None:
    base = order(rows)
    for other in (order(rows, seed=2), order(rows, split="dev"), order(rows, seed=-1)):
        assert int((base == other).sum()) < 8  # fixed points are Poisson with mean 1
        assert abs(np.corrcoef(base, other)[0, 1]) < 4 / np.sqrt(rows)


def test_rows_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="0 to 2\\*\\*40 pairs, got -1"):
        GlobalShuffle(-1, 1, "train")
    shuffle = GlobalShuffle(10, 1, "train")
    for first, count in [(-1, 1), (0, 11), (10, 1), (3, -1), (2**62, 2**62)]:
        with pytest.raises(ValueError, match="rows outside the split"):
            shuffle.positions(first, count)
    for position in (-1, 10):
        with pytest.raises(ValueError, match="positions outside the split"):
            shuffle.rows_at([position])
    assert GlobalShuffle(0, 1, "train").positions(0, 0).tolist() == []


def plan(rows: int, shards: int, buckets: int = 1) -> ShardPlan:
    return ShardPlan(GlobalShuffle(rows, 1, "train"), shards, buckets)


def test_names_are_those_of_tensor2tensor() -> None:
    assert shard_name("enzh_wmt18", "train", 7, 100) == "enzh_wmt18-train-00007-of-00100"


def test_shards_and_buckets_share_the_rows_evenly() -> None:
    cut = plan(10, 3, 2)
    assert [cut.shard_range(shard) for shard in range(3)] == [range(3), range(3, 6), range(6, 10)]
    assert [cut.bucket_range(bucket) for bucket in range(6)] == [
        range(1),
        range(1, 3),
        range(3, 4),
        range(4, 6),
        range(6, 8),
        range(8, 10),
    ]
    assert [len(plan(2, 5).shard_range(shard)) for shard in range(5)] == [0, 0, 1, 0, 1]


def test_number_of_buckets_follows_the_memory() -> None:
    undivided = plan(1_000, 10)
    assert undivided.divided(10_000, 100) == plan(1_000, 10, 11)
    assert undivided.divided(0, 100) == undivided
    assert undivided.divided(1 << 60, 1) == plan(1_000, 10, 104_857)


@pytest.mark.parametrize(("shards", "buckets"), [(0, 1), (100_000, 1), (1, 0), (1_024, 1_025)])
def test_invalid_numbers_are_refused(shards: int, buckets: int) -> None:
    with pytest.raises(ValueError, match="shards"):
        plan(10, shards, buckets)
