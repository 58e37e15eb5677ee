from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.columns import Ragged, TextColumn, parquet_writer, text_columns
from nmt_prep.base.errors import InvalidTextError


@given(st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5), max_size=8))
def test_ragged_holds_rows(rows: list[list[int]]) -> None:
    ragged = Ragged.from_lists(rows)
    assert ragged.to_lists() == rows
    assert len(ragged) == len(rows)
    assert [row.tolist() for row in ragged] == rows
    assert ragged.lengths.tolist() == [len(row) for row in rows]
    assert (ragged.values.dtype, ragged.offsets.dtype) == (np.int32, np.int64)


@given(st.lists(st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=3), max_size=4))
def test_ragged_parts_in_a_row(parts: list[list[list[int]]]) -> None:
    joined = Ragged.joined([Ragged.from_lists(rows) for rows in parts])
    assert joined.to_lists() == [row for rows in parts for row in rows]
    assert (joined.values.dtype, joined.offsets.dtype) == (np.int32, np.int64)


def test_ragged_rows_by_number() -> None:
    ragged = Ragged.from_lists([[1, 2], [], [3]])
    assert ragged[0].tolist() == [1, 2]
    assert ragged[-1].tolist() == [3]
    for row in (3, -4):
        with pytest.raises(IndexError, match=f"row {row} of 3"):
            _ = ragged[row]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=8), st.booleans())
def test_text_is_the_same_from_strings_and_from_arrow(lines: list[str], large: bool) -> None:
    array = pa.array(lines, pa.large_string() if large else pa.string())
    expected = [line.encode() for line in lines]
    assert TextColumn.from_arrow(array).to_bytes() == expected
    assert TextColumn.from_strings(lines).to_bytes() == expected
    assert TextColumn.from_arrow(array[1:]).to_bytes() == expected[1:]


def test_text_of_arrow_is_not_copied() -> None:
    array = pa.array(["one", "two"], pa.large_string())
    assert TextColumn.from_arrow(array).data.ctypes.data == array.buffers()[2].address


def test_values_that_are_not_text() -> None:
    with pytest.raises(TypeError, match="expected an Arrow string array, got int64"):
        TextColumn.from_arrow(pa.array([1]))
    with pytest.raises(InvalidTextError, match="1 of 2 lines are null"):
        TextColumn.from_arrow(pa.array(["a", None]))
    with pytest.raises(InvalidTextError, match=r"line 1: character 2 is the lone surrogate U\+D800"):
        TextColumn.from_strings(["fine", "no\ud800"])


def test_every_form_of_lines_is_accepted() -> None:
    lines = ["a", "bc", ""]
    chunked = pa.chunked_array([pa.array(lines[:1]), pa.array(lines[1:])])
    arrays = [pa.array(lines[:2]), pa.array(lines[2:])]
    for form in (lines, iter(lines), pa.array(lines), chunked, arrays, iter(arrays)):
        assert [line for column in text_columns(form) for line in column.to_bytes()] == [b"a", b"bc", b""]
    assert list(text_columns([])) == []


def test_many_strings_come_in_several_columns_in_order() -> None:
    lines = [str(number) for number in range(150_000)]
    columns = list(text_columns(lines))
    assert [len(column) for column in columns] == [65_536, 65_536, 18_928]
    assert columns[2].to_bytes()[-1] == b"149999"


@given(st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=6))
def test_rows_are_divided_at_an_id(rows: list[list[int]]) -> None:
    parts, counts = Ragged.from_lists(rows).divided(2)
    expected = [[[int(digit) for digit in part] for part in "".join(map(str, row)).split("2")] for row in rows]
    assert parts.to_lists() == [part for row in expected for part in row]
    assert counts.tolist() == list(map(len, expected))


def test_a_failed_close_of_a_parquet_file_is_not_tried_again(tmp_path: Path) -> None:
    class Full:
        closed = 0

        def close(self) -> None:
            self.closed += 1
            raise OSError("full")

    full = Full()
    with (
        pytest.raises(OSError, match="full"),
        parquet_writer(tmp_path / "a", pa.schema([("row", pa.int64())])) as writer,
    ):
        writer.writer = full
    del writer
    assert full.closed == 1
