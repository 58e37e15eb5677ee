"""Lengths of lines in the units of rules, and of their words."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from _nmt_prep_core import Lines, average_tokens, longest_tokens, longest_words
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.errors import InvalidTextError
from nmt_prep.cleaning.lengths import Unit, expansion, lengths
from tests.cleaning.pairs import pairs
from tests.cleaning.rules.values import lines
from tests.reference import cleaning as reference


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", {"char": 0, "byte": 0, "letter": 0, "token": 0, "word": 0}),
        (" a  bc\u3000d ", {"char": 9, "byte": 11, "letter": 4, "token": 3, "word": 3}),
        ("Schöne Grüße!", {"char": 13, "byte": 16, "letter": 11, "token": 2, "word": 2}),
        ("我今天在北京大学学习中文。", {"char": 13, "byte": 39, "letter": 12, "token": 1, "word": 8}),
        ("コーヒーを飲む", {"char": 7, "byte": 21, "letter": 7, "token": 1, "word": 4}),
        ("ฉันรักภาษาไทย", {"char": 13, "byte": 39, "letter": 11, "token": 1, "word": 3}),
        ("使用 Python3 编程", {"char": 13, "byte": 21, "letter": 10, "token": 3, "word": 3}),
        ("用Python编程", {"char": 9, "byte": 15, "letter": 9, "token": 1, "word": 3}),
        ("2010年5月", {"char": 7, "byte": 11, "letter": 2, "token": 1, "word": 4}),
    ],
)
def test_lengths(line: str, expected: dict[Unit, int]) -> None:
    assert {unit: lengths(pairs([line], [""]), "source", unit).tolist() for unit in expected} == {
        unit: [float(length)] for unit, length in expected.items()
    }


@given(st.lists(lines(), max_size=5))
def test_lengths_are_those_of_python(batch: list[str]) -> None:
    of = pairs(batch, batch)
    for unit in get_args(Unit):
        assert lengths(of, "source", unit).tolist() == [reference.length(line, unit) for line in batch]
    assert longest_tokens(of.lines("source")).tolist() == [reference.longest_token(line) for line in batch]
    assert longest_words(of.lines("source")).tolist() == [reference.longest_word(line) for line in batch]
    assert average_tokens(of.lines("source")).tolist() == [reference.average_token(line) for line in batch]


def test_lines_may_be_longer_than_a_block() -> None:
    line = "ab\u2028" * 100 + "x" * 200
    of = pairs([line, "c d"], ["", ""])
    assert lengths(of, "source", "token").tolist() == [101, 2]
    assert lengths(of, "source", "char").tolist() == [500, 3]
    assert longest_tokens(of.lines("source")).tolist() == [200, 1]


def test_lines_of_a_slice_are_measured_and_invalid_text_is_refused() -> None:
    assert longest_tokens(Lines(np.frombuffer("ä bc d".encode(), np.uint8), np.array([3, 5, 7]))).tolist() == [2, 1]
    with pytest.raises(InvalidTextError, match="line 1: byte 1"):
        Lines(np.frombuffer(b"okno\xff!", np.uint8), np.array([0, 3, 6], np.int64))


@pytest.mark.parametrize(
    ("tag", "unit", "expected"),
    [
        ("en", "char", 1.0),
        ("de-AT", "char", 1.13),
        ("zh", "char", 0.29),
        ("zh-Hant", "letter", 0.29),
        ("lzh", "char", 0.29),
        ("ru", "byte", 1.07 * 1.83),
        ("zh", "byte", 0.29 * 2.85),
        ("vi", "byte", 1.04 * 1.32),
        ("fo", "char", 1.0),
    ],
)
def test_expansion(tag: str, unit: str, expected: float) -> None:
    assert expansion(tag, unit) == pytest.approx(expected)  # type: ignore[arg-type]


def test_words_have_no_expansion() -> None:
    with pytest.raises(ValueError, match="factors: auto needs the unit char, letter or byte, but the unit is token"):
        expansion("de", "token")
