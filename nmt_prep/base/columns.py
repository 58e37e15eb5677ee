"""Columns of text and token IDs: the form in which stages and the native core exchange data.

Text is (bytes, offsets), as in Arrow string arrays; IDs are :class:`Ragged`. Neither holds a Python object per line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from _nmt_prep_core import find_invalid_utf8, select_rows

from nmt_prep.base.errors import InvalidTextError

Lines: TypeAlias = "Iterable[str] | Iterable[pa.Array] | pa.Array | pa.ChunkedArray"
"""Input for training and batch encoding: strings, an Arrow string array, or a stream of such arrays."""

LINES_PER_CHUNK = 65_536
"""Maximum line count per column; bounds memory if lines are short, since each line has a fixed overhead."""


@contextmanager
def parquet_writer(file: object, schema: pa.Schema, **options: Any) -> Iterator[pq.ParquetWriter]:
    """Opens a Parquet file for writing, and closes it only once at the end, even if closing fails.

    Arrow would try again when the writer is deleted, and print a second traceback.
    """
    writer = pq.ParquetWriter(file, schema, **options)
    try:
        yield writer
    finally:
        try:
            writer.close()
        finally:
            writer.is_open = False


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of token IDs with different lengths: row i is ``values[offsets[i]:offsets[i + 1]]``."""

    values: npt.NDArray[np.int32]  # shape `[n]`
    offsets: npt.NDArray[np.int64]  # shape `[rows + 1]`, non-decreasing, from 0 to n

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> npt.NDArray[np.int32]:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        row %= len(self)
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[npt.NDArray[np.int32]]:
        return (self[row] for row in range(len(self)))

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Length of each row, int64, shape ``[rows]``."""
        return np.diff(self.offsets)

    @classmethod
    def from_lists(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """Packs lists of IDs."""
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        values = np.fromiter((i for row in rows for i in row), np.int32, count=int(offsets[-1]))
        return cls(values, offsets)

    @classmethod
    def joined(cls, parts: Sequence[Ragged]) -> Ragged:
        """Concatenates the rows of several objects."""
        if len(parts) == 1:
            return parts[0]
        offsets = np.zeros(sum(map(len, parts)) + 1, np.int64)
        np.cumsum(np.concatenate([np.empty(0, np.int64), *(part.lengths for part in parts)]), out=offsets[1:])
        return cls(np.concatenate([np.empty(0, np.int32), *(part.values for part in parts)]), offsets)

    def divided(self, separator: int) -> tuple[Ragged, npt.NDArray[np.int64]]:
        """Divides rows at an ID, which is excluded; returns the parts, and each row's part count."""
        values = self.values[self.offsets[0] : self.offsets[-1]]
        cuts = np.flatnonzero(values == separator)
        ends = np.sort(np.concatenate([cuts, self.offsets[1:] - self.offsets[0]]), kind="stable")
        left_out = np.searchsorted(cuts, ends)
        counts = np.diff(np.searchsorted(cuts, self.offsets - self.offsets[0])) + 1
        return Ragged(np.delete(values, cuts), np.concatenate([[0], ends - left_out])), counts

    def without(self, ids: Collection[int]) -> Ragged:
        """Returns a copy without some IDs."""
        values = self.values[self.offsets[0] : self.offsets[-1]]
        kept = ~np.isin(values, [*ids])
        return Ragged(values[kept], np.concatenate([[0], np.cumsum(kept)])[self.offsets - self.offsets[0]])

    def taken(self, rows: npt.NDArray[np.int64], longest: int | None = None) -> Ragged:
        """Returns a copy of some rows, by their numbers, cut to ``longest`` IDs; None for no limit."""
        return Ragged(*select_rows(*self.contiguous(), rows, (1 << 63) - 1 if longest is None else longest))

    def part(self, first: int, last: int) -> Ragged:
        """Returns the rows from ``first`` to before ``last``, without copying their IDs."""
        bounds = self.offsets[first : last + 1]
        return Ragged(self.values[bounds[0] : bounds[-1]], bounds - bounds[0])

    def contiguous(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Returns values and offsets in the form that the native core takes."""
        return np.ascontiguousarray(self.values, np.int32), np.ascontiguousarray(self.offsets, np.int64)

    def to_lists(self) -> list[list[int]]:
        """Returns the rows as lists of Python integers."""
        flat = self.values.tolist()
        bounds = self.offsets.tolist()
        return [flat[start:end] for start, end in pairwise(bounds)]


@dataclass(frozen=True, slots=True)
class TextColumn:
    """Lines as UTF-8: line i is ``data[offsets[i]:offsets[i + 1]]``."""

    data: npt.NDArray[np.uint8]  # uint8, shape `[bytes]`
    offsets: npt.NDArray[np.int64]  # int64, shape `[lines + 1]`; need not start at 0

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def from_arrow(cls, array: pa.Array) -> TextColumn:
        """Views an Arrow ``string`` or ``large_string`` array without copying its text.

        Raises:
            TypeError: the array holds something other than strings.
            InvalidTextError: the array holds a null.
        """
        if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
            raise TypeError(f"expected an Arrow string array, got {array.type}")
        if array.null_count:
            raise InvalidTextError(f"{array.null_count} of {len(array)} lines are null; lines must be text")
        width = np.int64 if pa.types.is_large_string(array.type) else np.int32
        _, offset_buffer, data_buffer = array.buffers()
        if offset_buffer is None or not len(array):
            return cls(np.empty(0, np.uint8), np.zeros(1, np.int64))
        offsets = np.frombuffer(offset_buffer, width)[array.offset : array.offset + len(array) + 1]
        data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.empty(0, np.uint8)
        return cls(data, offsets.astype(np.int64, copy=False))

    @classmethod
    def from_strings(cls, lines: Sequence[str]) -> TextColumn:
        """Packs Python strings.

        Raises:
            InvalidTextError: a string holds a lone surrogate, which UTF-8 cannot represent.
        """
        encoded = []
        for number, line in enumerate(lines):
            try:
                encoded.append(line.encode("utf-8"))
            except UnicodeEncodeError as error:
                raise InvalidTextError(
                    f"line {number}: character {error.start} is the lone surrogate "
                    f"U+{ord(line[error.start]):04X}, which is not text; remove or replace it"
                ) from error
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(line) for line in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    def to_arrow(self) -> pa.LargeStringArray:
        """Views the lines, which must be UTF-8, as an Arrow array."""
        return pa.LargeStringArray.from_buffers(len(self), pa.py_buffer(self.offsets), pa.py_buffer(self.data))

    def to_bytes(self) -> list[bytes]:
        """Returns the lines as byte strings."""
        first = self.offsets[0]
        raw = self.data[first : self.offsets[-1]].tobytes()
        bounds = (self.offsets - first).tolist()
        return [raw[start:end] for start, end in pairwise(bounds)]

    def strings(self) -> Iterator[str]:
        """Yields the lines as strings.

        Raises:
            InvalidTextError: a line is not UTF-8.
        """
        for number, line in enumerate(self.to_bytes()):
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise InvalidTextError(
                    f"line {number}: byte {error.start} is not UTF-8; convert the text to UTF-8 or drop the line"
                ) from error


def text_columns(lines: Lines) -> Iterator[TextColumn]:
    """Converts lines in any accepted form into columns of bounded size, in order."""
    if isinstance(lines, pa.ChunkedArray):
        for chunk in lines.chunks:
            yield TextColumn.from_arrow(chunk)
    elif isinstance(lines, pa.Array):
        yield TextColumn.from_arrow(lines)
    else:
        items = iter(lines)
        for first in items:
            if isinstance(first, pa.Array):
                yield TextColumn.from_arrow(first)
            else:
                yield TextColumn.from_strings([first, *islice(items, LINES_PER_CHUNK - 1)])


def check_utf8(column: TextColumn, first_line: int) -> None:
    """Checks that lines are UTF-8; messages count them from ``first_line``."""
    start, end = column.offsets[0], column.offsets[-1]
    invalid = find_invalid_utf8(np.ascontiguousarray(column.data[start:end]))
    if invalid != end - start:
        row = int(np.searchsorted(column.offsets, start + invalid, side="right")) - 1
        raise InvalidTextError(f"line {first_line + row} is not UTF-8; convert the text to UTF-8 or drop the line")


def contains(lines: pa.Array, character: str) -> bool:
    """Returns True if a line of an array contains an ASCII character."""
    column = TextColumn.from_arrow(lines)
    return bool((column.data[column.offsets[0] : column.offsets[-1]] == ord(character)).any())


def concatenated(*columns: pa.Array | str, between: str = "") -> pa.Array:
    """Joins texts row by row, to ``large_string``; a string is the same in all rows."""
    kind = pa.large_string()
    texts = (pa.scalar(each, kind) if isinstance(each, str) else each.cast(kind) for each in columns)
    return pc.binary_join_element_wise(*texts, pa.scalar(between, kind))


def joined_items(items: pa.Array, offsets: npt.NDArray[np.int64], between: str) -> pa.Array:
    """Joins consecutive texts of an array: line i has the items from ``offsets[i]`` to before ``offsets[i + 1]``."""
    lists = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), items)
    return pc.binary_join(lists, pa.scalar(between, items.type))


def joined_lines(lines: pa.Array) -> memoryview:
    r"""Returns the lines of a ``large_string`` array as file content: UTF-8, each line followed by ``\n``."""
    joined = concatenated(lines, "\n")
    _, offsets, data = joined.buffers()
    bounds = np.frombuffer(offsets, np.int64)
    return memoryview(data)[bounds[joined.offset] : bounds[joined.offset + len(joined)]]
