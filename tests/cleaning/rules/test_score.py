"""Rule ``score``: scores that come with a corpus."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from nmt_prep.cleaning.rejects import judge
from nmt_prep.cleaning.rule import Pairs
from tests.cleaning.rules.values import rule_of


def test_pairs_pass_within_all_limits() -> None:
    rule = rule_of("score", {"bicleaner": {"min": 0.5}, "laser": {"min": 1.06, "max": 1.2}})
    assert (rule.scores, rule.columns) == (("bicleaner", "laser"), ("bicleaner", "laser"))
    scores = {"laser": np.array([1.1, 1.3, 1.1, 1.1]), "bicleaner": np.array([0.5, 0.9, math.nan, 0.4])}
    pairs = Pairs({"source": pa.array(["a"] * 4)}, scores)
    assert rule.values(pairs)[:, 0].tolist() == [0.5, 1.1]
    assert judge(rule.values(pairs), rule.bounds).tolist() == [True, False, False, False]


def test_edges_hold_the_limits() -> None:
    edges = rule_of("score", {"cometkiwi": {"min": -3}}).edges
    assert (edges[0] <= -3, edges[-1] >= 1, list(edges)) == (True, True, sorted(set(edges)))
