import math
from itertools import pairwise

import pytest

from nmt_prep.cleaning.corpus_rules.adequacy import incomplete_threshold

EDGES = [round(number / 50 - 8, 2) for number in range(1201)]


def bell(pairs: float, middle: float, deviation: float) -> list[int]:
    """Returns numbers of pairs whose values have a normal distribution."""
    below = [0.5 * math.erfc((middle - edge) / deviation / math.sqrt(2)) for edge in EDGES]
    counts = [round(pairs * share) for share in below]
    return [second - first for first, second in pairwise(counts)]


def mixed(*several: list[int]) -> list[int]:
    return [sum(bins) for bins in zip(*several, strict=True)]


DEFECTS = (bell(3000, 0.5, 1), bell(2000, 2.5, 1.5))


@pytest.mark.parametrize(("clear", "unclear"), [(0, 0), (1000, 0), (3000, 0), (3000, 500)])
def test_shares_of_incomplete_pairs_are_estimated(clear: int, unclear: int) -> None:
    complete = bell(30_000, 7, 1.5)
    real = mixed(complete, bell(clear, 0.5, 1), bell(unclear, 2.5, 1.5))
    estimate = incomplete_threshold(EDGES, real, DEFECTS)
    assert estimate.noise == pytest.approx((clear + unclear) / (30_000 + clear + unclear), abs=0.015)
    assert estimate.lost <= 0.01
    lost = sum(complete[: EDGES.index(estimate.score)]) / 30_000
    assert lost == pytest.approx(estimate.lost, abs=0.003)


def test_incomplete_pairs_that_are_told_apart_are_dropped_and_hardly_any_others() -> None:
    assert incomplete_threshold(EDGES, bell(30_000, 6, 1.5), DEFECTS).lost <= 0.001
    real = mixed(bell(30_000, 7, 1.5), bell(3000, 0.5, 1))
    assert incomplete_threshold(EDGES, real, DEFECTS).found > 0.95
    assert incomplete_threshold(EDGES, real, DEFECTS).lost < 0.01


def test_a_given_threshold_gets_estimates() -> None:
    real = mixed(bell(30_000, 7, 1.5), bell(3000, 0.5, 1))
    estimate = incomplete_threshold(EDGES, real, DEFECTS, 0.5)
    assert estimate.score == 0.5
    assert estimate.found == pytest.approx(0.5, abs=0.05)
    assert incomplete_threshold(EDGES, real, DEFECTS, 100).lost == pytest.approx(1, abs=1e-6)
    assert incomplete_threshold(EDGES, real, DEFECTS, -100).lost == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("real", [[0] * 1200, [1] + [0] * 1199, [0] * 1199 + [9], [0] * 600 + [50] + [0] * 599])
def test_few_or_equal_values_have_a_threshold(real: list[int]) -> None:
    estimate = incomplete_threshold(EDGES, real, DEFECTS)
    assert all(map(math.isfinite, (estimate.score, estimate.noise, estimate.found, estimate.lost)))
