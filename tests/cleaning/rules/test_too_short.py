"""Rule ``too_short``: the least length of a side."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference

BATCH = st.lists(st.tuples(lines(), lines()), max_size=4)


def test_letters_are_counted() -> None:
    assert decisions("too_short", {"min": 2}, ("ab", "a b"), ("1234", "ab"), ("ab", "é.")) == [True, False, False]


@given(BATCH)
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]]) -> None:
    expected = [[reference.length(line, "letter") for line in pair] for pair in batch]
    assert values(rule_of("too_short"), *batch) == expected
