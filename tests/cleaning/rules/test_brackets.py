"""Rule ``brackets``: brackets that do not match."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference

PARTS = list("()[]{}⟨⟩【】（）〈〉") * 2
BATCH = st.lists(st.tuples(lines(PARTS), lines(PARTS)), max_size=4)


def test_balances_of_the_sides_are_compared() -> None:
    pairs = [("a) b", "a) c"), ("(a)", "(a"), ("(a)", "（a）"), ("[x", "y}")]
    assert values(rule_of("brackets"), *pairs) == [[0], [1], [0], [2]]
    assert decisions("brackets", True, *pairs) == [True, False, True, False]


@given(BATCH)
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]]) -> None:
    expected = [[sum(abs(a - b) for a, b in zip(*map(reference.bracket_depths, pair), strict=True))] for pair in batch]
    assert values(rule_of("brackets"), *batch) == expected
