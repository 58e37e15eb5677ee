"""Shards of documents: their sentences, beads and pairs in files between rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.sentences.aligner import Level, Texts
from nmt_prep.cleaning.sentences.document_texts import joined
from nmt_prep.cleaning.sentences.search import Beads, BeadTotals


@dataclass(frozen=True)
class Shard:
    """Aligned documents."""

    file: Path  # the sentences of the documents
    beads: Path  # the beads of each document
    pairs: Path  # the text of the beads, in the same order; a sentence without counterpart has an empty one
    count: int  # number of beads
    sentences: int  # number of source sentences
    totals: BeadTotals  # numbers of beads
    level: Level = field(default_factory=Level)  # the scores of its beads; without scores before a model is learned

    @property
    def files(self) -> tuple[Path, ...]:
        """All files."""
        return self.file, self.beads, self.pairs


def write_shard(
    file: Path,
    key: str,
    number: int,
    texts: Sequence[Texts],
    paths: Sequence[Beads],
    languages: tuple[str, str],
    directory: Path | None = None,
) -> Shard:
    """Writes the beads of a shard and their text."""
    where = directory or file.parent
    beads, pairs = (where / f"{key}-{number:05d}.{what}.parquet" for what in ("beads", "pairs"))
    lists = pa.array([path.ravel() for path in paths], pa.large_list(pa.int64()))
    write_table(beads, pa.table([lists], ["beads"]))
    text = [joined(sides, path, languages) for sides, path in zip(texts, paths, strict=True)]
    columns = [pa.chunked_array(side) for side in zip(*text, strict=True)]
    write_table(pairs, pa.table(columns, list(SIDES)))
    return Shard(file, beads, pairs, sum(map(len, paths)), sum(len(sides[0]) for sides in texts), BeadTotals.of(paths))


def lists_of(columns: Sequence[pa.Array]) -> pa.Array:
    """Returns a column with a list for each array."""
    offsets = np.cumsum([0, *map(len, columns)])
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pa.concat_arrays(columns))


def read_shard(shard: Shard) -> tuple[list[str], list[Texts], list[Beads]]:
    """Returns the names of the documents of a shard, their sentences, and their previous beads."""
    table = pq.read_table(shard.file, use_threads=False).combine_chunks()
    sides = [table.column(side).combine_chunks() for side in ("source", "target")]
    texts = [(sides[0][row].values, sides[1][row].values) for row in range(len(table))]
    beads = pq.read_table(shard.beads, use_threads=False).column("beads")
    paths = [np.asarray(row.values.to_numpy(), np.int64).reshape(-1, 4) for row in beads]
    return table.column("name").to_pylist(), texts, paths


def rows_of(path: Path) -> Iterator[Mapping[str, str]]:
    """Yields the rows of a table, holding a few in memory."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(64, use_threads=False):
            yield from batch.to_pylist()


def write_table(path: Path, table: pa.Table) -> None:
    """Writes a table to a Parquet file."""
    with atomic_write(path) as beside:
        pq.write_table(table, beside, compression="zstd", compression_level=1, write_statistics=False)
