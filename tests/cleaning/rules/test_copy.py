"""Rule ``copy``: a side that repeats the other."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.conftest import examples
from tests.reference import cleaning as reference

PARTS = ["abc", "Straße", "STRASSE", "ſ"]
BATCH = st.lists(st.tuples(lines(PARTS), lines(PARTS)), max_size=4)


def test_equal_letters_are_a_copy() -> None:
    pairs = [("Die Straße 5!", "DIE STRASSE, 7"), ("abc", "abd"), ("12", "12"), ("", ""), ("ab", "abc")]
    assert values(rule_of("copy"), *pairs) == [[1.0], [0.0], [0.0], [0.0], [0.0]]
    assert decisions("copy", {"min_letters": 4}, ("abc", "abc"), ("abcd", "abcd")) == [True, False]


def test_edit_distance() -> None:
    assert values(rule_of("copy", {"measure": "distance"}), ("kitten", "sitting"), ("", ""), ("a", "")) == [
        [1 - 3 / 7],
        [1.0],
        [0.0],
    ]
    tokens = {"measure": "distance", "unit": "token", "lowercase": True}
    assert values(rule_of("copy", tokens), ("The cat sat", "the cat ran off")) == [[0.5]]
    assert decisions("copy", {"measure": "distance", "max": 0.5}, ("ab", "ac"), ("abc", "bcd")) == [False, True]


def test_longest_common_substring() -> None:
    assert values(rule_of("copy", {"measure": "substring"}), ("xabcy", "zabc"), ("", "a")) == [[0.75], [0.0]]


@given(BATCH)
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]]) -> None:
    copies = [(source, source.upper()) for source, _ in batch]
    pairs = [*batch, *copies]
    assert values(rule_of("copy"), *pairs) == [[float(reference.equal_letters(*pair, 1))] for pair in pairs]
    assert values(rule_of("copy", {"measure": "substring"}), *pairs) == [
        [reference.common_substring(*pair)] for pair in pairs
    ]
    assert values(rule_of("copy", {"measure": "distance"}), *pairs) == [
        [reference.edit_similarity(*pair)] for pair in pairs
    ]
    assert values(rule_of("copy", {"measure": "distance", "unit": "token"}), *pairs) == [
        [reference.edit_similarity(source.split(), target.split())] for source, target in pairs
    ]


@settings(max_examples=examples(30))
@given(st.lists(st.tuples(*[st.text("abcd", min_size=60, max_size=300)] * 2), max_size=2))
def test_long_texts(batch: list[tuple[str, str]]) -> None:
    assert values(rule_of("copy", {"measure": "substring"}), *batch) == [
        [reference.common_substring(*pair)] for pair in batch
    ]
    assert values(rule_of("copy", {"measure": "distance"}), *batch) == [
        [reference.edit_similarity(*pair)] for pair in batch
    ]
