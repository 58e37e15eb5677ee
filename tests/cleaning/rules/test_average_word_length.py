"""Rule ``average_word_length``: text whose words are too short or too long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference

BATCH = st.lists(st.tuples(lines(), lines()), max_size=4)


def test_average() -> None:
    rule = rule_of("average_word_length", {"unit": "token"})
    assert values(rule, ("ab abcd", ""), ("我们学习中文", "ab")) == [[3, 0], [6, 2]]
    assert values(rule_of("average_word_length"), ("我们学习中文", "ab")) == [[1.5, 2]]
    assert decisions("average_word_length", {"min": 2, "max": 3}, ("ab", "abc"), ("a", "ab"), ("abcd", "ab")) == [
        True,
        False,
        False,
    ]


@given(BATCH)
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]]) -> None:
    expected = [[reference.average_token(line) for line in pair] for pair in batch]
    assert values(rule_of("average_word_length", {"unit": "token"}), *batch) == expected
