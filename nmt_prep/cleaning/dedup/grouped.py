"""Files of records in groups, from which each group can be read by itself.

A file holds runs of records. In a run, the records are ordered by group. After the last run, a table holds for each run
the number of the first record of each group and of the one after the last. Then come the numbers of records and of
runs. All numbers are uint64 in little-endian order.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np

from nmt_prep.artefacts import atomic_write, writing
from nmt_prep.cleaning.dedup.records import Records
from nmt_prep.errors import OutputError


class GroupedWriter(ExitStack):
    """Writes a file of records in groups."""

    def __init__(self, path: Path) -> None:
        """Stores the path; creates nothing."""
        super().__init__()
        self._path = path
        self._starts: list[Records] = []
        self._rows = 0

    def __enter__(self) -> Self:
        beside = self.enter_context(atomic_write(self._path))
        with writing(self._path):
            self._file = self.enter_context(beside.open("wb"))
        self.push(self._end)
        return self

    def write(self, records: Records, starts: Records) -> None:
        """Adds a run.

        Args:
            records: ordered by group: uint64, shape ``[records, width]``.
            starts: number of the first record of each group, and the number of records: uint64, shape ``[groups + 1]``.

        Raises:
            OutputError: the file cannot be written.
        """
        if len(records):
            with writing(self._path):
                self._file.write(np.ascontiguousarray(records, "<u8").data)
            self._starts.append(starts + np.uint64(self._rows))
            self._rows += len(records)

    def _end(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None:
            table = np.concatenate([*self._starts, np.array([self._rows, len(self._starts)], np.uint64)])
            self._file.write(table.astype("<u8").data)


@dataclass(frozen=True)
class Slice:
    """The records of a group in one run: their file, the number of the first one, and their number."""

    path: Path
    first: int
    rows: int

    def read(self, width: int, first: int = 0, rows: int | None = None) -> Records:
        """Returns records: uint64, shape ``[rows, width]``.

        Args:
            width: columns of a record.
            first: number of the first record in the slice.
            rows: number of records; None for all.

        Raises:
            OutputError: the file cannot be read, or is cut off.
        """
        count = self.rows - first if rows is None else min(rows, self.rows - first)
        with writing(self.path):
            values = np.fromfile(self.path, "<u8", count * width, offset=8 * width * (self.first + first))
        if len(values) < count * width:
            raise cut_off(self.path)
        return values.reshape(-1, width)

    def mapped(self, width: int) -> Records:
        """Returns all records as a view of the file: uint64, shape ``[rows, width]``.

        Raises:
            OutputError: the file cannot be read.
        """
        with writing(self.path):
            return np.memmap(self.path, "<u8", "r", offset=8 * width * self.first, shape=(self.rows, width))


def slices_of(path: Path, group: int, groups: int, width: int) -> list[Slice]:
    """Returns the slices of a group in a file, in order; empty ones are left out.

    Raises:
        OutputError: the file cannot be read, or is cut off.
    """
    with writing(path), path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        rows, runs = _numbers(file, path, size - 16)
        table = 8 * width * rows
        if size != table + 8 * runs * (groups + 1) + 16:
            raise cut_off(path)
        bounds = [_numbers(file, path, table + 8 * (run * (groups + 1) + group)) for run in range(runs)]
    return [Slice(path, first, end - first) for first, end in bounds if end > first]


def cut_off(path: Path) -> OutputError:
    """Returns the error for a file that does not hold what it should."""
    return OutputError(f"{path} is cut off; run the stage again with --force clean")


def _numbers(file: BinaryIO, path: Path, place: int) -> tuple[int, int]:
    """Returns two numbers of a file."""
    content = os.pread(file.fileno(), 16, place) if place >= 0 else b""
    if len(content) < 16:
        raise cut_off(path)
    return int.from_bytes(content[:8], "little"), int.from_bytes(content[8:], "little")
