"""Rule ``only_symbols``: text of punctuation and symbols."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference

BATCH = st.lists(st.tuples(lines(), lines()), max_size=4)


def test_shares() -> None:
    assert values(rule_of("only_symbols"), ("== ++ a", "…"), ("", "第1章")) == [[0.2, 0.0], [1.0, 1.0]]
    assert decisions("only_symbols", True, ("a!", "b"), ("a!!!", "b")) == [True, False]


@given(BATCH)
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]]) -> None:
    expected = [[reference.word_character_share(line) for line in pair] for pair in batch]
    assert values(rule_of("only_symbols"), *batch) == expected
