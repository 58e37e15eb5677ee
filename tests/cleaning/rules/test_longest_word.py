"""Rule ``longest_word``: words that are too long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference

BATCH = st.lists(st.tuples(lines(), lines()), max_size=4)


def test_limit_is_exclusive() -> None:
    assert decisions("longest_word", {"max": 4}, ("abc abc", "a"), ("abcd", "a")) == [True, False]


def test_clauses_of_chinese_are_no_words() -> None:
    assert values(rule_of("longest_word", {"unit": "token"}), ("我今天在北京大学学习中文", "iPhone手机")) == [[12, 8]]
    assert values(rule_of("longest_word"), ("我今天在北京大学学习中文", "iPhone手机")) == [[0, 6]]


@given(BATCH)
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]]) -> None:
    assert values(rule_of("longest_word", {"unit": "token"}), *batch) == [
        [reference.longest_token(line) for line in pair] for pair in batch
    ]
    assert values(rule_of("longest_word"), *batch) == [
        [reference.longest_word(line) for line in pair] for pair in batch
    ]
