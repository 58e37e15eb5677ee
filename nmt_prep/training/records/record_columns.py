"""Pair columns other than their IDs: a file ``index/<shard>.<column>`` for each shard, in the order of its pairs.

``weight`` is float32, little-endian: each pair's weight in the loss. ``document`` is uint8: 1 for a pair that
continues the document of the previous pair, with nothing between them but repeated segments; else 0.

Repeated segments, which cleaning dropped as duplicates, are context of the pairs after them. ``repeated`` is int64,
shape ``[segments, 3]``: for each segment the number of the pair after it, and the ends of its IDs in
``repeated-source`` and ``repeated-target``, int32.

Each task that encodes a part writes the values of its rows to a file of its own; the tasks that write shards collect
them in the shuffle's order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt

from nmt_prep.base.artefacts import atomic_write, writing
from nmt_prep.base.digests import HashedFile
from nmt_prep.base.errors import RecordsError
from nmt_prep.training.records.dataset_json import IndexInfo
from nmt_prep.training.records.shuffle_plan import ShardPlan

INDEX_DIRECTORY = "index"
SATURATED = 0xFFFF  # Represents itself and all larger values
PAIR_BYTES = 6  # Size of a pair's entry

_TRAILER = struct.Struct("<8s2q")
_MAGIC = b"nmtindx1"
_BLOCK_BYTES = 32


# A shard's index: the lengths of its pairs, and the offsets at which its records can be read.
#
# With the index, training code can compute the batches of an epoch (to resume at one of them, or to give all workers
# equally many) while reading a hundredth of the bytes. The file `index/<shard>.index` holds, little-endian:
#
# - for each pair, in the shard's order, three uint16: tokens of the source, tokens of the target, number of the
#   corpus; 65,535 stands for itself and all larger values;
# - for each block (a record of layout `chunk` or `packed`, 256 records with layout `example`) four int64: its offset
#   in the shard, and its numbers of records, pairs and rows (0 if pairs are not packed); rows do not count pairs longer
#   than a row;
# - a trailer: `nmtindx1`, then the pair and block counts, two int64.


def index_path(shard: str | Path) -> Path:
    """Returns the path of a shard's index."""
    shard = Path(shard)
    return shard.parent / INDEX_DIRECTORY / f"{shard.name}.index"


@dataclass(frozen=True)
class ShardIndex:
    """An index's content."""

    # uint16, shape `[pairs, 3]`: source token count, target token count, corpus index
    pairs: npt.NDArray[np.uint16]
    blocks: npt.NDArray[np.int64]  # int64, shape `[blocks, 4]`: offset, records, pairs, rows

    @classmethod
    def load(cls, shard: str | Path) -> Self:
        path = index_path(shard)
        try:
            raw, size = np.memmap(path, np.uint8, "r"), Path(shard).stat().st_size
        except (OSError, ValueError) as error:
            raise RecordsError(f"{path}: cannot be read: {error}; restore it, or run the encode stage again") from error
        magic, pairs, blocks = _TRAILER.unpack(raw[-_TRAILER.size :].tobytes().rjust(_TRAILER.size, b"\0"))
        whole = magic == _MAGIC and min(pairs, blocks) >= 0
        if not whole or len(raw) != pairs * PAIR_BYTES + blocks * _BLOCK_BYTES + _TRAILER.size:
            raise RecordsError(f"{path}: not the index of a shard; restore it, or run the encode stage again")
        columns, bytes_of_table = np.split(raw[: -_TRAILER.size], [pairs * PAIR_BYTES])
        table = np.frombuffer(bytes_of_table.tobytes(), "<i8").reshape(-1, 4)
        starts, counts = table[:, 0], table[:, 1:]
        in_order = (np.diff(starts, prepend=0, append=size) >= 0).all() and ((counts >= 0) & (counts <= pairs)).all()
        if not in_order or counts[:, 1].sum() != pairs:
            raise RecordsError(f"{path}: does not fit its shard; restore both, or run the encode stage again")
        return cls(columns.view("<u2").reshape(-1, 3), table)


class IndexWriter:
    """Writes an index while its shard is written."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = HashedFile(file)  # the output file with its digest
        self._pairs = 0
        self._blocks: list[npt.NDArray[np.int64]] = []

    def add_pairs(self, pairs: npt.NDArray[np.uint16]) -> None:
        self._pairs += len(pairs) // 3
        self.file.write(pairs.astype("<u2").tobytes())

    def add_blocks(self, blocks: npt.NDArray[np.int64]) -> None:
        """Adds blocks, int64, shape ``[blocks, 4]``."""
        self._blocks.append(blocks)

    def finish(self) -> None:
        blocks = np.concatenate([np.empty((0, 4), np.int64), *self._blocks])
        self.file.write(blocks.astype("<i8").tobytes())
        self.file.write(_TRAILER.pack(_MAGIC, self._pairs, len(blocks)))


REPEATED = ("repeated", "repeated-source", "repeated-target")

TYPES: Mapping[str, str] = {
    "document": "u1",
    "weight": "<f4",
    **dict(zip(REPEATED, ("<i8", "<i4", "<i4"), strict=True)),
}
"""The columns and the names of their types."""

_AT_A_TIME = 1 << 20


def column_path(shard: str | Path, column: str) -> Path:
    """Returns the path of a shard's column file."""
    return index_path(shard).with_name(f"{Path(shard).name}.{column}")


def note_path(spill: Path, column: str) -> Path:
    """Returns the path of the file with the values for a spill file's rows."""
    return spill.with_name(f"{spill.name}.{column}")


@contextmanager
def column_file(shard: Path, column: str) -> Iterator[HashedFile]:
    """Opens a shard's column file for writing; the complete file appears under its name."""
    with atomic_write(column_path(shard, column)) as beside, writing(shard), beside.open("wb") as file:
        yield HashedFile(file)


def columns_of_shard(
    path: Path, plan: ShardPlan, number: int, spills: Sequence[Path], first_rows: Sequence[int]
) -> dict[str, IndexInfo]:
    """Writes a shard's columns with a value for each pair; returns their sizes and digests."""
    written: dict[str, IndexInfo] = {}
    for column in plan.columns:
        if column not in REPEATED:
            with column_file(path, column) as file:
                for count, parts in rows_by_part(plan, number, first_rows):
                    values = np.empty(count, TYPES[column])
                    for part, chosen, rows in parts:
                        values[chosen] = mapped(note_path(spills[part], column), column)[rows]
                    file.write(values.data)
            written[column] = IndexInfo.of(file)
    return written


def rows_by_part(
    plan: ShardPlan, number: int, first_rows: Sequence[int]
) -> Iterator[tuple[int, list[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64]]]]]:
    """Yields the rows in consecutive position ranges of a shard.

    Yields: How many positions the range has; and for each part with rows there: the part's index, the indexes of its
        rows in the range, and its row indexes, ascending.
    """
    positions, firsts = plan.shard_range(number), np.array([*first_rows, plan.rows])
    for start in range(positions.start, positions.stop, _AT_A_TIME):
        rows = plan.shuffle.rows_at(np.arange(start, min(start + _AT_A_TIME, positions.stop)))
        order = np.argsort(rows, kind="stable")
        cuts = np.searchsorted(rows[order], firsts)
        chosen = {part: order[cuts[part] : cuts[part + 1]] for part in np.flatnonzero(np.diff(cuts)).tolist()}
        yield len(rows), [(part, places, rows[places] - firsts[part]) for part, places in chosen.items()]


class Column:
    """A column across consecutive shards, given with their pair counts."""

    def __init__(self, shards: Sequence[tuple[Path, int]], column: str) -> None:
        self._paths = [column_path(path, column) for path, _ in shards]
        self._firsts = np.cumsum([0, *(pairs for _, pairs in shards)])
        self._column = column
        self._mapped: dict[Path, npt.NDArray[Any]] = {}

    def values(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Returns the values for a range of pairs, counted from the first shard."""
        parts: list[npt.NDArray[Any]] = [np.empty(0, TYPES[self._column])]
        for path, first, end in zip(self._paths, self._firsts[:-1].tolist(), self._firsts[1:].tolist(), strict=True):
            if first < stop and start < end:
                if path not in self._mapped:
                    self._mapped[path] = np.asarray(mapped(path, self._column, end - first))
                parts.append(self._mapped[path][max(start - first, 0) : stop - first])
        return np.concatenate(parts)


def mapped(path: Path, column: str, pairs: int | None = None) -> npt.NDArray[Any]:
    """Returns a file's values, which are mapped into memory; ``pairs`` is the number that it should have."""
    if not pairs and path.exists() and not path.stat().st_size:
        return np.empty(0, TYPES[column])
    try:
        values = np.memmap(path, TYPES[column], "r")
    except (OSError, ValueError) as error:
        raise RecordsError(f"{path}: cannot be read: {error}; restore it, or run the encode stage again") from error
    if pairs is not None and len(values) != pairs:
        raise RecordsError(
            f"{path}: has {len(values)} values for {pairs} pairs; restore it, or run the encode stage again"
        )
    return values
