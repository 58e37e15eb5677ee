"""The segments of all evaluation sets in one file, and the index that is built from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.cleaning.decontamination.index import Matches, Numbers, SegmentIndex
from nmt_prep.corpora import PairBatch, iter_pairs
from nmt_prep.corpora.parts import BatchFile


@dataclass(frozen=True)
class Segments:
    """The segments of evaluation sets, and their index.

    Attributes:
        index: the index.
        sets: the number of the set of each segment, ascending: int64, shape ``[segments]``.
        rows: the row of each segment in its set, counted from 0: int64, shape ``[segments]``.
        first: one side of each segment: an array of strings.
        second: the other side; empty for segments with one side.
    """

    index: SegmentIndex
    sets: Numbers
    rows: Numbers
    first: pa.Array
    second: pa.Array

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch], coverage: float | None) -> Segments:
        """Builds the index of batches with the columns ``source``, ``target``, ``set`` and ``row``."""
        table = pa.Table.from_batches(batches, _schema())
        first, second, sets, rows = (
            pa.concat_arrays(table.column(name).chunks or [pa.array([], table.schema.field(name).type)])
            for name in ("source", "target", "set", "row")
        )
        return cls(SegmentIndex(first, second, coverage), sets.to_numpy(), rows.to_numpy(), first, second)

    def search_pairs(self, pairs: PairBatch) -> Matches:
        """Finds the segments that pairs contain; pairs with an empty target have one side."""
        return self.index.search({"source": pairs.source, "target": pairs.target})


def _schema() -> pa.Schema:
    """Returns the columns of segments."""
    return pa.schema(
        [
            pa.field("source", pa.large_string(), nullable=False),
            pa.field("target", pa.large_string(), nullable=False),
            pa.field("set", pa.int64(), nullable=False),
            pa.field("row", pa.int64(), nullable=False),
        ]
    )


def numbered_segments(batches: Iterable[PairBatch], number: int) -> Iterator[pa.RecordBatch]:
    """Yields the segments of a set that have text, as batches with its number and their rows.

    Args:
        batches: the segments of the set; if they have no rows, these are counted.
        number: number of the set.
    """
    row = 0
    for batch in batches:
        rows = np.arange(row, row + len(batch)) if batch.rows is None else batch.rows
        row += len(batch)
        sides = [side.cast(pa.large_string()) for side in (batch.source, batch.target)]
        filled = pc.or_(*(pc.greater(pc.binary_length(side), 0) for side in sides))
        columns = [*sides, pa.array(np.full(len(batch), number)), pa.array(rows)]
        yield pa.record_batch(columns, schema=_schema()).filter(filled)


def write_segments(path: Path, batches: Iterable[pa.RecordBatch]) -> None:
    """Writes segments to a file.

    Raises:
        OutputError: the file cannot be written.
    """
    with BatchFile(path) as file:
        for batch in batches:
            file.write(batch)


def load_segments(path: Path, sha256: str, coverage: float) -> Segments:
    """Returns the segments of a file and their index. The last one is kept in memory for all tasks of the process.

    Raises:
        CorpusError: the file cannot be read.
    """
    key = (str(path), sha256, coverage)
    with _guard:
        if key not in _loaded:
            _loaded.clear()
            _loaded[key] = Segments.of(iter_pairs(path), coverage)
        return _loaded[key]


_guard = Lock()
_loaded: dict[tuple[str, str, float], Segments] = {}
