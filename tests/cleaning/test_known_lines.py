from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.columns import TextColumn
from nmt_prep.cleaning.known_lines import KnownLines, NumberedLines


def numbered(known: KnownLines, *lines: str) -> NumberedLines:
    return known.number(TextColumn.from_strings(lines))


def test_equal_lines_have_one_number() -> None:
    known = KnownLines()
    first, second = numbered(known, "a", "", "b", "a"), numbered(known, "c", "b", "c", "")
    assert (first.numbers.tolist(), first.new.tolist(), first.start) == ([0, 1, 2, 0], [0, 1, 2], 0)
    assert (second.numbers.tolist(), second.new.tolist(), second.start) == ([3, 2, 3, 1], [0], 3)
    assert numbered(known).numbers.tolist() == []


def test_values_of_known_lines_are_not_needed_again() -> None:
    known = KnownLines()
    lines = numbered(known, "a", "b", "a")
    assert known.values("rule", lines, np.array([1.0, 2.0])).tolist() == [1, 2, 1]
    assert known.values("other", lines, np.array([5.0, 6.0])).tolist() == [5, 6, 5]
    more = numbered(known, "b", "c", "b")
    assert known.values("rule", more, np.array([3.0])).tolist() == [2, 3, 2]
    assert known.values("other", more, np.array([7.0])).tolist() == [6, 7, 6]
    wide = known.values("wide", numbered(KnownLines(), "a", "b", "a"), np.array([[1, 2], [3, 4]], np.uint64))
    assert (wide.tolist(), wide.dtype) == ([[1, 2], [3, 4], [1, 2]], np.uint64)


def test_too_many_lines_are_forgotten() -> None:
    known = KnownLines(most=3)
    assert numbered(known, "a", "b").new.tolist() == [0, 1]
    assert numbered(known, "a").new.tolist() == []
    assert numbered(known, "a", "b").new.tolist() == [0, 1]
    assert numbered(known, "a", "b", "c", "d").new.tolist() == [0, 1, 2, 3]


@given(st.lists(st.lists(st.sampled_from([*"abcdefgh", "a" * 16, "a" * 17, "é", ""]))), st.integers(0, 12))
def test_values_are_those_of_each_line(batches: list[list[str]], most: int) -> None:
    known = KnownLines(most)
    for batch in batches:
        lines = numbered(known, *batch)
        new = np.array([len(batch[place].encode()) for place in lines.new.tolist()], np.float64)
        assert known.values("rule", lines, new).tolist() == [len(line.encode()) for line in batch]
