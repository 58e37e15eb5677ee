"""Rule ``length_ratio``: sides of very different lengths."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values

BATCH = st.lists(st.tuples(lines(), lines()), max_size=4)


def test_linear_formula() -> None:
    rule = rule_of("length_ratio", {"unit": "token"})
    pairs = [("a", "b c d"), ("a b", "c d e"), ("", ""), ("", "a")]
    assert values(rule, *pairs) == [[3.0], [1.5], [0.0], [math.inf]]
    assert decisions("length_ratio", {"unit": "token"}, *pairs) == [False, True, True, False]


def test_factors_of_the_languages() -> None:
    rule = rule_of("length_ratio", {"factors": "auto"}, languages=("en", "zh"))
    assert values(rule, ("x" * 100, "字" * 29), ("x" * 50, "字" * 29)) == [[1.0], [2.0]]


def test_given_factors() -> None:
    rule = rule_of("length_ratio", {"factors": {"source": 1, "target": 2}})
    assert values(rule, ("ab", "abcd"), ("ab", "ab")) == [[1.0], [2.0]]


def test_logarithmic_formula() -> None:
    rule = rule_of("length_ratio", {"unit": "token", "formula": "log"})
    found = values(rule, ("a b c d e f g h i", "a b c"), ("", ""), ("a", ""))
    assert found == [[0.6020599913279623], [1.0], [0.0]]  # to the last bit, on every processor
    assert decisions("length_ratio", {"unit": "token", "formula": "log"}, ("a", "a b c d"), ("a", "b c")) == [
        False,
        True,
    ]


def test_short_pairs_are_not_judged() -> None:
    batch = [("x" * 9, "x"), ("x" * 10, "x"), ("x" * 9, "")]
    assert values(rule_of("length_ratio", {"min_length": 10}), *batch) == [[1.0], [10.0], [1.0]]
    assert values(rule_of("length_ratio", {"min_length": 10, "formula": "log"}), batch[0]) == [[1.0]]
    shares = {"min_length": 10, "factors": {"source": 1, "target": 0.5}}
    assert values(rule_of("length_ratio", shares), ("x", "x" * 4), ("x", "x" * 5)) == [[1.0], [10.0]]


@given(BATCH)
def test_ratios_of_any_lengths(batch: list[tuple[str, str]]) -> None:
    def ratio(source: str, target: str) -> float:
        shorter, longer = sorted([len(source), len(target)])
        return longer / shorter if shorter else math.inf if longer else 0.0

    assert values(rule_of("length_ratio"), *batch) == [[ratio(*pair)] for pair in batch]
