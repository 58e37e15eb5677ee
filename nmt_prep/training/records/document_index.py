"""The order of documents: a shuffle of whole documents, whose pairs stay together.

A table lists the documents of a split: the first row and first position of each document, in the order of rows and
again in the order of positions. It is the file ``index/<split>.documents``: int64, little-endian, shape ``[4,
documents]``. It is mapped into memory, so that its size is not limited by memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.base.artefacts import atomic_write, writing
from nmt_prep.base.errors import RecordsError
from nmt_prep.training.records.index import INDEX_DIRECTORY
from nmt_prep.training.records.shuffle_plan import GlobalShuffle, Shuffle

TABLE_BYTES = 32  # Bytes of a document in a table

_AT_A_TIME = 1 << 20

Int64s: TypeAlias = "npt.NDArray[np.int64]"


def documents_path(records: Path, split: str) -> Path:
    """Returns the path of the table of a split."""
    return records / INDEX_DIRECTORY / f"{split}.documents"


def write_table(path: Path, lengths: Iterable[Int64s], shuffle: Callable[[int], GlobalShuffle] | None) -> int:
    """Writes the table of documents; returns their number.

    Args:
        lengths: number of pairs of each document, int64, in the order of the rows, in arrays of any size.
        shuffle: returns the shuffle of a number of documents; None keeps their order.
    """
    with atomic_write(path) as beside, writing(path):
        rows = 0
        with beside.open("wb") as file:
            for sizes in lengths:
                ends = rows + np.cumsum(sizes)
                file.write((ends - sizes).astype("<i8").tobytes())
                rows = int(ends[-1]) if len(ends) else rows
            documents = file.tell() // 8
            file.truncate(TABLE_BYTES * documents)
        if documents:
            _place(np.memmap(beside, "<i8", "r+", shape=(4, documents)), rows, shuffle and shuffle(documents))
    return documents


def _place(table: npt.NDArray[Any], rows: int, shuffle: GlobalShuffle | None) -> None:
    """Fills lines 1 to 3 of a table, whose line 0 has the first row of each document, given the number of rows."""
    documents, position = table.shape[1], 0
    for start in range(0, documents, _AT_A_TIME):
        places = np.arange(start, min(start + _AT_A_TIME, documents))
        order = places if shuffle is None else shuffle.rows_at(places)
        first_rows = table[0][order]
        after = np.minimum(order + 1, documents - 1)
        sizes = np.where(order + 1 < documents, table[0][after], rows) - first_rows
        starts = position + np.cumsum(sizes) - sizes
        position += int(sizes.sum())
        table[1][order] = starts
        table[2][places], table[3][places] = first_rows, starts


def document_sizes(records: Path, split: str, pairs: int) -> Iterator[Int64s]:
    """Yields the numbers of pairs of the documents of a split, in the order of the rows, in arrays of any size."""
    first_rows = _mapped(documents_path(records, split))[0]
    for start in range(0, len(first_rows), _AT_A_TIME):
        yield np.diff(np.append(first_rows[start : start + _AT_A_TIME + 1], pairs))[:_AT_A_TIME]


def _moved(places: Int64s, starts: Int64s, moved: Int64s) -> Int64s:
    """Returns new row numbers or positions, if the document that starts at ``starts[i]`` moves to ``moved[i]``."""
    document = np.searchsorted(starts, places, side="right") - 1
    return np.asarray(moved[document] + places - starts[document], np.int64)


def _mapped(table: Path) -> npt.NDArray[Any]:
    try:
        return np.memmap(table, "<i8", "r").reshape(4, -1)
    except (OSError, ValueError) as error:
        raise RecordsError(f"{table}: cannot be read: {error}; run the encode stage again") from error


def shuffle_of(rows: int, seed: int, split: str, records: Path, *, documents: bool) -> Shuffle:
    """Returns the shuffle of a split: of whole documents, whose table is in a directory of records, or of pairs."""
    if documents:
        return DocumentShuffle(rows, seed, split, documents_path(records, split))
    return GlobalShuffle(rows, seed, split)


@dataclass(frozen=True)
class DocumentShuffle:
    """A bijection of ``[0, rows)`` from row numbers to positions that keeps the pairs of a document together."""

    rows: int  # pairs in the split
    seed: int  # the config's seed
    split: str  # name of the split
    table: Path  # the table of documents; it is read when positions are first asked for

    @property
    def keys(self) -> npt.NDArray[np.uint64]:
        """The keys of the shuffle of pairs with the same seed, which identify spill files."""
        return GlobalShuffle(self.rows, self.seed, self.split).keys

    def positions(self, first_row: int, count: int) -> Int64s:
        """Returns the positions of ``count`` consecutive rows, int64, shape ``[count]``."""
        first_rows, positions, _, _ = self._table
        rows = np.arange(first_row, first_row + count)
        return _moved(rows, first_rows, positions)

    def rows_at(self, positions: npt.ArrayLike) -> Int64s:
        """Returns the rows that were moved to the given positions, int64: the inverse of :meth:`positions`."""
        _, _, first_rows, starts = self._table
        return _moved(np.asarray(positions, np.int64), starts, first_rows)

    @cached_property
    def _table(self) -> npt.NDArray[Any]:
        return _mapped(self.table) if self.rows else np.empty((4, 0), np.int64)

    def __getstate__(self) -> dict[str, object]:
        # Other processes read the table themselves.
        return {name: getattr(self, name) for name in ("rows", "seed", "split", "table")}
