r"""Division of large line-based files into slices that can be read independently.

First the newlines in a file are counted, one byte range at a time. The counts give the first line of each slice,
the same on both sides of a corpus, and its approximate offset. The reader of a slice finds the exact offset. Slices
depend only on the bytes of the files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.base import digests
from nmt_prep.base.digests import FileSteps, StepRange
from nmt_prep.text.chunks import UTF8_MARK, LineSlice, changed, one_byte_newlines, unreadable

SLICE_BYTES = 64 << 20  # Size in bytes of a slice from a corpus's larger file; smaller files are not divided
COUNT_BYTES = 256 << 20  # Size in bytes of the ranges in which tasks count newlines

_NEWLINE = ord("\n")


@dataclass(frozen=True, slots=True)
class LineStart:
    """The start of a line: an offset and how many newlines follow it before the line."""

    line: int  # number of the line in the file, counted from 0
    seek: int  # the offset
    newlines: int  # number of newlines between the offset and the line, all within a step

    def find(self, path: Path) -> int:
        left = self.newlines
        if not left:
            return self.seek
        for at, step in _steps(path, self.seek, sys.maxsize):
            ends = np.flatnonzero(step == _NEWLINE)
            if len(ends) >= left:
                return at + int(ends[left - 1]) + 1
            left -= len(ends)
        raise changed(path)


Bounds: TypeAlias = "tuple[LineStart, LineStart]"  # Where a slice of a file starts, and where the line after it starts


def line_slice(path: Path, bounds: Bounds, steps: StepRange | None = None) -> LineSlice:
    """Returns the slice of a file between two lines.

    Args:
        steps: steps that contain the slice, to check while it is read; None for no check.
    """
    begin, end = bounds
    return LineSlice(begin.find(path), end.find(path), begin.line + 1, steps)


def whole_lines(steps: Mapping[str, StepRange]) -> dict[str, LineSlice]:
    """Returns slices for all lines in files, with all steps of these files."""
    return {part: LineSlice(0, whole.step * len(whole.hashes), 1, whole) for part, whole in steps.items()}


@dataclass(frozen=True)
class RangeCounts:
    """Counts over a range of a file."""

    newlines: tuple[int, ...]  # number of newlines in each step
    unended: bool  # true if the range ends in a line without a newline
    quotes: int  # number of quotes in the range
    parities: tuple[int, ...]  # the numbers of quotes before each newline, modulo 2, without duplicates


def count_range(
    path: Path, start: int, end: int, encoding: str, quote: bytes, tick: Callable[[int], None]
) -> RangeCounts:
    """Counts the newlines and quotes in a range of a file.

    Args:
        quote: a byte to count as well, or empty to count only newlines.
        tick: called with each step's byte count.
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
    """Approximate line offsets in a file."""

    size: int  # bytes in the file
    before: npt.NDArray[np.int64]  # newlines before each step, and before the end; int64, shape `[steps + 1]`
    lines: int  # lines in the file
    apart: bool  # true if every line contains an even number of quotes
    step: int  # size of a step in bytes

    @classmethod
    def of_steps(cls, steps: FileSteps) -> LineIndex:
        """Builds a file's index without quotes from its steps."""
        before = np.cumsum([0, *steps.newlines], dtype=np.int64)
        return cls(steps.size, before, int(before[-1]) + steps.unended, True, steps.step)

    @classmethod
    def of(cls, size: int, ranges: Sequence[RangeCounts]) -> LineIndex:
        """Builds the index from the results of :func:`count_range` for all ranges in a file, in order."""
        before = np.cumsum([0, *(count for counts in ranges for count in counts.newlines)], dtype=np.int64)
        # A quoted field of CSV may contain newlines, and a slice must not begin within one. A newline is outside of
        # quotes if an even number of quotes comes before it in the file. A range knows only its own quotes: the parity
        # of those before it is added here.
        quotes, apart = 0, True
        for counts in ranges:
            apart &= all((quotes + parity) % 2 == 0 for parity in counts.parities)
            quotes += counts.quotes
        unended = bool(ranges) and ranges[-1].unended
        return cls(size, before, int(before[-1]) + unended, apart and quotes % 2 == 0, digests.STEP_BYTES)

    def start_of(self, line: int) -> LineStart:
        if not line:
            return LineStart(0, 0, 0)
        # The last step with fewer than ``line`` newlines before it: the reader skips the others from there, all of
        # which are in this step.
        step = int(np.searchsorted(self.before, line)) - 1
        return LineStart(line, step * self.step, line - int(self.before[step]))

    @property
    def end(self) -> LineStart:
        """Returns the start of the line after the last one."""
        return LineStart(self.lines, self.size, 0)

    def cuts(self) -> Iterator[int]:
        """Yields the first line of each slice: the line at each multiple of :data:`SLICE_BYTES`."""
        lines = self.before[np.arange(0, self.size, SLICE_BYTES) // self.step]
        yield from dict.fromkeys(lines.tolist())


def cut(indices: Mapping[str, LineIndex]) -> list[dict[str, Bounds]]:
    """Divides files with equal numbers of lines; returns for each slice its bounds in each file."""
    # The larger file gives the lines, so that no slice of it exceeds the size by more than a line; on the other side
    # the slices have the same lines, wherever they are.
    lines = list(max(indices.values(), key=lambda index: index.size).cuts())
    bounds = [pairwise([*map(index.start_of, lines), index.end]) for index in indices.values()]
    return [dict(zip(indices, of_slice, strict=True)) for of_slice in zip(*bounds, strict=True)]


def line_count(path: Path, encoding: str) -> int | None:
    """Returns the file's line count, or None if newlines are not single bytes in its encoding."""
    if not one_byte_newlines(encoding):
        return None
    size = path.stat().st_size
    return LineIndex.of(size, [count_range(path, 0, size, encoding, b"", lambda _: None)] if size else []).lines


def line_from(path: Path, position: int) -> int:
    """Returns the offset of the first line that begins at or after ``position``, or the file's size if none does."""
    if not position:
        return 0
    size = path.stat().st_size
    for at, step in _steps(path, position - 1, size):
        if len(ends := np.flatnonzero(step == _NEWLINE)):
            return at + int(ends[0]) + 1
    return size


def _steps(path: Path, start: int, end: int) -> Iterator[tuple[int, npt.NDArray[np.uint8]]]:
    """Yields offset and bytes of each step from ``start`` to ``end`` or the file's end. The buffer is reused."""
    buffer = np.empty(digests.STEP_BYTES, np.uint8)
    try:
        with path.open("rb") as file:
            file.seek(start)
            for at in range(start, end, digests.STEP_BYTES):
                count = file.readinto(buffer.data[: end - at])
                if not count:
                    break
                yield at, buffer[:count]
    except OSError as error:
        raise unreadable(path, error) from error
