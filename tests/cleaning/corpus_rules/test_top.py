from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.cleaning.corpus_rules.top import TopOptions, kept_count, top_threshold
from nmt_prep.cleaning.rules import rule_options


def threshold(scores: list[float], keep: float) -> float:
    batches = [np.array(scores[:3]), np.array(scores[3:])]
    return top_threshold(lambda: batches, keep)


def test_the_threshold_is_the_lowest_score_of_the_best_share() -> None:
    assert threshold([0.1, 0.9, 0.5, 0.7, 0.3], 0.4) == 0.7
    assert threshold([0.1, 0.9, 0.5, 0.7, 0.3], 0.41) == 0.5  # three pairs: the number is rounded up
    assert threshold([0.1, 0.9, 0.5, 0.7, 0.3], 1.0) == 0.1
    assert threshold([0.1, 0.9, 0.5, 0.7, 0.3], 0.001) == 0.9


def test_scores_of_any_sign_and_size_are_in_order() -> None:
    scores = [-math.inf, -1e300, -1.5, -1e-320, -0.0, 0.0, 1e-320, 1.5, 1e300, math.inf]
    assert [threshold(scores, count / 10) for count in range(10, 0, -1)] == scores
    assert math.isnan(threshold([], 0.5))


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=60), st.floats(0.01, 1.0))
def test_the_threshold_is_found_as_by_sorting(scores: list[float], keep: float) -> None:
    assert threshold(scores, keep) == sorted(scores, reverse=True)[kept_count(len(scores), keep) - 1]


def test_the_share_may_be_a_percentage_and_is_not_rounded_up_for_the_error_of_binary_fractions() -> None:
    assert [kept_count(100, 0.07), kept_count(1000, 0.29), kept_count(3, 0.5)] == [7, 290, 2]
    assert rule_options("top", {"score": "bicleaner", "keep": "80%"}) == TopOptions(score="bicleaner", keep=0.8)
    assert rule_options("top", {"score": "bicleaner", "keep": 1}) == TopOptions(score="bicleaner", keep=1)
