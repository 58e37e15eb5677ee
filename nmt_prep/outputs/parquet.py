"""Parquet files of outputs, whose row groups depend on nothing but the pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from nmt_prep.outputs.files import HashedFile, output_file

GROUP_ROWS = 10_000
GROUP_BYTES = 16 << 20
"""A row group ends with the row in which it reaches one of these."""

_ID_PAGE_BYTES = 1 << 15
"""Bytes of a page of ids, so that they stay in the processor's cache until they are encoded."""


@dataclass
class GroupedWriter:
    """Writes rows as row groups that do not depend on how the rows are divided into batches."""

    file: HashedFile
    writer: pq.ParquetWriter
    held: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0

    def add(self, batch: pa.RecordBatch, sizes: npt.NDArray[np.int64]) -> None:
        """Appends rows; ``sizes`` are their approximate bytes: int64, shape ``[rows]``."""
        ends = np.cumsum(sizes)
        first, before = 0, 0
        while first < len(batch):
            by_bytes = int(np.searchsorted(ends, before + GROUP_BYTES - self.bytes)) + 1
            last = min(by_bytes, first + GROUP_ROWS - self.rows, len(batch))
            self.held.append(batch.slice(first, last - first))
            self.rows += last - first
            self.bytes += int(ends[last - 1]) - before
            first, before = last, int(ends[last - 1])
            if self.rows >= GROUP_ROWS or self.bytes >= GROUP_BYTES:
                self.flush()

    def flush(self) -> None:
        """Writes the rows that are held as a row group."""
        if self.held:
            table = pa.Table.from_batches(self.held).combine_chunks()
            self.writer.write_table(table, row_group_size=max(len(table), 1))
            self.held, self.rows, self.bytes = [], 0, 0


@contextmanager
def parquet_file(
    directory: Path, name: str, schema: pa.Schema, dictionaries: Sequence[str] = (), ids: Sequence[str] = ()
) -> Iterator[GroupedWriter]:
    """Opens a Parquet file for writing.

    Args:
        directory: directory of the file.
        name: its name.
        schema: its columns.
        dictionaries: columns with few values, which are written as dictionaries.
        ids: columns of lists of ids, which are written as differences in few bits, without further compression: that is
            faster, and almost as small.

    Raises:
        OutputError: it cannot be written.
    """
    packed = [f"{column}.list.element" for column in ids]
    with (
        output_file(directory, name) as file,
        pq.ParquetWriter(
            file,
            schema,
            compression={**dict.fromkeys(schema.names, "snappy"), **dict.fromkeys(packed, "none")},
            use_dictionary=list(dictionaries),
            column_encoding=dict.fromkeys(packed, "DELTA_BINARY_PACKED"),
            data_page_size=_ID_PAGE_BYTES if ids else None,
            write_statistics=False,
        ) as writer,
    ):
        grouped = GroupedWriter(file, writer)
        yield grouped
        grouped.flush()
