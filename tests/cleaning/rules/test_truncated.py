"""Rule ``truncated``: a side that breaks off."""

from __future__ import annotations

import math

import pytest
from _nmt_prep_core import sentence_ends
from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.pairs import pairs
from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference


def test_ratio_of_pairs_that_break_off() -> None:
    rule = rule_of("truncated", {"slack": 0}, languages=("en", "en"))
    batch = [
        ("I came home late.", "I came"),
        ("I came", "I came home late.”"),
        ("I came home late.", "I came."),
        ("I came home late", "I came"),
        ("Late.", "I came home late"),
        ("Late.", ""),
    ]
    assert values(rule, *batch) == [[17 / 6], [3.0], [0.0], [0.0], [0.0], [math.inf]]


def test_length_of_the_languages_counts() -> None:
    (value,) = values(rule_of("truncated", {"slack": 0}, languages=("en", "zh")), ("x" * 99 + ".", "字" * 10))
    assert value == [pytest.approx(2.9)]


def test_short_pairs_may_differ_more() -> None:
    rule = rule_of("truncated", languages=("en", "en"))
    batch = [("x" * 29 + ".", "x" * 5), ("x" * 299 + ".", "x" * 50), ("x" * 59 + ".", "")]
    assert values(rule, *batch) == [[2.0], [320 / 70], [4.0]]
    batch = [("x" * 29 + ".", "x" * 5), ("x" * 139 + ".", "x" * 5)]
    assert decisions("truncated", {"max": 2, "slack": 40}, *batch) == [True, False]


@given(st.lists(lines(list('.?!…。।"”)')), max_size=5))
def test_ends_of_sentences(batch: list[str]) -> None:
    found = sentence_ends(pairs(batch, batch).lines("source"))
    assert found.tolist() == [reference.sentence_ends(line) for line in batch]
