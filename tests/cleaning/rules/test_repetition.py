"""Rule ``repetition``: text that is repeated immediately."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference

PARTS = ["ab", "abc ", "ab  ", "ä", "字", "\u3000", "\x1c"] * 2
BATCH = st.lists(st.tuples(lines(PARTS), lines(PARTS)), max_size=4)


def test_repetitions() -> None:
    rule = rule_of("repetition")
    assert values(rule, ("abcabcabc", "abc abc  abc abc"), ("abcabc", "aa aa aa"), ("......", ".........")) == [
        [2, 3],
        [0, 0],
        [0, 2],
    ]
    assert decisions("repetition", {"times": 1}, ("abcabc", ""), ("abcab", "")) == [False, True]
    assert values(rule_of("repetition", {"times": 1, "min": 1}), ("xaabbbb", "aaaa")) == [[1, 3]]  # first and shortest


@given(BATCH, st.integers(1, 3), st.integers(1, 5), st.integers(5, 8))
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]], times: int, shortest: int, longest: int) -> None:
    rule = rule_of("repetition", {"times": times, "min": shortest, "max": longest})
    expected = [[reference.repetitions(line, times, shortest, longest) for line in pair] for pair in batch]
    assert values(rule, *batch) == expected


def test_time_is_bounded_and_limits_that_no_text_reaches() -> None:
    line = "ab" * 20_000 + "c" + "x " * 20_000
    assert values(rule_of("repetition", {"times": 30_000}), (line, line)) == [[0, 0]]
    most = 2**63 - 1
    assert values(rule_of("repetition", {"times": most, "min": 3}), ("a", "abc" * 5)) == [[0, 0]]
    assert values(rule_of("repetition", {"times": 2**62 - 1, "min": 4, "max": most}), ("a", "abcd" * 5)) == [[0, 0]]
