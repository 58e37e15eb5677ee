"""The order of documents: a shuffle of whole documents, whose pairs stay together.

A table lists a split's documents: each document's first row and first position, in row order and again in position
order. It is the file ``index/<split>.documents``: int64, little-endian, shape ``[4, documents]``. It is mapped into
memory, so that its size is not limited by memory.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.base.artefacts import atomic_write, writing
from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import RecordsError
from nmt_prep.training.records.dataset_json import IndexInfo
from nmt_prep.training.records.record_columns import (
    INDEX_DIRECTORY,
    REPEATED,
    column_file,
    column_path,
    mapped,
    note_path,
    rows_by_part,
)
from nmt_prep.training.records.shuffle_plan import GlobalShuffle, ShardPlan, Shuffle

TABLE_BYTES = 32  # Bytes of a document in a table

_AT_A_TIME = 1 << 20

Int64s: TypeAlias = "npt.NDArray[np.int64]"


def documents_path(records: Path, split: str) -> Path:
    """Returns the path of a split's table."""
    return records / INDEX_DIRECTORY / f"{split}.documents"


def write_table(path: Path, lengths: Iterable[Int64s], shuffle: Callable[[int], GlobalShuffle] | None) -> int:
    """Writes the table of documents; returns their number.

    Args:
        lengths: pair count of each document, int64, in the order of the rows, in arrays of any size.
        shuffle: returns the shuffle for a document count; None keeps their order.
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
    """Fills lines 1 to 3 of a table, whose line 0 lists each document's first row."""
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
    """Yields the pair count of each document in a split, in row order, in arrays of any size."""
    first_rows = _mapped(documents_path(records, split))[0]
    for start in range(0, len(first_rows), _AT_A_TIME):
        yield np.diff(np.append(first_rows[start : start + _AT_A_TIME + 1], pairs))[:_AT_A_TIME]


def _moved(places: Int64s, starts: Int64s, moved: Int64s) -> Int64s:
    """Returns new rows or positions, if the document that starts at ``starts[i]`` moves to ``moved[i]``."""
    document = np.searchsorted(starts, places, side="right") - 1
    return np.asarray(moved[document] + places - starts[document], np.int64)


def _mapped(table: Path) -> npt.NDArray[Any]:
    try:
        return np.memmap(table, "<i8", "r").reshape(4, -1)
    except (OSError, ValueError) as error:
        raise RecordsError(f"{table}: cannot be read: {error}; run the encode stage again") from error


def shuffle_of(rows: int, seed: int, split: str, records: Path, *, documents: bool) -> Shuffle:
    """Returns a split's shuffle: over whole documents, whose table is in a directory of records, or over pairs."""
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
        """The keys of the pair shuffle with the same seed, which identify spill files."""
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


# Repeated segments: pairs that cleaning dropped as duplicates, kept as context of the pair after them in its document.
#
# The tasks that encode parts write the segments of their rows; the tasks that write shards collect them in the order of
# the shuffle, in the files that `columns` describes.


class Repeated(NamedTuple):
    """Repeated segments in order."""

    pairs: Int64s  # int64, number of the pair after each segment
    source: Ragged  # IDs of their sources, with the frames of rows
    target: Ragged  # IDs of their targets, likewise

    @classmethod
    def joined(cls, parts: Sequence[Repeated]) -> Repeated:
        pairs = np.concatenate([np.empty(0, np.int64), *(part.pairs for part in parts)])
        sources, targets = [Ragged.from_lists([])], [Ragged.from_lists([])]
        for part in parts:
            sources.append(part.source)
            targets.append(part.target)
        return cls(pairs, Ragged.joined(sources), Ragged.joined(targets))

    def ordered(self, before: int) -> Repeated:
        """Returns the segments in the order of their pairs, with ``before`` added to the pair numbers."""
        order = np.argsort(self.pairs, kind="stable")
        return Repeated(self.pairs[order] + before, self.source.taken(order), self.target.taken(order))

    def among(self, source: Ragged, target: Ragged) -> tuple[Ragged, Ragged]:
        """Returns the IDs of pairs and of each pair's preceding segments, in order, for both sides."""
        order = np.argsort(np.concatenate([self.pairs, np.arange(len(source))]), kind="stable")
        merged = (Ragged.joined(sides) for sides in ((self.source, source), (self.target, target)))
        first, second = (side.taken(order) for side in merged)
        return first, second

    def columns(self, source_ids: int = 0, target_ids: int = 0) -> dict[str, npt.NDArray[Any]]:
        ends = self.source.offsets[1:] + source_ids, self.target.offsets[1:] + target_ids
        values = np.column_stack([self.pairs, *ends]), self.source.values, self.target.values
        return dict(zip(REPEATED, values, strict=True))

    def note(self, spill: Path) -> None:
        for column, values in self.columns().items():
            with atomic_write(note_path(spill, column)) as beside:
                values.tofile(beside)

    @classmethod
    def read(cls, path_of: Callable[[str], Path], chosen: Callable[[Int64s], Int64s]) -> Repeated:
        table, source, target = (mapped(path_of(column), column) for column in REPEATED)
        pairs, *ends = table.reshape(-1, 3).T
        numbers = chosen(pairs)
        sides = (_rows(ids, end, numbers) for ids, end in zip((source, target), ends, strict=True))
        return cls(pairs[numbers], *sides)


def repeated_of_shard(
    path: Path, plan: ShardPlan, number: int, spills: Sequence[Path], first_rows: Sequence[int]
) -> dict[str, IndexInfo]:
    """Writes the repeated segments of a shard; returns sizes and digests by column."""
    before = source_ids = target_ids = 0
    with ExitStack() as stack:
        files = [stack.enter_context(column_file(path, column)) for column in REPEATED]
        for count, parts in rows_by_part(plan, number, first_rows):
            found = Repeated.joined([_of_rows(spills[part], places, rows) for part, places, rows in parts])
            found = found.ordered(before)
            for file, values in zip(files, found.columns(source_ids, target_ids).values(), strict=True):
                file.write(values.tobytes())
            before += count
            source_ids, target_ids = source_ids + len(found.source.values), target_ids + len(found.target.values)
    return {column: IndexInfo.of(file) for column, file in zip(REPEATED, files, strict=True)}


def _of_rows(spill: Path, places: Int64s, rows: Int64s) -> Repeated:
    """Returns the segments before some rows of a part; their ``pairs`` are ``places[i]`` for ``rows[i]``."""
    counts = np.empty(0, np.int64)

    def chosen(pairs: Int64s) -> Int64s:
        nonlocal counts
        first, end = (np.searchsorted(pairs, rows, side=side) for side in ("left", "right"))
        counts = end - first
        return np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())

    found = Repeated.read(lambda column: note_path(spill, column), chosen)
    return found._replace(pairs=np.repeat(places, counts))


def repeated_before(shard: Path, first: int, pairs: int) -> Repeated:
    """Returns the segments before some pairs in a shard, numbered from the first of these pairs."""

    def chosen(numbers: Int64s) -> Int64s:
        return np.arange(bisect_left(numbers, first), bisect_left(numbers, first + pairs))

    found = Repeated.read(lambda column: column_path(shard, column), chosen)
    return found._replace(pairs=found.pairs - first)


def _rows(ids: npt.NDArray[np.int32], ends: Int64s, numbers: Int64s) -> Ragged:
    """Returns the ID rows with the given numbers, ascending; ``ends`` are the ends of all rows."""
    if not len(numbers):
        return Ragged.from_lists([])
    starts = np.where(numbers > 0, ends[numbers - 1], 0)
    first, last = int(starts[0]), int(ends[numbers[-1]])
    # Odd rows are the wanted ones, even rows the gaps between them.
    offsets = np.concatenate([[0], np.column_stack([starts, ends[numbers]]).ravel() - first])
    return Ragged(ids[first:last], offsets).taken(2 * np.arange(len(numbers)) + 1)
