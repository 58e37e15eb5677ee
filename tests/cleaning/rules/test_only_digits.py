"""Rule ``only_digits``: text that consists of numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference

BATCH = st.lists(st.tuples(lines(), lines()), max_size=4)


def test_shares() -> None:
    assert values(rule_of("only_digits"), ("12 ab", "Ⅷ٣"), ("!", "")) == [[0.5, 1.0], [0.0, 0.0]]
    assert decisions("only_digits", {"max": 0.5}, ("12a", "a"), ("1ab", "a")) == [False, True]


@given(BATCH)
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]]) -> None:
    expected = [[reference.number_share(line) for line in pair] for pair in batch]
    assert values(rule_of("only_digits"), *batch) == expected
