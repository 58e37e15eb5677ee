from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from _nmt_prep_core import fill_rows, select_rows
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.columns import Ragged
from nmt_prep.training.batches.batch_reader import Cells, pad_into
from tests.reference import padding as reference

ROWS = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=5), max_size=8)


def padded(pairs: list[list[int]], width: int, cells: Cells = Cells.IDS, **options: Any) -> list[list[int]]:
    rows = options.get("row_pairs")
    out = np.full((len(pairs) if rows is None else len(rows), width), 99)
    pad_into(out, Ragged.from_lists(pairs), cells, **options)
    return out.tolist()


def test_rows_of_one_pair() -> None:
    pairs = [[5, 6, 1], [7, 1]]
    assert padded(pairs, 4, padding=-100) == [[5, 6, 1, -100], [7, 1, -100, -100]]
    assert padded(pairs, 3, Cells.SHIFTED, first=9) == [[9, 5, 6], [9, 7, 0]]
    assert padded(pairs, 3, Cells.SEGMENTS) == [[1, 1, 1], [1, 1, 0]]
    assert padded([], 3) == []


def test_packed_rows() -> None:
    pairs, rows = [[5, 6, 1], [7, 1], [8, 1]], np.array([2, 1])
    assert padded(pairs, 6, row_pairs=rows) == [[5, 6, 1, 7, 1, 0], [8, 1, 0, 0, 0, 0]]
    assert padded(pairs, 6, Cells.SHIFTED, row_pairs=rows, first=9) == [[9, 5, 6, 9, 7, 0], [9, 8, 0, 0, 0, 0]]
    assert padded(pairs, 6, Cells.SEGMENTS, row_pairs=rows) == [[1, 1, 1, 2, 2, 0], [1, 1, 0, 0, 0, 0]]
    assert padded(pairs, 6, Cells.POSITIONS, row_pairs=rows) == [[0, 1, 2, 0, 1, 0], [0, 1, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("pairs", "shape", "options", "message"),
    [
        ([[1, 2, 3]], (1, 2), {}, "a row is too long"),
        ([[1]], (2, 2), {}, "`width` cells for each row"),
        ([[1]], (1, 2), {"row_pairs": np.array([2])}, "more pairs than there are"),
        ([[1], [2]], (1, 2), {"row_pairs": np.array([1])}, "fewer pairs than there are"),
        ([[1]], (1, 2), {"row_pairs": np.array([-1])}, "at least 0 pairs"),
    ],
)
def test_what_does_not_fit_is_refused(
    pairs: list[list[int]], shape: tuple[int, int], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        pad_into(np.zeros(shape, np.int64), Ragged.from_lists(pairs), **options)


def test_a_width_that_overflows_is_refused() -> None:
    empty, rows = np.empty((0, 2**59), np.int64), np.ones(32, np.int64)
    side = np.zeros(33, np.int64)
    with pytest.raises(ValueError, match="`width` cells for each row"):
        pad_into(empty, Ragged(side[:0].astype(np.int32), side), row_pairs=rows)
    with pytest.raises(ValueError, match="`width` cells for each row"):
        fill_rows(side[:0].astype(np.int32), side, side[:0].astype(np.int32), side, rows, 0, 0, *[empty] * 3)


@given(pairs=ROWS, cells=st.sampled_from(Cells), more=st.integers(0, 2), data=st.data())
def test_as_the_reference(pairs: list[list[int]], cells: Cells, more: int, data: st.DataObject) -> None:
    ends = data.draw(st.lists(st.integers(0, len(pairs)), max_size=5).map(sorted))
    rows = np.diff([0, *ends, len(pairs)])
    bounds = np.cumsum([0, *rows])
    width = more + max(sum(map(len, pairs[a:b])) for a, b in itertools.pairwise(bounds))
    expected = reference.pad_rows(pairs, rows.tolist(), cells.name, -100, 7, width)
    assert padded(pairs, width, cells, row_pairs=rows, padding=-100, first=7) == expected


def filled(
    sequences: list[list[int]], bounds: list[list[int]], sizes: list[int], width: int, padding: int
) -> tuple[list[list[int]], list[list[int]], list[list[int]], list[int]]:
    matrices = [np.full((len(sizes or sequences), width), 99) for _ in range(3)]
    sides = (part for side in (sequences, bounds) for part in Ragged.from_lists(side).contiguous())
    begins = fill_rows(*sides, np.array(sizes, np.int64), padding, -100, *matrices)  # type: ignore[call-arg,arg-type]
    ids, labels, third = (matrix.tolist() for matrix in matrices)
    return ids, labels, third, begins.tolist()


def test_rows_of_sequences() -> None:
    sequences, bounds = [[5, 6, 7, 1], [8, 9, 1], [4, 1]], [[2, 4], [0, 1, 2, 9], []]
    assert filled(sequences, bounds, [2, 1], 8, 0) == (
        [[5, 6, 7, 1, 8, 9, 1, 0], [4, 1, 0, 0, 0, 0, 0, 0]],
        [[-100, -100, 7, 1, -100, -100, 1, -100], [-100] * 8],
        [[0, 1, 2, 3, 0, 1, 2, 0], [0, 1, 0, 1, 2, 3, 4, 5]],
        [0, 4, 7, 8, 10, 16],
    )
    assert filled(sequences, bounds, [], 4, 0) == (
        [[5, 6, 7, 1], [8, 9, 1, 0], [4, 1, 0, 0]],
        [[-100, -100, 7, 1], [8, -100, 1, -100], [-100] * 4],
        [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]],
        [],
    )


@given(sequences=ROWS, more=st.integers(0, 2), packed=st.booleans(), data=st.data())
def test_sequences_as_the_reference(sequences: list[list[int]], more: int, packed: bool, data: st.DataObject) -> None:
    bounds = [sorted(data.draw(st.sets(st.integers(0, 6), max_size=6))) for _ in sequences]
    bounds = [spans[: len(spans) // 2 * 2] for spans in bounds]
    ends = data.draw(st.lists(st.integers(0, len(sequences)), max_size=5).map(sorted))
    sizes = np.diff([0, *ends, len(sequences)]).tolist() if packed else []
    cuts = np.cumsum([0, *(sizes or [1] * len(sequences))])
    width = more + max((sum(map(len, sequences[a:b])) for a, b in itertools.pairwise(cuts)), default=0)
    assert filled(sequences, bounds, sizes, width, 7) == reference.fill_rows(sequences, bounds, sizes, width, 7)


@pytest.mark.parametrize(
    ("bounds", "sizes", "width", "message"),
    [
        ([[1]], [], 3, "a span has two bounds"),
        ([[1, 0]], [], 3, "must ascend"),
        ([[-1, 1]], [], 3, "must ascend"),
        ([[0, 2, 1, 3]], [], 3, "must ascend"),
        ([[], []], [], 3, "bounds for each sequence"),
        ([[]], [], 2, "a row is too long"),
        ([[]], [2], 9, "more sequences than there are"),
        ([[]], [0], 9, "fewer sequences than there are"),
        ([[]], [-1], 9, "at least 0 sequences"),
    ],
)
def test_wrong_sequences_are_refused(bounds: list[list[int]], sizes: list[int], width: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        filled([[5, 6, 1]], bounds, sizes, width, 0)


@given(rows=ROWS, longest=st.integers(0, 6), data=st.data())
def test_rows_are_selected_as_by_the_reference(rows: list[list[int]], longest: int, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9)) if rows else []
    side = Ragged.from_lists(rows)
    found = Ragged(*select_rows(side.values, side.offsets, np.array(numbers, np.int64), longest))
    assert found.to_lists() == reference.select_rows(rows, numbers, longest)


@pytest.mark.parametrize(
    ("offsets", "numbers", "longest", "message"),
    [
        ([0, 2], [1], 9, "not that of a row"),
        ([0, 2], [-1], 9, "not that of a row"),
        ([0, 3], [0], 9, "offsets must ascend"),
        ([2, 0], [0], 9, "offsets must ascend"),
        ([], [0], 9, "not that of a row"),
        ([0, 2], [0], -1, "at least 0 ids"),
    ],
)
def test_wrong_rows_are_refused(offsets: list[int], numbers: list[int], longest: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        select_rows(np.array([5, 6], np.int32), np.array(offsets, np.int64), np.array(numbers, np.int64), longest)
