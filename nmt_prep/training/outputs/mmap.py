"""The files of fairseq and of Megatron: a ``.bin`` file with sequences of ids, and its index.

Both indexes have the same magic number, and for each sequence the number of ids and the offset in bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.training.outputs.output_files import HashedOutput, OutputFile, output_file

IdType: TypeAlias = Literal["uint16", "int32", "uint32"]

MAX_UINT16_PIECES = 65_499  # Largest vocabulary whose ids both toolkits read as uint16

_MAGIC = b"MMIDIDX\0\0"
_VERSION = 1
_CODES: dict[IdType, int] = {"int32": 4, "uint16": 8, "uint32": 9}
_BLOCK = 1 << 18  # Number of sequences whose offsets are computed at once


def id_type(pieces: int, wide: IdType) -> IdType:
    """Returns the type of ids in a file, which toolkits choose by the size of the vocabulary."""
    return "uint16" if pieces <= MAX_UINT16_PIECES else wide


class SequenceFile:
    """A ``.bin`` file and its ``.idx`` file while they are written."""

    def __init__(self, data: HashedOutput, index: HashedOutput, dtype: IdType, sequences: int) -> None:
        """Takes the open files, the type of the ids, and the final number of sequences."""
        self._data = data
        self._index = index
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._start = 0
        self._sequences = sequences

    def add(self, values: npt.NDArray[np.integer[Any]], offsets: npt.NDArray[np.int64]) -> None:
        """Appends sequences.

        Args:
            offsets: bounds of the sequences in ``values``, from 0 to the number of ids: int64, shape ``[sequences +
                1]``.
        """
        self._data.write(values.astype(self._dtype, copy=False).data.cast("B"))
        self._index.write(np.diff(offsets).astype("<i4").tobytes())

    def begin(self, head: bytes) -> None:
        """Writes the start of the index, up to the lengths of the sequences."""
        self._index.write(head)
        self._start = self._index.tell()

    def write_offsets(self) -> None:
        """Writes the offset of each sequence in bytes: int64. The lengths are read back from the file."""
        end = 0
        for first in range(0, self._sequences, _BLOCK):
            count = min(_BLOCK, self._sequences - first)
            lengths = np.frombuffer(self._index.read_back(self._start + 4 * first, 4 * count), "<i4")
            ends = end + np.cumsum(lengths.astype(np.int64)) * self._dtype.itemsize
            self._index.write((ends - lengths.astype(np.int64) * self._dtype.itemsize).astype("<i8").tobytes())
            end = int(ends[-1])

    def write_documents(self) -> None:
        """Writes the bounds of Megatron's documents, one sequence per document: int64."""
        for first in range(0, self._sequences + 1, _BLOCK):
            last = min(first + _BLOCK, self._sequences + 1)
            self._index.write(np.arange(first, last, dtype="<i8").tobytes())


@contextmanager
def sequence_file(
    directory: Path, stem: str, dtype: IdType, sequences: int, *, documents: bool
) -> Iterator[tuple[SequenceFile, Callable[[], tuple[OutputFile, OutputFile]]]]:
    """Opens ``<stem>.bin`` and ``<stem>.idx`` for writing; memory does not depend on the number of sequences.

    Args:
        documents: True for Megatron's index, in which each sequence is a document, False for fairseq's.

    Yields:
        The files, and a function that describes them after the block.
    """
    with output_file(directory, f"{stem}.bin") as data, output_file(directory, f"{stem}.idx") as index:
        file = SequenceFile(data, index, dtype, sequences)
        head = _MAGIC + struct.pack("<QBQ", _VERSION, _CODES[dtype], sequences)
        file.begin(head + (struct.pack("<Q", sequences + 1) if documents else b""))
        yield file, lambda: (data.facts, index.facts)
        file.write_offsets()
        if documents:
            file.write_documents()
