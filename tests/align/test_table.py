"""Lexical tables, on several threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from _nmt_prep_core import LexicalTable, add_cells

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


def test_tables_do_not_depend_on_threads() -> None:
    rows = cells(1)
    one, many = LexicalTable(*rows[:2]), LexicalTable(*rows[:2], 3)
    counts = one.placed(*rows)
    assert (many.placed(*rows, 3) == counts).all()
    one.reestimate(COLUMNS, counts)
    many.reestimate(COLUMNS, counts, 3)
    assert (one.slots() == many.slots()).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_a_reduced_table_is_that_of_the_cells_that_stay(threads: int) -> None:
    rows = cells(1)
    table = LexicalTable(*rows[:2])
    counts, others = table.placed(*rows), table.placed(*rows[:2], rows[2] % 7)
    reduced, left, left_others = table.reduced(counts, 500, others, threads)
    kept = table.rows_of(counts, 500)
    expected = LexicalTable(*kept[:2])
    assert (reduced.first() == expected.first()).all()
    assert (reduced.slots() == expected.slots()).all()
    assert (left == expected.placed(*kept)).all()
    assert (left_others == expected.placed(*kept[:2], kept[2] % 7)).all()
    assert 0 < len(kept[2]) < len(rows[2])


def test_a_copy_is_a_table_of_its_own() -> None:
    table = LexicalTable(np.array([0, 1]), np.array([0], np.int32))
    copy = table.copy()
    copy.reestimate(1, copy.placed(np.array([0, 1]), np.array([0], np.int32), np.array([5])))
    assert (copy.first() == table.first()).all()
    assert not (copy.slots() == table.slots()).all()


def test_counts_must_fit_the_table() -> None:
    table = LexicalTable(np.array([0, 1]), np.array([0], np.int32))
    with pytest.raises(ValueError, match="a count for each slot"):
        table.reduced(np.zeros(1, np.int64), 1, np.zeros(2, np.int64), 1)
