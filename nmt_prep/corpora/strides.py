"""Reading every n-th line of a large file, at little more than the cost of counting its newlines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.corpora.encodings import UTF8_MARK
from nmt_prep.corpora.pieces import changed, unreadable

WORTH_SKIPPING = 16
"""Smallest stride for which skipping lines is faster than reading all of them."""

READ_BYTES = 1 << 20

WINDOW_BYTES = 1 << 16
"""Size of the windows in which newlines are only counted if none of their lines is wanted."""

_NEWLINE = ord("\n")


def every_line(path: Path, stride: int) -> Iterator[pa.Array]:
    """Yields every n-th line of a UTF-8 file: lines ``stride``, ``2 * stride`` and so on, counted from 1.

    The byte order mark is removed. Other lines are not checked, so the file must be known to be UTF-8.

    Raises:
        CorpusError: the file cannot be read, or is not UTF-8 any more.
    """
    ahead = stride - 1  # newlines before the next wanted line
    line: bytearray | None = None  # the part of that line read so far
    for window in _windows(path):
        is_newline = window == _NEWLINE
        if line is None and (count := int(np.count_nonzero(is_newline))) < ahead:
            ahead -= count
            continue
        ends = np.flatnonzero(is_newline)
        found: list[bytearray] = []
        start = at = 0
        while True:
            if line is None:
                if len(ends) - at < ahead:
                    ahead -= len(ends) - at
                    break
                at += ahead
                start, ahead, line = int(ends[at - 1]) + 1 if at else 0, 0, bytearray()
            if at == len(ends):
                line += window[start:].data
                break
            line += window[start : ends[at]].data
            found.append(line)
            at, ahead, line = at + 1, stride - 1, None
        if found:
            yield _column(found, path)
    if line:
        yield _column([line], path)


def _windows(path: Path) -> Iterator[npt.NDArray[np.uint8]]:
    """Yields the bytes of a file after its byte order mark. The buffer is reused."""
    buffer = np.empty(READ_BYTES, np.uint8)
    try:
        with path.open("rb") as file:
            begin = len(UTF8_MARK) if file.read(len(UTF8_MARK)) == UTF8_MARK else 0
            file.seek(begin)
            while count := file.readinto(buffer.data):
                for start in range(0, count, WINDOW_BYTES):
                    yield buffer[start : min(start + WINDOW_BYTES, count)]
    except OSError as error:
        raise unreadable(path, error) from error


def _column(lines: list[bytearray], path: Path) -> pa.Array:
    try:
        return pa.array([line.decode("utf-8") for line in lines], pa.large_string())
    except UnicodeDecodeError as error:
        raise changed(path) from error
