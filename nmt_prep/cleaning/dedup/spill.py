"""Spill files: a part's records, by key range. They show which pairs with the same key to drop.

A task that cleans a part writes a spill file for each comparison. A task that compares the pairs with a range of keys
reads this range from the spill files of all parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import drops_among, partition_records, rank_records, reduce_records

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.dedup.drops import DropWriter, Marks
from nmt_prep.cleaning.dedup.records import (
    ALL,
    Comparison,
    Group,
    GroupedWriter,
    Keys,
    Records,
    Slice,
    records_of,
    slices_of,
)

RUN_ROWS = 1 << 19  # Number of records that are held in memory before they are written

SMALLEST_SHARE = 4 << 20
LARGEST_SHARE = 64 << 20
USUAL_SHARE = 16 << 20
"""Usual maximum size in bytes of the records in a key range: a million pairs still give work to several workers."""

MOST_BITS = 12


def range_bytes(memory: int) -> int:
    """Returns the maximum size in bytes of the records in a key range, given the memory that a task may use."""
    return min(max(memory // 4, SMALLEST_SHARE), LARGEST_SHARE)


def range_bits(rows: int, record_bytes: int, memory: int) -> int:
    """Returns how many leading bits of a key are its range's index, so that a range fits into a task's memory."""
    # Keys are hashes, so ranges of equal width have nearly equal sizes, and pairs with one key are always in one range.
    ranges = max(-(-rows * record_bytes // min(range_bytes(memory), USUAL_SHARE)), 1)
    return min((ranges - 1).bit_length(), MOST_BITS)


@dataclass(frozen=True)
class SpillFiles:
    """The spill files of a part."""

    directory: Path
    part: int  # index of the part in its split
    comparisons: tuple[Comparison, ...]  # one for each file
    bits: int  # how many leading key bits are the key's range index
    group: Group = ALL  # the pairs with which the pairs of the part are compared

    @property
    def paths(self) -> list[Path]:
        return [spill_path(self.directory, each.compared, self.part) for each in self.comparisons]


def spill_path(directory: Path, comparison: str, part: int) -> Path:
    """Returns the path of a part's spill file for a comparison."""
    return directory / f"{comparison}-{part:05d}.spill"


class SpillWriter(ExitStack):
    """Writes the spill files of a part."""

    def __init__(self, files: SpillFiles) -> None:
        super().__init__()
        self._files = files
        self._buffers = [np.empty((RUN_ROWS, each.width), np.uint64) for each in files.comparisons]
        self._writers = [GroupedWriter(path) for path in files.paths]
        self._rows = 0

    def __enter__(self) -> Self:
        for writer in self._writers:
            self.enter_context(writer)
        self.push(self._end)
        return self

    def add(self, pairs: pa.RecordBatch, lines: Mapping[Side, Keys] | None = None) -> None:
        """Adds a batch's pairs, given the keys of both sides' lines if they are known."""
        done = 0
        while done < len(pairs):
            rows = slice(done, done + RUN_ROWS - self._rows)
            batch, keys = pairs[rows], lines and {side: each[rows] for side, each in lines.items()}
            found = records_of(batch, self._files.part, self._files.comparisons, self._files.group, keys)
            for buffer, records in zip(self._buffers, found, strict=True):
                buffer[self._rows : self._rows + len(batch)] = records
            self._rows += len(batch)
            done += len(batch)
            if self._rows == RUN_ROWS:
                self._write()

    def _end(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None:
            self._write()

    def _write(self) -> None:
        for writer, buffer in zip(self._writers, self._buffers, strict=True):
            writer.write(*partition_records(buffer[: self._rows], self._files.bits))
        self._rows = 0


@dataclass(frozen=True)
class SpilledRange:
    """The records of a key range in the spill files of some parts, without pairs that are dropped already."""

    directory: Path
    comparison: Comparison
    parts: tuple[int, ...]
    bits: int  # how many leading key bits are the key's range index
    number: int  # index of the range
    marked: str | None  # the comparison after which dropped pairs were marked; None if no pairs are dropped yet

    @cached_property
    def rows(self) -> int:
        """Record count, including dropped pairs."""
        return sum(piece.rows for part in self.parts for piece in self._slices(part))

    def _slices(self, part: int) -> list[Slice]:
        path = spill_path(self.directory, self.comparison.compared, part)
        return slices_of(path, self.number, 1 << self.bits, self.comparison.width)

    def read(self) -> Records:
        """Returns all records: uint64, shape ``[rows, width]``."""
        found, rows = np.empty((self.rows, self.comparison.width), np.uint64), 0
        for records in self.batches(LARGEST_SHARE):
            found[rows : rows + len(records)] = records
            rows += len(records)
        return found[:rows]

    def batches(self, rows: int) -> Iterator[Records]:
        """Yields the records in the order of their places, up to ``rows`` at a time."""
        for part in self.parts:
            pieces = self._slices(part)
            marks = None if self.marked is None or not pieces else Marks.read(self.directory, self.marked, part)
            for piece in pieces:
                for first in range(0, piece.rows, rows):
                    records = piece.read(self.comparison.width, first, rows)
                    yield records if marks is None else records[~marks.among(records[:, -1])]


@dataclass(frozen=True)
class Corpora:
    """The corpora of the compared pairs: the corpus index of each part, and how many corpora there are."""

    of_parts: tuple[int, ...]
    count: int


def decide_range(found: SpilledRange, corpora: Corpora, memory: int, output: DropWriter) -> npt.NDArray[np.int64]:
    """Writes the pairs in a key range that are not among the best of their key.

    Args:
        memory: bytes of records to hold at a time.

    Returns:
        Matrix of corpora, row by row: how many pairs of one corpus have a key that is also in another.
    """
    # A range fits into memory unless many pairs have one key, which no division of the keys can separate. Then the
    # records are read twice: first to find the best of each key, then to find the others among all records.
    comparison = found.comparison
    most = max(memory // comparison.record_bytes, 4)
    records = found.read() if found.rows <= most else _reduced(found, corpora, most)
    drops, overlap = rank_records(records, comparison.kept, [*corpora.of_parts], corpora.count)
    output.add(drops)
    if found.rows > most:
        for batch in found.batches(most // 4):
            output.add(drops_among(batch, comparison.kept, records))
    return overlap


def _reduced(found: SpilledRange, corpora: Corpora, most: int) -> Records:
    """Returns the best records of each key, and counts of the other records (see ``ranking.h``)."""
    # Reducing what is held whenever it is full gives the same as reducing all records at once: the best records of a
    # key are among the best of each piece, and counts add up. If reducing frees less than half, most keys differ, so
    # what is held doubles, and each record is copied a constant number of times on average.

    def reduce(held: Records) -> int:
        return reduce_records(held, found.comparison.kept, [*corpora.of_parts], corpora.count)

    held, rows = np.empty((most, found.comparison.width), np.uint64), 0
    for batch in found.batches(most // 4):
        if rows + len(batch) > len(held):
            rows = reduce(held[:rows])
            if rows > len(held) // 2:  # mostly different keys
                held = np.concatenate([held[:rows], np.empty_like(held)])
        held[rows : rows + len(batch)] = batch
        rows += len(batch)
    return held[: reduce(held[:rows])]
