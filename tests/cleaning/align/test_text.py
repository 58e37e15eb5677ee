from __future__ import annotations

import numpy as np
import pytest
from _nmt_prep_core import link_lines, split_columns
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import EncodeError
from nmt_prep.cleaning.align.links import Links, pharaoh, pharaoh_text
from tests.reference import align as reference

LINES = st.lists(st.text("a|\té ", max_size=8) | st.sampled_from(["a\tb", "a|||b", "", "|||", "\t", "x ||| yy"]))


def split(lines: list[str], mark: str) -> tuple[list[tuple[str, str]], tuple[int, int] | None]:
    """Splits lines that a byte separates, and returns what the twin does."""
    text = TextColumn.from_strings([f"{line}\n" for line in lines])
    data = np.append(text.data, np.zeros(1, np.uint8))  # never empty
    *arrays, number, size = split_columns(data, text.offsets[:-1], text.offsets[1:] - 1, mark)
    source, target = (list(TextColumn(*each).strings()) for each in (arrays[:2], arrays[2:]))
    return list(zip(source, target, strict=True)), None if size == 2 else (number, size)


@given(LINES, st.sampled_from(["\t", "|||"]))
def test_columns_are_those_of_the_twin(lines: list[str], mark: str) -> None:
    assert split(lines, mark) == reference.columns(lines, mark)


def test_a_line_without_two_columns_is_found() -> None:
    assert split(["a\tb", "", "c\td"], "\t") == ([("a", "b"), ("", ""), ("c", "d")], None)
    assert split(["a\tb", "c"], "\t") == ([("a", "b")], (1, 1))
    assert split(["a\t\tb"], "\t") == ([], (0, 3))
    assert split(["a|||b||||"], "|||") == ([], (0, 3))


def test_lines_must_be_within_the_data() -> None:
    data, start, end = np.zeros(3, np.uint8), np.array([1]), np.array([4])
    for starts, ends in ((start, end), (end, start), (start, np.array([2, 3])), (-start, start)):
        with pytest.raises(ValueError, match=r"a line is outside of the data|an end for each start"):
            split_columns(data, starts, ends, "\t")


@given(st.lists(st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 3000)), max_size=5)), st.integers(1, 3))
def test_text_of_links_is_that_of_the_twin(pairs: list[list[tuple[int, int]]], threads: int) -> None:
    flat = np.array([number for links in pairs for link in links for number in link], np.int32)
    offsets = np.cumsum([0, *map(len, pairs)]).astype(np.int64)
    expected = [reference.link_text(links) for links in pairs]
    assert list(TextColumn(*link_lines(flat, offsets, "", threads)).strings()) == expected
    links = Links(flat.reshape(-1, 2), offsets, 0)
    assert pharaoh(links).to_pylist() == expected
    assert bytes(pharaoh_text(links, threads)).decode() == "".join(f"{line}\n" for line in expected)


def test_text_of_many_pairs_does_not_depend_on_threads() -> None:
    pairs = 10_000
    flat = np.arange(4 * pairs, dtype=np.int32)
    offsets = np.arange(pairs + 1, dtype=np.int64) * 2
    data, ends = link_lines(flat, offsets, "\n", 3)
    lines = bytes(data).decode().splitlines(keepends=True)
    assert lines[4321] == "17284-17285 17286-17287\n"
    assert np.diff(ends).tolist() == list(map(len, lines))


def test_links_need_two_words_each_and_offsets_that_fit() -> None:
    with pytest.raises(ValueError, match="links have two words each"):
        link_lines(np.zeros(3, np.int32), np.array([0, 1]), "", 1)
    with pytest.raises(EncodeError, match="offsets of rows"):
        link_lines(np.zeros(2, np.int32), np.array([0, 2]), "", 1)
