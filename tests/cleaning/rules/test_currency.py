"""Rule ``currency``: currencies that the sides do not share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import numbers as reference

PARTS = ["$", "USD", "€", "EUR", "A", "z", "5", "￥", "CNY", "฿", "CHF", "ä"] * 2
BATCH = st.lists(st.tuples(lines(PARTS), lines(PARTS)), max_size=4)


def test_similarity() -> None:
    pairs = [("$5", "5 US$"), ("$5", "5 €"), ("$5", "5 Dollar"), ("EUR5 and £3", "5€"), ("RMB 5", "￥5")]
    assert values(rule_of("currency"), *pairs) == [[1.0], [0.0], [1.0], [2 / 3], [1.0]]
    assert values(rule_of("currency", {"missing": True}), *pairs[2:3]) == [[0.0]]
    assert decisions("currency", True, *pairs) == [True, False, True, True, True]


@given(BATCH, st.booleans())
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]], missing: bool) -> None:
    expected = [[reference.currency_similarity(*pair, missing)] for pair in batch]
    assert values(rule_of("currency", {"missing": missing}), *batch) == expected
