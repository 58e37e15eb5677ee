r"""Cutting large files of lines into slices that can be read each for itself.

First the newlines of a file are counted, a range of bytes at a time. From the counts follow the numbers of the lines
that slices begin at, the same on both sides of a corpus, and roughly where those lines are; whoever reads a slice finds
the very byte. Nothing here depends on anything but the bytes of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.corpora.encodings import UTF8_MARK
from nmt_prep.corpora.pieces import LineSlice, changed, unreadable

SLICE_BYTES = 64 << 20
"""How much of the larger file of a corpus makes a slice; smaller files are not cut."""

COUNT_BYTES = 256 << 20
"""How much of a file is counted at a time."""

STEP_BYTES = 1 << 20
"""How closely newlines are counted, and so how far a line that a slice begins at must be looked for."""

_NEWLINE = ord("\n")


@dataclass(frozen=True, slots=True)
class LineStart:
    """Where a line begins: after so many newlines from a byte of the file on.

    Attributes:
        line: its number in the file, counted from 0.
        seek: the byte.
        newlines: how many, none of them further than :data:`STEP_BYTES` away.
    """

    line: int
    seek: int
    newlines: int

    def find(self, path: Path) -> int:
        """The byte that the line begins at.

        Raises:
            CorpusError: the file cannot be read, or has changed since its lines were counted.
        """
        if not self.newlines:
            return self.seek
        for _, step in _steps(path, self.seek, self.seek + STEP_BYTES):
            ends = np.flatnonzero(step == _NEWLINE)
            if len(ends) >= self.newlines:
                return self.seek + int(ends[self.newlines - 1]) + 1
        raise changed(path)


Bounds: TypeAlias = "tuple[LineStart, LineStart]"
"""The first line of a slice of a file, and the first one after it."""


def line_slice(path: Path, bounds: Bounds) -> LineSlice:
    """The lines between two of a file.

    Raises:
        CorpusError: as :meth:`LineStart.find`.
    """
    begin, end = bounds
    return LineSlice(begin.find(path), end.find(path), begin.line + 1)


@dataclass(frozen=True)
class RangeCounts:
    """What must be known of a range of a file before the file is cut.

    Attributes:
        newlines: in each step.
        unended: true if the range ends in a line without a newline.
        quotes: in the range.
        parities: remainders modulo 2 of the numbers of quotes before its newlines.
    """

    newlines: tuple[int, ...]
    unended: bool
    quotes: int
    parities: tuple[int, ...]


def count_range(
    path: Path, start: int, end: int, encoding: str, quote: bytes, tick: Callable[[int], None]
) -> RangeCounts:
    """Counts the newlines and quotes of a range of a file.

    Args:
        path: the file, in an encoding with one-byte newlines.
        start: where the range begins, a multiple of :data:`STEP_BYTES`.
        end: where it ends: another, or the file's end.
        encoding: of the file.
        quote: a byte to count as well; empty for none.
        tick: is told of the bytes as they are read.

    Raises:
        CorpusError: the file cannot be read.
    """
    newlines: list[int] = []
    quotes, parities = 0, set[int]()
    unended = False
    for at, step in _steps(path, start, end):
        is_newline = step == _NEWLINE
        newlines.append(int(np.count_nonzero(is_newline)))
        only_mark = at == 0 and encoding == "utf-8" and step.tobytes() == UTF8_MARK
        unended = bool(step[-1] != _NEWLINE) and not only_mark
        if quote:
            places = np.flatnonzero(step == quote[0])
            before = quotes + np.searchsorted(places, np.flatnonzero(is_newline))
            parities |= set(np.unique(before % 2).tolist())
            quotes += len(places)
        tick(len(step))
    return RangeCounts(tuple(newlines), unended, quotes, tuple(sorted(parities)))


@dataclass(frozen=True)
class LineIndex:
    """Where the lines of a file are, roughly.

    Attributes:
        size: of the file.
        before: newlines before each step, and before the end; int64, shape ``[steps + 1]``.
        lines: of the file.
        apart: whether every line holds an even number of quotes.
    """

    size: int
    before: npt.NDArray[np.int64]
    lines: int
    apart: bool

    @classmethod
    def of(cls, size: int, ranges: Sequence[RangeCounts]) -> LineIndex:
        """From what :func:`count_range` said of all ranges of a file, in order."""
        before = np.cumsum([0, *(count for each in ranges for count in each.newlines)], dtype=np.int64)
        quotes, apart = 0, True
        for each in ranges:
            apart &= all((quotes + parity) % 2 == 0 for parity in each.parities)
            quotes += each.quotes
        unended = bool(ranges) and ranges[-1].unended
        return cls(size, before, int(before[-1]) + unended, apart and quotes % 2 == 0)

    def start_of(self, line: int) -> LineStart:
        """Where a line begins."""
        if not line:
            return LineStart(0, 0, 0)
        step = int(np.searchsorted(self.before, line)) - 1
        return LineStart(line, step * STEP_BYTES, line - int(self.before[step]))

    @property
    def end(self) -> LineStart:
        """Where one more line would begin."""
        return LineStart(self.lines, self.size, 0)

    def cuts(self) -> Iterator[int]:
        """The lines that slices begin at: those that the bytes at multiples of :data:`SLICE_BYTES` belong to."""
        lines = self.before[np.arange(0, self.size, SLICE_BYTES) // STEP_BYTES]
        yield from dict.fromkeys(lines.tolist())


def cut(indices: Mapping[str, LineIndex]) -> list[dict[str, Bounds]]:
    """Slices of files that have the same number of lines: of each file its bounds, for each slice in turn."""
    lines = list(max(indices.values(), key=lambda index: index.size).cuts())
    bounds = [pairwise([*map(index.start_of, lines), index.end]) for index in indices.values()]
    return [dict(zip(indices, each, strict=True)) for each in zip(*bounds, strict=True)]


def line_from(path: Path, position: int) -> int:
    """The first byte from ``position`` on that a line begins at, or the file's end.

    Raises:
        CorpusError: the file cannot be read.
    """
    if not position:
        return 0
    size = path.stat().st_size
    for at, step in _steps(path, position - 1, size):
        if len(ends := np.flatnonzero(step == _NEWLINE)):
            return at + int(ends[0]) + 1
    return size


def _steps(path: Path, start: int, end: int) -> Iterator[tuple[int, npt.NDArray[np.uint8]]]:
    """The bytes from ``start`` to ``end`` or the file's end, a step at a time, in memory that is used again."""
    buffer = np.empty(STEP_BYTES, np.uint8)
    try:
        with path.open("rb") as file:
            file.seek(start)
            for at in range(start, end, STEP_BYTES):
                count = file.readinto(buffer.data[: end - at])
                if not count:
                    break
                yield at, buffer[:count]
    except OSError as error:
        raise unreadable(path, error) from error
