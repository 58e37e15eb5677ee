"""Rule ``urls``: URLs that the sides do not share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference

PARTS = ["http://a.b", "www.a.de", "a.de", " ", "."] * 2
BATCH = st.lists(st.tuples(lines(PARTS), lines(PARTS)), max_size=4)


def test_similarity() -> None:
    pairs = [("see http://a.b.", "siehe http://a.b"), ("http://a.b", ""), ("x", "y"), ("www.a.b www.a.b", "www.a.b")]
    assert values(rule_of("urls"), *pairs) == [[1.0], [0.0], [1.0], [2 / 3]]
    assert decisions("urls", True, *pairs) == [True, False, True, False]


@given(BATCH)
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]]) -> None:
    assert values(rule_of("urls"), *batch) == [[reference.url_similarity(*pair)] for pair in batch]
