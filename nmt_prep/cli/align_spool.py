"""Temporary files that hold the pairs of a stream while a model learns from them, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
from _nmt_prep_core import NumberedPairs

from nmt_prep.align.model import Model
from nmt_prep.align.vocabulary import Integers
from nmt_prep.cleaning.dedup.keys import keys_of
from nmt_prep.columns import TextColumn
from nmt_prep.errors import OutputError
from nmt_prep.sides import SIDES

_KEYS_AT_A_TIME = 1 << 22


@contextmanager
def _temporary(path: Path) -> Iterator[None]:
    """Converts an OSError raised in the block into an OutputError that names the directory of temporary files."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write the temporary file {path}: {error.strerror or error}; set TMPDIR to a directory with enough "
            "space, about twice the size of the input, and run again"
        ) from error


class Spool:
    """Batches of pairs in a temporary file.

    Attributes:
        rows: number of pairs.
    """

    def __init__(self, path: Path) -> None:
        """Opens a new file."""
        self.rows = 0
        self._path = path
        self._writer: pa.RecordBatchFileWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Appends a batch; all must have the same columns.

        Raises:
            OutputError: the file cannot be written.
        """
        with _temporary(self._path):
            if self._writer is None:
                self._writer = pa.ipc.new_file(str(self._path), batch.schema)
            self._writer.write_batch(batch)
        self.rows += batch.num_rows

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the batches in order. After the first call, none can be added."""
        self._close()
        if not self.rows:
            return
        with pa.OSFile(str(self._path)) as file:
            reader = pa.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)

    def copies(self) -> Integers:
        """Returns the number of pairs with the same normalized text as each, itself included: int64, shape ``[rows]``.

        The numbers, and the keys that are compared, are in files beside that of the text.

        Raises:
            OutputError: a file cannot be written.
        """
        keys_path = self._path.with_suffix(".keys")
        with _temporary(keys_path), keys_path.open("wb") as file:
            for batch in self.batches():
                file.write(keys_of(batch, ["pair"], "normalized")["pair"].tobytes())
        if not self.rows:
            return np.empty(0, np.int64)
        keys = np.memmap(keys_path, np.uint64, "r", shape=(self.rows, 2))
        copies_path = self._path.with_suffix(".copies")
        with _temporary(copies_path), copies_path.open("wb") as file:
            for first in range(0, self.rows, _KEYS_AT_A_TIME):  # once mapped, a full disk would kill the process
                file.write(bytes(8 * min(_KEYS_AT_A_TIME, self.rows - first)))
        copies = np.memmap(copies_path, np.int64, "r+", shape=(self.rows,))
        shares = -(-self.rows // _KEYS_AT_A_TIME)
        for share in range(shares):
            mine = [
                first + np.flatnonzero(keys[first : first + _KEYS_AT_A_TIME, 0] % np.uint64(shares) == share)
                for first in range(0, self.rows, _KEYS_AT_A_TIME)
            ]
            rows = np.concatenate(mine)
            _, places, counts = np.unique(keys[rows, 1], return_inverse=True, return_counts=True)
            copies[rows] = counts[places]
        return copies

    def remove(self) -> None:
        """Removes the file."""
        self._close()
        self._path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._writer is not None:
            with _temporary(self._path):
                self._writer.close()
            self._writer = None


def text_batch(source: TextColumn, target: TextColumn) -> pa.RecordBatch:
    """Returns the lines of both sides as a batch with the columns ``source`` and ``target``."""
    arrays = [
        pa.LargeStringArray.from_buffers(len(lines), pa.py_buffer(lines.offsets), pa.py_buffer(lines.data))
        for lines in (source, target)
    ]
    return pa.RecordBatch.from_arrays(arrays, list(SIDES))


def numbered(model: Model, batch: pa.RecordBatch, threads: int) -> pa.RecordBatch:
    """Returns the numbers of the words of a batch of text, as lists in the same columns."""
    columns = [
        vocabulary.numbers(TextColumn.from_arrow(batch.column(side)), model.settings, threads)
        for side, vocabulary in zip(SIDES, model.vocabularies, strict=True)
    ]
    arrays = [pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(words)) for words, offsets in columns]
    return pa.RecordBatch.from_arrays(arrays, list(SIDES))


def numbered_pairs(batch: pa.RecordBatch) -> NumberedPairs:
    """Returns a batch that :func:`numbered` made, as native functions take it."""
    source, target = (batch.column(side) for side in SIDES)
    return NumberedPairs(
        source.values.to_numpy(), source.offsets.to_numpy(), target.values.to_numpy(), target.offsets.to_numpy()
    )
