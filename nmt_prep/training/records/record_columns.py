"""Columns of pairs other than their ids: a file ``index/<shard>.<column>`` for each shard, in the order of its pairs.

``weight`` is float32, little-endian: the weight of each pair in the loss. ``document`` is uint8: 1 for a pair that
continues the document of the previous pair, with nothing between them but repeated segments; else 0.

Repeated segments, which cleaning dropped as duplicates, are context of the pairs after them. ``repeated`` is int64,
shape ``[segments, 3]``: for each segment the number of the pair after it, and the ends of its ids in
``repeated-source`` and ``repeated-target``, int32.

Each task that encodes a part writes the values of its rows to a file of its own; the tasks that write shards collect
them in the order of the shuffle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nmt_prep.base.artefacts import atomic_write, writing
from nmt_prep.base.digests import HashedFile
from nmt_prep.base.errors import RecordsError
from nmt_prep.training.records.dataset_json import IndexInfo
from nmt_prep.training.records.index import index_path
from nmt_prep.training.records.shuffle_plan import ShardPlan

REPEATED = ("repeated", "repeated-source", "repeated-target")

TYPES: Mapping[str, str] = {
    "document": "u1",
    "weight": "<f4",
    **dict(zip(REPEATED, ("<i8", "<i4", "<i4"), strict=True)),
}
"""The columns and the names of their types."""

_AT_A_TIME = 1 << 20


def column_path(shard: str | Path, column: str) -> Path:
    """Returns the path of the file of a column of a shard."""
    index = index_path(shard)
    return index.with_name(f"{Path(shard).name}.{column}")


def note_path(spill: Path, column: str) -> Path:
    """Returns the path of the file with the values of the rows of a spill file."""
    return spill.with_name(f"{spill.name}.{column}")


@contextmanager
def column_file(shard: Path, column: str) -> Iterator[HashedFile]:
    """Opens the file of a column of a shard for writing; the complete file appears under its name."""
    with atomic_write(column_path(shard, column)) as beside, writing(shard), beside.open("wb") as file:
        yield HashedFile(file)


def columns_of_shard(
    path: Path, plan: ShardPlan, number: int, spills: Sequence[Path], first_rows: Sequence[int]
) -> dict[str, IndexInfo]:
    """Writes the columns of a shard with a value for each pair; returns their sizes and digests."""
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
    """Yields the rows of consecutive ranges of positions of a shard.

    Yields:
        The number of positions in the range; and for each part with rows there: the number of the part, the indexes of
        its rows in the range, and its row numbers, ascending.
    """
    positions, firsts = plan.shard_range(number), np.array([*first_rows, plan.rows])
    for start in range(positions.start, positions.stop, _AT_A_TIME):
        rows = plan.shuffle.rows_at(np.arange(start, min(start + _AT_A_TIME, positions.stop)))
        order = np.argsort(rows, kind="stable")
        cuts = np.searchsorted(rows[order], firsts)
        chosen = {part: order[cuts[part] : cuts[part + 1]] for part in np.flatnonzero(np.diff(cuts)).tolist()}
        yield len(rows), [(part, places, rows[places] - firsts[part]) for part, places in chosen.items()]


class Column:
    """A column of consecutive shards.

    Args:
        shards: the shards, and their numbers of pairs.
        column: name of the column.
    """

    def __init__(self, shards: Sequence[tuple[Path, int]], column: str) -> None:
        self._paths = [column_path(path, column) for path, _ in shards]
        self._firsts = np.cumsum([0, *(pairs for _, pairs in shards)])
        self._column = column
        self._mapped: dict[Path, npt.NDArray[Any]] = {}

    def values(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Returns the values of a range of pairs, counted from the first shard."""
        parts: list[npt.NDArray[Any]] = [np.empty(0, TYPES[self._column])]
        for path, first, end in zip(self._paths, self._firsts[:-1].tolist(), self._firsts[1:].tolist(), strict=True):
            if first < stop and start < end:
                if path not in self._mapped:
                    self._mapped[path] = np.asarray(mapped(path, self._column, end - first))
                parts.append(self._mapped[path][max(start - first, 0) : stop - first])
        return np.concatenate(parts)


def mapped(path: Path, column: str, pairs: int | None = None) -> npt.NDArray[Any]:
    """Returns the values of a file, which are mapped into memory; ``pairs`` is the number that it should have."""
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
