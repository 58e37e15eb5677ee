"""Lexical tables, on several threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from _nmt_prep_core import LexicalTable, add_cells, prune_cells

ROWS, COLUMNS = 40_000, 50


def cells(seed: int) -> tuple[Any, Any, Any]:
    """Returns rows of cells, more than a thread takes at once, some of them empty."""
    random = np.random.default_rng(seed)
    flat = np.unique(random.integers(0, ROWS * COLUMNS, 90_000))
    offsets = np.searchsorted(flat, np.arange(ROWS + 1) * COLUMNS)
    return offsets, (flat % COLUMNS).astype(np.int32), random.integers(1, 1000, len(flat))


def sums(offsets: Any, targets: Any, counts: Any) -> Any:
    dense = np.zeros((ROWS, COLUMNS), np.int64)
    dense[np.repeat(np.arange(ROWS), np.diff(offsets)), targets] = counts
    return dense


@pytest.mark.parametrize("threads", [1, 3])
def test_added_cells(threads: int) -> None:
    found = add_cells(*cells(1), *cells(2), threads)
    assert (sums(*found) == sums(*cells(1)) + sums(*cells(2))).all()
    assert all((np.diff(found[1][first:last]) > 0).all() for first, last in zip(found[0], found[0][1:], strict=False))


@pytest.mark.parametrize(("least", "association"), [(0, 0.0), (500, 0.0), (0, 0.1), (500, 0.3), (2000, 0.0)])
def test_rare_and_unassociated_cells_are_dropped(least: int, association: float) -> None:
    counts = sums(*cells(1))
    frequent = np.where(counts >= least, counts, 0)
    shares = frequent.sum(axis=1, keepdims=True).astype(float) * frequent.sum(axis=0, keepdims=True)
    kept = np.where(frequent.astype(float) ** 2 >= association * shares, frequent, 0)
    pruned = prune_cells(*cells(1), COLUMNS, least, association)
    assert (sums(*pruned) == kept).all()
    assert len(pruned[2]) == np.count_nonzero(kept)
    with pytest.raises(ValueError, match="a target is not a column"):
        prune_cells(np.array([0, 1]), np.array([3], np.int32), np.array([1]), 3, 0, 0.0)


def test_tables_do_not_depend_on_threads() -> None:
    rows = cells(1)
    one, many = LexicalTable(*rows, COLUMNS), LexicalTable(*rows, COLUMNS, 3)
    counts = one.placed(*rows)
    assert (many.placed(*rows, 3) == counts).all()
    assert (one.slots() == many.slots()).all()
    assert (one.reestimated(counts % 7, 1).slots() == many.reestimated(counts % 7, 3).slots()).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_a_reduced_table_is_that_of_the_cells_that_stay(threads: int) -> None:
    rows = cells(1)
    table = LexicalTable(*rows, COLUMNS)
    counts, others = table.placed(*rows), table.placed(*rows[:2], rows[2] % 7)
    reduced, left_others = table.reduced(counts, 500, others, threads)
    kept = table.rows_of(counts, 500)
    expected = LexicalTable(*kept, COLUMNS)
    assert (reduced.first() == expected.first()).all()
    assert (reduced.slots() == expected.slots()).all()
    assert (left_others == expected.placed(*kept[:2], kept[2] % 7)).all()
    assert 0 < len(kept[2]) < len(rows[2])


def one_cell(target: int = 0, count: int = 1, columns: int = 1) -> LexicalTable:
    return LexicalTable(np.array([0, 1]), np.array([target], np.int32), np.array([count]), columns)


def test_a_table_does_not_change() -> None:
    table = one_cell()
    before = table.slots()
    assert table.reestimated(np.zeros(2, np.int64), 1).slots().tolist() != before.tolist()
    assert table.slots().tolist() == before.tolist()


def test_counts_must_fit_the_table() -> None:
    table = one_cell()
    with pytest.raises(ValueError, match="a count for each slot"):
        table.reduced(np.zeros(1, np.int64), 1, np.zeros(2, np.int64), 1)
    for counts in ([-1, 0], [2**62, 2**62]):
        with pytest.raises(ValueError, match="the counts of links are negative or too large"):
            table.reestimated(np.array(counts), 1)


@pytest.mark.parametrize(
    ("offsets", "targets", "counts", "message"),
    [
        ([0, 2], [1, 1], [1, 1], "the cells of a row do not ascend"),
        ([0, 1], [-1], [1], "the cells of a row do not ascend"),
        ([0, 1], [2], [1], "a word is not in the vocabulary"),
        ([0, 1], [1], [1, 1], "a count for each cell"),
        ([0, 2], [1], [1], "the rows of cells do not fit together"),
        ([1, 1], [1], [1], "the rows of cells do not fit together"),
        ([0, 2**63 - 1, 1], [1], [1], "the rows of cells do not fit together"),
        ([], [], [], "the rows of cells do not fit together"),
        ([0, 1], [1], [2**60 + 1], "the counts of links are negative or too large"),
    ],
)
def test_rows_that_do_not_fit_are_refused(
    offsets: list[int], targets: list[int], counts: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        LexicalTable(np.array(offsets, np.int64), np.array(targets, np.int32), np.array(counts, np.int64), 2)


CELL = np.dtype([("target", "<i4"), ("forward", "<f4"), ("backward", "<f4")])
FREE = (-1, 0.0, 0.0)


@pytest.mark.parametrize(
    ("first", "slots", "message"),
    [
        ([0, 2], [(0, 1.0, 1.0), (1, 1.0, 1.0)], "do not fit together"),  # no free slot: searches would not end
        ([0, 3], [(0, 1.0, 1.0), FREE, FREE], "do not fit together"),
        ([0, 4], [FREE, FREE], "do not fit together"),
        ([0, -2, 2], [FREE, FREE], "do not fit together"),
        ([0, 2**63 - 1, -(2**63), 2], [FREE, FREE], "do not fit together"),
        ([0, 2**62, 2], [FREE, FREE], "do not fit together"),
        ([], [FREE], "do not fit together"),
        ([0, 4], [(0, 1.0, 1.0), (0, 1.0, 1.0), FREE, FREE], "do not fit together"),  # a cell twice
        ([0, 4], [FREE, FREE, (0, 1.0, 1.0), FREE], "do not fit together"),  # not where it is searched
        ([0, 2], [(2, 1.0, 1.0), FREE], "a word is not in the vocabulary"),
        ([0, 2], [(-2, 1.0, 1.0), FREE], "a word is not in the vocabulary"),
        ([0, 2], [(0, -1.0, 1.0), FREE], "what is not a probability"),
        ([0, 2], [(0, 1.0, float("nan")), FREE], "what is not a probability"),
        ([0, 2], [(0, float("inf"), 1.0), FREE], "what is not a probability"),
    ],
)
def test_damaged_tables_are_refused(first: list[int], slots: list[Any], message: str) -> None:
    cells = np.array(slots, CELL).view(np.uint8)
    with pytest.raises(ValueError, match=message):
        LexicalTable.restored(np.array(first, np.int64), cells, 2)


def test_a_table_is_restored_from_its_slots() -> None:
    rows = cells(1)
    table = LexicalTable(*rows, COLUMNS)
    restored = LexicalTable.restored(table.first(), table.slots(), COLUMNS)
    assert (restored.placed(*rows) == table.placed(*rows)).all()
    with pytest.raises(ValueError, match="the lexical table is cut"):
        LexicalTable.restored(table.first(), table.slots()[:-1], COLUMNS)
