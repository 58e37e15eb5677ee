"""Rule ``copy``: a side that repeats the other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cleaning.pairs import pairs
from tests.cleaning.rules.values import BOTH, decisions, lines, rule_of, values
from tests.conftest import examples
from tests.interrupting import control_c_ends_this
from tests.reference import cleaning as reference

PARTS = ["abc", "Straße", "STRASSE", "ſ"]
BATCH = st.lists(st.tuples(lines(PARTS), lines(PARTS)), max_size=4)


def test_equal_letters_are_a_copy() -> None:
    pairs = [("Die Straße 5!", "DIE STRASSE, 7"), ("abc", "abd"), ("12", "12"), ("", ""), ("ab", "abc")]
    assert values(rule_of("copy"), *pairs) == [[1.0], [0.0], [0.0], [0.0], [0.0]]
    assert decisions("copy", {"min_letters": 4}, ("abc", "abc"), ("abcd", "abcd")) == [True, False]


def test_edit_distance_and_longest_common_substring() -> None:
    batch = [("kitten", "sitting"), ("", ""), ("a", "")]
    assert values(rule_of("copy", {"measure": "distance"}), *batch) == [[1 - 3 / 7], [1.0], [0.0]]
    tokens = {"measure": "distance", "unit": "token", "lowercase": True}
    assert values(rule_of("copy", tokens), ("The cat sat", "the cat ran off")) == [[0.5]]
    assert decisions("copy", {"measure": "distance", "max": 0.5}, ("ab", "ac"), ("abc", "bcd")) == [False, True]
    assert values(rule_of("copy", {"measure": "substring"}), ("xabcy", "zabc"), ("", "a")) == [[0.75], [0.0]]


@given(BATCH)
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]]) -> None:
    copies = [(source, source.upper()) for source, _ in batch]
    pairs = [*batch, *copies]
    assert values(rule_of("copy"), *pairs) == [[float(reference.equal_letters(*pair, 1))] for pair in pairs]
    check_measures(pairs)
    assert values(rule_of("copy", {"measure": "distance", "unit": "token"}), *pairs) == [
        [reference.edit_similarity(source.split(), target.split())] for source, target in pairs
    ]


def check_measures(batch: list[tuple[str, str]]) -> None:
    for measure, twin in (("substring", reference.common_substring), ("distance", reference.edit_similarity)):
        assert values(rule_of("copy", {"measure": measure}), *batch) == [[twin(*pair)] for pair in batch]


@settings(max_examples=examples(30))
@given(st.lists(st.tuples(*[st.text("abcd", min_size=60, max_size=300)] * 2), max_size=2))
def test_long_texts(batch: list[tuple[str, str]]) -> None:
    check_measures(batch)


def test_the_beginnings_of_long_sides_are_compared() -> None:
    same, pair = "xy " * 20_000, ("xy " * 20_000 + "ab " * 300_000, "xy " * 20_000 + "cd " * 300_000)
    for options in ({"measure": "distance"}, {"measure": "distance", "unit": "token"}):
        assert values(rule_of("copy", options), pair, (same, same.strip())) == [[1.0], [1.0]]
    digits = "".join(map(str, range(1, 9)))
    assert values(rule_of("numerals"), (digits * 2048 + "9", digits * 2048)) == values(
        rule_of("numerals"), (digits * 2048, digits * 2048)
    )


HAN = "".join(map(chr, range(0x4E00, 0x4E00 + 120)))


@pytest.mark.parametrize(
    ("rule", "options", "source", "target"),
    [
        ("copy", {"measure": "distance"}, "ab" * 1_000_000, "ba" * 999_999),
        ("copy", {"measure": "substring"}, HAN * 10_000, HAN[::-1] * 10_000),
        ("numerals", True, "12" * 8192, "21" * 90),
        ("repetition", {"max": 1_000_000}, "".join(f"abc{number}" for number in range(100_000)), "-"),
    ],
)
def test_control_c_ends_comparisons_of_long_lines(rule: str, options: object, source: str, target: str) -> None:
    size = 20_000_000 // len(source)
    made, batch = rule_of(rule, options), pairs([source] * size, [target] * size)
    for side in BOTH:
        batch.lines(side)  # so that the comparisons are all that is left to do
    with control_c_ends_this():
        made.values(batch)
