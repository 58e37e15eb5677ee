"""Files of outputs, hashed while they are written; Parquet files with row groups that depend on the pairs alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.columns import parquet_writer
from nmt_prep.base.digests import HashedFile

GROUP_ROWS = 10_000
GROUP_BYTES = 16 << 20  # A row group ends with the row that reaches one of these two limits
_ID_PAGE_BYTES = 1 << 15  # Bytes of a page of ids, few enough to stay in the processor's cache until they are encoded


@dataclass(frozen=True)
class OutputFile:
    """A file of an output: its name in the directory of the output, its size in bytes, and its SHA-256."""

    name: str
    bytes: int
    sha256: str


class HashedOutput(HashedFile):
    """A file of an output while it is written."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        """Takes the name of the file, and the file; the caller opens and closes it."""
        super().__init__(file)
        self._name, self._readable = name, file

    def read_back(self, start: int, size: int) -> bytes:
        """Returns ``size`` written bytes from offset ``start``."""
        self._readable.flush()
        return os.pread(self._readable.fileno(), size, start)

    @property
    def facts(self) -> OutputFile:
        """Name, size and digest of the bytes written so far."""
        return OutputFile(self._name, self.size, self.sha256)


@contextmanager
def output_file(directory: Path, name: str) -> Iterator[HashedOutput]:
    """Opens a file of an output for writing; the complete file appears under its name."""
    with atomic_write(directory / name) as beside, beside.open("w+b") as file:
        yield HashedOutput(name, file)


@dataclass
class GroupedWriter:
    """Writes rows as row groups, the same for any division of the rows into batches."""

    file: HashedOutput
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
        """Writes the held rows as a row group."""
        if self.held:
            table = pa.Table.from_batches(self.held).combine_chunks()
            self.writer.write_table(table, row_group_size=max(len(table), 1))
            self.held, self.rows, self.bytes = [], 0, 0


@contextmanager
def parquet_file(
    directory: Path, name: str, schema: pa.Schema, dictionaries: Sequence[str] = (), ids: Sequence[str] = ()
) -> Iterator[GroupedWriter]:
    """Opens a Parquet file for writing."""
    packed = [f"{column}.list.element" for column in ids]
    with (
        output_file(directory, name) as file,
        parquet_writer(
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
