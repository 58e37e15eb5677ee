"""Rule ``numbers``: numbers that the sides do not share."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.conftest import examples
from tests.guard import must_end
from tests.reference import numbers as reference

PARTS = [
    *("1", "2", "05", "10", "12", "100", "234", "000", "2010", "٣", "५", ".", ",", " ", "'", "\u202f", "٫", "a"),
    *("一", "二", "十", "百", "千", "万", "亿", "兆", "〇", "两", "5"),
]
BATCH = st.lists(st.tuples(lines(PARTS, 12), lines(PARTS, 12)), max_size=4)


@pytest.mark.parametrize(
    ("source", "target", "value"),
    [
        ("no", "ne", 1.0),
        ("in 1999", "1999", 1.0),
        ("1,234.50", "1.234,5", 1.0),
        ("10 000 km", "10.000 km", 1.0),
        ("1'000", "1000", 1.0),
        ("1.234", "1,234", 1.0),
        ("0.5 %", "0,50 %", 1.0),
        ("3.5 million", "3,500,000", 1.0),
        ("3.5 million", "350万", 1.0),
        ("12 billion yuan", "120亿元", 1.0),
        ("٢٠١٠", "2010", 1.0),
        ("12.05.2010", "12 May 2010, 5", 1.0),
        ("version 1.2.3", "Version 3 2 1", 1.0),
        ("350 men", "三百五十人", 1.0),
        ("in 2010", "二〇一〇年", 1.0),
        ("two", "一十二万", 1.0),
        ("350 men, 2 women", "三百五十人，2", 1.0),
        ("10 gold", "十人，37", 0.0),
        ("10 gold of 3,000,000", "三百万，十人，37", 0.5),
        ("2 men", "zwei Männer", 1.0),
        ("2 men", "3 Männer", 0.0),
        ("20 men", "zwanzig Männer", 0.0),
        ("100 men", "1000 Männer", 0.0),
        ("212 people in 23 states", "653 Personen in 86 Staaten", 0.0),
        ("1 and 20", "20 und 3", 0.5),
        ("123456789012345678901234567890", "123456789012345678901234567890", 1.0),
        ("123456789012345678901234567890", "123456789012345678901234567891", 0.0),
    ],
)
def test_similarity(source: str, target: str, value: float) -> None:
    assert values(rule_of("numbers"), (source, target), (target, source)) == [[value], [value]]


def test_decisions() -> None:
    pairs = [("1 20 30", "20 31"), ("20 30", "31 32")]
    assert decisions("numbers", {"min": 0.4}, *pairs) == [True, False]
    assert decisions("numbers", {"small": 0}, ("2 men", "zwei Männer"), ("0", "null")) == [False, True]


MANY_EQUAL = st.sets(st.sampled_from([*PARTS, "1000", "50000"]), min_size=2, max_size=6).flatmap(
    lambda parts: st.tuples(*[st.lists(st.sampled_from(sorted(parts)), min_size=20, max_size=200).map("".join)] * 2)
)


@settings(max_examples=examples(400))
@given(st.one_of(BATCH, MANY_EQUAL.map(lambda pair: [pair])), st.integers(0, 120))
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]], small: int) -> None:
    expected = [[reference.number_similarity(*pair, small)] for pair in batch]
    assert values(rule_of("numbers", {"small": small}), *batch) == expected


@pytest.mark.parametrize(
    ("source", "target", "value"),
    [
        (" a".join(map(str, range(20, 400_020))), " a".join(map(str, range(400_019, 19, -1))), 1.0),
        (" a".join("1" + "0" * zeros for zeros in range(1000)), "1a" * 250_000, 2 * 998 / (2 * 998 + 4)),
        ("一a" * 400_000, "20a" * 400_000, 0.0),
    ],
)
def test_long_lines_take_no_quadratic_time(source: str, target: str, value: float) -> None:
    """They take minutes if each number is compared with each other one."""
    with must_end(60):
        assert values(rule_of("numbers"), (source, target)) == [[value]]
