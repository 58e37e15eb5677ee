"""Files of outputs, hashed while they are written; Parquet files with row groups that depend on the pairs alone."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.columns import parquet_writer
from nmt_prep.base.digests import HashedFile

GROUP_ROWS = 10_000
GROUP_BYTES = 16 << 20  # A row group ends with the row that reaches one of these two limits
_ID_PAGE_BYTES = 1 << 15  # Bytes per page of IDs, few enough to stay in the processor's cache until they are encoded


@dataclass(frozen=True)
class OutputFile:
    """An output's file: its name in the output's directory, its size in bytes, and its SHA-256."""

    name: str
    bytes: int
    sha256: str


class HashedOutput(HashedFile):
    """A file of an output while it is written."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        super().__init__(file)
        self._name, self._readable = name, file

    def read_back(self, start: int, size: int) -> bytes:
        self._readable.flush()
        return os.pread(self._readable.fileno(), size, start)

    @property
    def facts(self) -> OutputFile:
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
        # A group ends with the row that reaches a limit, counted from the group's start. So groups, and with them the
        # bytes of the file, do not depend on how rows are divided into calls.
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


IdType: TypeAlias = Literal["uint8", "uint16", "int32", "uint32"]

MAX_UINT16_PIECES = 65_499  # Largest vocabulary whose IDs both toolkits read as uint16

_MAGIC = b"MMIDIDX\0\0"
_VERSION = 1
_CODES: dict[IdType, int] = {"uint8": 1, "int32": 4, "uint16": 8, "uint32": 9}
_BLOCK = 1 << 18  # Number of sequences whose offsets are computed at once


# The files for fairseq and Megatron: a `.bin` file with ID sequences, and its index.
#
# Both indexes have the same magic number, and for each sequence the number of IDs and the offset in bytes.


def id_type(pieces: int, wide: IdType) -> IdType:
    """Returns the type for IDs in a file, which toolkits choose by the vocabulary's size."""
    return "uint16" if pieces <= MAX_UINT16_PIECES else wide


# An index lists all lengths and then all offsets, so offsets are known only at the end. Lengths are written as they
# come, and read back in blocks to sum them up: memory does not grow with the sequence count. Only the number of
# sequences, in the header, must be known before.
class SequenceFile:
    """A ``.bin`` file and its ``.idx`` file while they are written."""

    def __init__(self, data: HashedOutput, index: HashedOutput, dtype: IdType, sequences: int, head: bytes) -> None:
        self._data = data
        self._index = index
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._sequences = sequences
        index.write(head)
        self._start = index.tell()

    def add(self, values: npt.NDArray[np.integer[Any]], offsets: npt.NDArray[np.int64]) -> None:
        """Appends sequences, whose bounds in ``values`` are ``offsets``: int64, shape ``[sequences + 1]``."""
        self._data.write(values.astype(self._dtype, copy=False).data.cast("B"))
        self._index.write(np.diff(offsets).astype("<i4").tobytes())

    def finish(self, *, documents: bool) -> None:
        """Writes each sequence's offset in bytes, then the bounds of Megatron's documents, if asked for: int64.

        The lengths are read back from the file. Each sequence is a document.
        """
        end = 0
        for first in range(0, self._sequences, _BLOCK):
            count = min(_BLOCK, self._sequences - first)
            lengths = np.frombuffer(self._index.read_back(self._start + 4 * first, 4 * count), "<i4")
            ends = end + np.cumsum(lengths.astype(np.int64)) * self._dtype.itemsize
            self._index.write((ends - lengths.astype(np.int64) * self._dtype.itemsize).astype("<i8").tobytes())
            end = int(ends[-1])

        for first in range(0, self._sequences + 1, _BLOCK) if documents else ():
            last = min(first + _BLOCK, self._sequences + 1)
            self._index.write(np.arange(first, last, dtype="<i8").tobytes())


@contextmanager
def sequence_file(
    directory: Path, stem: str, dtype: IdType, sequences: int, *, documents: bool
) -> Iterator[tuple[SequenceFile, Callable[[], tuple[OutputFile, OutputFile]]]]:
    """Opens ``<stem>.bin`` and ``<stem>.idx`` for writing; the function that it yields describes them after the block.

    Args:
        documents: True for Megatron's index, in which each sequence is a document, False for fairseq's.
    """
    with output_file(directory, f"{stem}.bin") as data, output_file(directory, f"{stem}.idx") as index:
        head = _MAGIC + struct.pack("<QBQ", _VERSION, _CODES[dtype], sequences)
        head += struct.pack("<Q", sequences + 1) if documents else b""
        file = SequenceFile(data, index, dtype, sequences, head)
        yield file, lambda: (data.facts, index.facts)
        file.finish(documents=documents)
