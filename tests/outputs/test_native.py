from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from _nmt_prep_core import Bucket, join_pairs, ordered_records, piece_lines
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.columns import Ragged, TextColumn
from tests.reference import outputs as reference

PIECES = ["", "a", "▁the", "𠮷", "bc"]
ROWS = st.lists(st.lists(st.integers(0, len(PIECES) - 1), max_size=6), max_size=6)
LAST = st.integers(-1, len(PIECES) - 1)


def lines(rows: Ragged, last: int) -> list[str]:
    pieces = TextColumn.from_strings(PIECES)
    data, offsets = piece_lines(rows.values, rows.offsets, pieces.data, pieces.offsets, last)
    return [data[start:end].tobytes().decode() for start, end in pairwise(offsets)]


@given(ROWS, LAST)
def test_piece_lines_like_the_reference(rows: list[list[int]], last: int) -> None:
    assert lines(Ragged.from_lists(rows), last) == reference.piece_lines(rows, PIECES, last)


def test_piece_lines() -> None:
    rows = Ragged.from_lists([[2, 3, 1], [], [1], [1, 1]])
    assert lines(rows, 1) == ["▁the 𠮷", "", "", "a"]
    assert lines(rows, -1) == ["▁the 𠮷 a", "", "a", "a a"]


@pytest.mark.parametrize("number", [-1, 5])
def test_an_id_without_a_piece_is_refused(number: int) -> None:
    with pytest.raises(IndexError, match=f"the id {number} has no piece"):
        lines(Ragged.from_lists([[1, number, 2]]), -1)


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
