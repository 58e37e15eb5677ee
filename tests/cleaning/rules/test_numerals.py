"""Rule ``numerals``: similarity of the digits of the sides."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference

PARTS = list("0123456789" * 3)
BATCH = st.lists(st.tuples(lines(PARTS), lines(PARTS)), max_size=4)


def test_similarity() -> None:
    pairs = [("in 2010", "2010"), ("no", "ne"), ("12", "1"), ("10", "100"), ("١", "a"), ("1", "2")]
    assert values(rule_of("numerals"), *pairs) == [[1.0], [1.0], [2 / 3], [1.0], [1.0], [0.0]]
    assert decisions("numerals", True, ("11", "2311"), ("13", "2244")) == [True, False]


@given(BATCH)
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]]) -> None:
    assert values(rule_of("numerals"), *batch) == [[reference.numerals(*pair)] for pair in batch]


@given(st.lists(st.tuples(*[st.text("0123456789", min_size=150, max_size=400)] * 2), max_size=2))
def test_many_digits(batch: list[tuple[str, str]]) -> None:
    same = [(source, source) for source, _ in batch]
    assert values(rule_of("numerals"), *batch, *same) == [[reference.numerals(*pair)] for pair in (*batch, *same)]
