"""Columns of pairs beside their ids: a file ``index/<shard>.<column>`` for each shard, in the order of its pairs.

``weight`` is float32, little-endian: the weight of each pair in the loss. ``document`` is uint8: 1 for a pair that
follows the pair before it in its document, without a row between them; 0 for others.

Each task that encodes a part notes the values of its rows in a file of its own; the tasks that write shards collect
them in the order of the shuffle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nmt_prep.artefacts import atomic_write, writing
from nmt_prep.errors import RecordsError
from nmt_prep.records.dataset_json import IndexInfo, ShardInfo
from nmt_prep.records.index import index_path
from nmt_prep.records.plan import ShardPlan

TYPES: Mapping[str, str] = {"document": "u1", "weight": "<f4"}
"""The columns and the names of their types."""

_AT_A_TIME = 1 << 20


def column_path(shard: str | Path, column: str) -> Path:
    """Returns the path of the file of a column of a shard."""
    index = index_path(shard)
    return index.with_name(f"{Path(shard).name}.{column}")


def note_path(spill: Path, column: str) -> Path:
    """Returns the path of the file with the values of the rows of a spill file."""
    return spill.with_name(f"{spill.name}.{column}")


def with_columns(
    shard: ShardInfo, path: Path, plan: ShardPlan, number: int, spills: Sequence[Path], first_rows: Sequence[int]
) -> ShardInfo:
    """Writes the columns of a shard; returns its entry with them.

    Args:
        shard: the entry of the shard.
        path: the shard.
        plan: the plan of the spill files.
        number: number of the shard.
        spills: the spill files of the split.
        first_rows: number of the first row of each spill file.

    Raises:
        RecordsError: values of rows were not noted.
        OutputError: a file cannot be written.
    """
    written: dict[str, IndexInfo] = {}
    for column in plan.columns:
        digest, size = hashlib.sha256(), 0
        with atomic_write(column_path(path, column)) as beside, writing(path), beside.open("wb") as file:
            for values in _collected(plan, number, [note_path(spill, column) for spill in spills], first_rows, column):
                data = values.tobytes()
                file.write(data)
                digest.update(data)
                size += len(data)
        written[column] = IndexInfo(bytes=size, sha256=digest.hexdigest())
    return shard.model_copy(update={"columns": written})


def _collected(
    plan: ShardPlan, number: int, notes: Sequence[Path], first_rows: Sequence[int], column: str
) -> Iterator[npt.NDArray[Any]]:
    positions, firsts = plan.shard_range(number), np.array([*first_rows, plan.rows])
    for start in range(positions.start, positions.stop, _AT_A_TIME):
        rows = plan.shuffle.rows_at(np.arange(start, min(start + _AT_A_TIME, positions.stop)))
        order = np.argsort(rows, kind="stable")
        cuts = np.searchsorted(rows[order], firsts)
        values = np.empty(len(rows), TYPES[column])
        for part in np.flatnonzero(np.diff(cuts)).tolist():
            chosen = order[cuts[part] : cuts[part + 1]]
            values[chosen] = _mapped(notes[part], column)[rows[chosen] - firsts[part]]
        yield values


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
        """Returns the values of a range of pairs, counted from the first shard.

        Raises:
            RecordsError: a file cannot be read, or is too short.
        """
        parts: list[npt.NDArray[Any]] = [np.empty(0, TYPES[self._column])]
        for path, first, end in zip(self._paths, self._firsts[:-1].tolist(), self._firsts[1:].tolist(), strict=True):
            if first < stop and start < end:
                if path not in self._mapped:
                    self._mapped[path] = np.asarray(_mapped(path, self._column, end - first))
                parts.append(self._mapped[path][max(start - first, 0) : stop - first])
        return np.concatenate(parts)


def _mapped(path: Path, column: str, pairs: int | None = None) -> npt.NDArray[Any]:
    try:
        values = np.memmap(path, TYPES[column], "r")
    except (OSError, ValueError) as error:
        raise RecordsError(f"{path}: cannot be read: {error}; restore it, or run the encode stage again") from error
    if pairs is not None and len(values) != pairs:
        raise RecordsError(
            f"{path}: has {len(values)} values for {pairs} pairs; restore it, or run the encode stage again"
        )
    return values
