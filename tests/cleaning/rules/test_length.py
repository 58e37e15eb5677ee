"""Rule ``length``: limits of the length of each side."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference

BATCH = st.lists(st.tuples(lines(), lines()), max_size=4)


def test_limits_are_inclusive() -> None:
    options = {"unit": "token", "min": 2, "max": 3}
    assert decisions("length", options, ("a", "a b"), ("a b", "a b c"), ("a b c d", "a b")) == [False, True, False]


def test_units_and_limits_per_side() -> None:
    rule = rule_of("length", {"unit": {"source": "token", "target": "char"}, "max": {"source": 2, "target": 4}})
    assert values(rule, ("a b", "abc d")) == [[2, 5]]
    assert [bounds.high for bounds in rule.bounds] == [2, 4]


@given(BATCH)
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]]) -> None:
    expected = [[reference.words(source), reference.words(target)] for source, target in batch]
    assert values(rule_of("length"), *batch) == expected
