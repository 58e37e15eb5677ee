from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.cleaning.corpus_rules.translation import auto_threshold, other_targets


def _keys(*values: int) -> npt.NDArray[np.uint64]:
    return np.array(values, np.uint64)


@pytest.mark.parametrize(("lengths", "order"), [([30, 10, 20], (1, 2, 3)), ([7] * 3, (30, 10, 20))])
def test_next_by_length_and_random_among_equal_lengths(lengths: list[int], order: tuple[int, ...]) -> None:
    sources, targets = other_targets(np.array(lengths), _keys(*order), _keys(1, 2, 3), _keys(4, 5, 6))
    assert dict(zip(sources.tolist(), targets.tolist(), strict=True)) == {1: 2, 2: 0, 0: 2}


def test_equal_texts_are_passed_over() -> None:
    """Pairs 0 and 1 have the same target, 1 and 2 the same source."""
    sources, targets = other_targets(np.array([1, 2, 3, 4]), _keys(1, 2, 3, 4), _keys(1, 2, 2, 3), _keys(5, 5, 6, 7))
    assert dict(zip(sources.tolist(), targets.tolist(), strict=True)) == {0: 2, 1: 3, 2: 3, 3: 2}


def test_nothing_to_exchange() -> None:
    for count in (0, 1, 5):
        same = np.full(count, 9, np.uint64)
        sources, targets = other_targets(np.full(count, 3), np.arange(count, dtype=np.uint64), same, same)
        assert (len(sources), len(targets)) == (0, 0)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 3), st.integers(0, 3)), max_size=60))
def test_never_a_pair_with_itself(pairs: list[tuple[int, int, int]]) -> None:
    lengths, sources, targets = (np.array(column) for column in zip(*pairs, strict=True)) if pairs else ([],) * 3
    keys = np.asarray(sources, np.uint64), np.asarray(targets, np.uint64)
    order = np.arange(len(pairs), dtype=np.uint64) * np.uint64(7919) % np.uint64(104729)
    own, other = other_targets(np.asarray(lengths, np.int64), order, *keys)
    assert len(set(own.tolist())) == len(own)
    assert not (keys[0][own] == keys[0][other]).any()
    assert not (keys[1][own] == keys[1][other]).any()


EDGES = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)


def near(value: float) -> object:
    return pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize(
    ("real", "repaired", "expected", "lost"),
    [
        # 100 misaligned pairs of 1,000; no clean pair has a score below 3
        ([60, 38, 2, 100, 800], [600, 380, 20, 0, 0], (3.0, near(0.1), 1.0), 0),
        # without noise the threshold is where 98 % of the re-paired pairs are below it
        ([0, 0, 1, 99, 900], [500, 480, 15, 4, 1], (2.0, 0.0, 0.98), 0),
        # 98 % would need the threshold 3, which loses 1 % of the clean pairs
        ([0, 0, 10, 90, 900], [500, 450, 40, 9, 1], (2.0, 0.0, 0.95), 0.001),
        # all pairs are noise
        ([50, 30, 20, 0, 0], [500, 300, 200, 0, 0], (3.0, 1.0, 1.0), None),
    ],
)
def test_thresholds(real: list[int], repaired: list[int], expected: tuple[object, ...], lost: float | None) -> None:
    found = auto_threshold(EDGES, real, repaired)
    assert (found.score, found.noise, found.found) == expected
    assert lost is None or found.lost == pytest.approx(lost, abs=0.0001)


def test_estimates_of_a_given_threshold() -> None:
    real, repaired = [60, 38, 2, 90, 810], [600, 380, 20, 0, 0]
    given = auto_threshold(EDGES, real, repaired, score=2.0)
    assert (given.score, given.noise, given.found) == (2.0, *map(near, (0.1, 0.98)))
    given = auto_threshold(EDGES, real, repaired, score=4.0)
    assert (given.score, given.noise, given.found) == (4.0, near(0.1), 1.0)
    assert given.lost == pytest.approx(0.1, abs=0.001)  # 90 of 900 clean pairs
    assert auto_threshold(EDGES, real, repaired, score=9.0).lost == 1.0


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.2, 0.5, 0.8])
def test_normal_scores(noise: float) -> None:
    """Noise with mean 0 and clean pairs with mean 6, both with standard deviation 1."""
    draw = np.random.default_rng(1)
    edges = np.linspace(-5, 11, 321)
    bad = draw.random(50_000) < noise
    scores = np.where(bad, draw.normal(0, 1, 50_000), draw.normal(6, 1, 50_000))
    real, repaired = (np.histogram(each, edges)[0] for each in (scores, draw.normal(0, 1, 20_000)))
    found = auto_threshold(edges.tolist(), real.tolist(), repaired.tolist())
    assert abs(found.noise - noise) < 0.01
    below = scores < found.score
    assert below[~bad].mean() <= 0.005
    assert not noise or below[bad].mean() >= 0.98
    assert abs(below[~bad].mean() - found.lost) < 0.004


@pytest.mark.parametrize("noise", [0.05, 0.3, 0.5])
def test_overlapping_scores(noise: float) -> None:
    """Clean scores fall off slowly, and misaligned ones are among the lowest of them.

    Below the threshold that finds 98 % are 0.3 % of the clean pairs.
    """
    draw = np.random.default_rng(2)
    edges = np.linspace(-8, 16, 2401)
    bad = draw.random(20_000) < noise
    scores = np.where(bad, draw.normal(-3, 1, 20_000), 4 - draw.gamma(3, 0.5, 20_000))
    real, repaired = (np.histogram(each, edges)[0] for each in (scores, draw.normal(-3, 1, 5000)))
    found = auto_threshold(edges.tolist(), real.tolist(), repaired.tolist())
    assert abs(found.noise - noise) < 0.01
    below = scores < found.score
    assert below[~bad].mean() <= 0.006
    assert below[bad].mean() >= 0.95


def test_misaligned_pairs_score_otherwise_than_re_paired_ones() -> None:
    """They score 0.3 higher, and vary more. Few re-paired pairs give no good mean, so it is taken from the corpus."""
    draw = np.random.default_rng(3)
    edges = np.linspace(-8, 16, 2401)
    bad = draw.random(20_000) < 0.4
    scores = np.where(bad, draw.normal(-2.7, 1.1, 20_000), draw.normal(4, 1.2, 20_000))
    real, repaired = (np.histogram(each, edges)[0].tolist() for each in (scores, draw.normal(-3, 1, 5000)))
    found = auto_threshold(edges.tolist(), real, repaired, certain=100)
    assert abs(found.noise - 0.4) < 0.005
    below = scores < found.score
    assert abs(below[bad].mean() - found.found) < 0.005
    assert found.found >= 0.98
