"""Rule ``alphabetic``: the share of letters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference

BATCH = st.lists(st.tuples(lines(), lines()), max_size=4)


def test_shares() -> None:
    assert values(rule_of("alphabetic"), ("ab 1", ""), ("नमस्ते", "1 2")) == [[0.5, 1.0], [5 / 6, 0.0]]
    assert values(rule_of("alphabetic", {"spaces": False}), ("ab 1", "  ")) == [[2 / 3, 1.0]]
    assert values(rule_of("alphabetic", {"unit": "word"}), ("ab 1 x2", "")) == [[2 / 3, 1.0]]
    assert decisions("alphabetic", {"min": 0.5}, ("ab12", "a"), ("ab123", "a")) == [True, False]


@given(BATCH)
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]]) -> None:
    for spaces in (True, False):
        expected = [[reference.alphabetic_share(line, spaces) for line in pair] for pair in batch]
        assert values(rule_of("alphabetic", {"spaces": spaces}), *batch) == expected
    expected = [[reference.letter_word_share(line) for line in pair] for pair in batch]
    assert values(rule_of("alphabetic", {"unit": "word"}), *batch) == expected
