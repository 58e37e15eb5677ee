from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from _nmt_prep_core import Bucket, PieceTable, join_pairs, ordered_records, piece_lines
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.columns import Ragged, TextColumn
from tests.reference import outputs as reference

PIECES = ["", "a", "▁the", "𠮷", "fifteen_bytes_.", "sixteen_bytes___", "x" * 300]
ROW = st.lists(st.integers(0, len(PIECES) - 1), max_size=6)
ROWS = st.lists(ROW, max_size=6)
LAST = st.integers(-1, len(PIECES) - 1)


def table(pieces: list[str]) -> PieceTable:
    column = TextColumn.from_strings(pieces)
    return PieceTable(column.data, column.offsets)


def lines(rows: Ragged, last: int) -> list[str]:
    data, offsets = table(PIECES).lines(rows.values, rows.offsets, last)
    return [data[start:end].tobytes().decode() for start, end in pairwise(offsets)]


@given(ROWS, LAST)
def test_lines_of_pieces_like_the_reference(rows: list[list[int]], last: int) -> None:
    assert lines(Ragged.from_lists(rows), last) == reference.piece_lines(rows, PIECES, last)


@given(st.lists(st.tuples(ROW, ROW), max_size=6), LAST)
def test_rows_of_pieces_like_the_reference(pairs: list[tuple[list[int], list[int]]], last: int) -> None:
    sides = [Ragged.from_lists([pair[side] for pair in pairs]) for side in range(2)]
    columns = [(table(PIECES), rows.values, rows.offsets, last) for rows in sides]
    texts = (reference.piece_lines(rows.to_lists(), PIECES, last) for rows in sides)
    expected = "".join(f"{source}\t{target}\n" for source, target in zip(*texts, strict=True))
    assert piece_lines(columns).tobytes().decode() == expected


def test_lines_of_pieces() -> None:
    rows = Ragged.from_lists([[2, 3, 1], [], [1], [1, 1]])
    assert lines(rows, 1) == ["▁the 𠮷", "", "", "a"]
    assert lines(rows, -1) == ["▁the 𠮷 a", "", "a", "a a"]
    assert piece_lines([(table(PIECES), rows.values, rows.offsets, 1)]).tobytes().decode() == "▁the 𠮷\n\n\na\n"
    assert piece_lines([]).tobytes() == b""


@pytest.mark.parametrize("number", [-1, 7])
def test_an_id_without_a_piece_is_refused(number: int) -> None:
    with pytest.raises(IndexError, match=f"the id {number} has no piece"):
        lines(Ragged.from_lists([[1, number, 2]]), -1)


def test_columns_of_different_length_are_refused() -> None:
    columns = [(table(PIECES), rows.values, rows.offsets, -1) for rows in map(Ragged.from_lists, ([[1]], [[1], [2]]))]
    with pytest.raises(ValueError, match="different numbers of rows"):
        piece_lines(columns)


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=5), st.lists(st.integers(0, 9), max_size=5))),
    st.lists(st.integers(-2, 9), max_size=6),
    LAST,
    LAST,
)
def test_join_pairs_like_the_reference(
    pairs: list[tuple[list[int], list[int]]], parts: list[int], source_last: int, target_last: int
) -> None:
    sources, targets = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    source, target = Ragged.from_lists(sources), Ragged.from_lists(targets)
    joined = Ragged(
        *join_pairs(
            source.values,
            source.offsets,
            target.values,
            target.offsets,
            np.array(parts, np.int32),
            source_last,
            target_last,
        )
    )
    assert joined.to_lists() == reference.join_pairs(sources, targets, parts, source_last, target_last)


def test_a_part_that_is_neither_side_nor_id_is_refused() -> None:
    rows = Ragged.from_lists([[1]])
    with pytest.raises(ValueError, match="a part is a side or an id"):
        join_pairs(rows.values, rows.offsets, rows.values, rows.offsets, np.array([-3], np.int32), -1, -1)


def test_sides_of_different_length_are_refused() -> None:
    one, two = Ragged.from_lists([[1]]), Ragged.from_lists([[1], [2]])
    with pytest.raises(ValueError, match="different numbers of rows"):
        join_pairs(one.values, one.offsets, two.values, two.offsets, np.array([-1], np.int32), -1, -1)
    with pytest.raises(ValueError, match="1 rows of inputs, 2 of targets"):
        ordered_records(one.values, one.offsets, two.values, two.offsets, np.array([0], np.int32), "ids")


def test_a_bucket_of_ids_has_no_text() -> None:
    rows = Ragged.from_lists([[1], [2, 3]])
    corpora = np.array([0, 0], np.int32)
    data = ordered_records(rows.values, rows.offsets, rows.values, rows.offsets, corpora, "ids")
    bucket = Bucket(data, 0, 2, "ids")
    assert (len(bucket), bucket.source_tokens, bucket.target_tokens) == (2, 3, 3)
    with pytest.raises(ValueError, match="the bucket has no text"):
        bucket.text(0, 100)
    with pytest.raises(ValueError, match="each pair has one corpus"):
        ordered_records(rows.values, rows.offsets, rows.values, rows.offsets, corpora[:1], "ids")
