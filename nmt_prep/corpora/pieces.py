"""Reading of files in runs of whole lines, in bounded memory whatever the length of a line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt_prep.columns import LINES_PER_CHUNK
from nmt_prep.errors import CorpusError

BLOCK_BYTES = 2 << 20
"""Size of the blocks that a file is read in; a longer line is a run by itself."""

_SHORTEST_READ = 4  # ensures that the first chunk contains a whole byte order mark


class LineSlice(NamedTuple):
    """Consecutive whole lines of a file.

    Attributes:
        start: offset of the first line.
        end: offset of the byte after the last line.
        first_line: number of the first line in the file, counted from 1.
    """

    start: int
    end: int
    first_line: int


class Piece(NamedTuple):
    """The bytes of consecutive whole lines.

    Attributes:
        data: the bytes; the last line of a file may lack its newline.
        size: the number of bytes in the file.
        too_long: true for a single line that was too long to keep; ``data`` is then just a newline.
    """

    data: bytearray
    size: int
    too_long: bool = False


def raw_chunks(path: Path, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yields the bytes of a file from ``start`` to ``end`` (None: to its end), about a block at a time.

    Raises:
        CorpusError: the file cannot be read.
    """
    at, end = start, sys.maxsize if end is None else end
    try:
        with path.open("rb", buffering=0) as file:
            if start:  # a file without seek can still be read from the beginning
                file.seek(start)
            while chunk := file.read(min(max(BLOCK_BYTES, _SHORTEST_READ), end - at)):
                at += len(chunk)
                yield chunk
    except OSError as error:
        raise unreadable(path, error) from error


def whole_lines(chunks: Iterable[bytes], limit: int | None) -> Iterator[Piece]:
    """Regroups chunks so that each ends at a newline.

    Args:
        chunks: the bytes of a file.
        limit: a line with more bytes than this and than a block is not kept; None for no limit.
    """
    pending = bytearray()
    skipped = 0  # bytes of a line that is too long to keep
    for chunk in chunks:
        start = 0
        if skipped:
            start = chunk.find(b"\n") + 1
            if not start:
                skipped += len(chunk)
                continue
            yield Piece(bytearray(b"\n"), skipped + start, too_long=True)
            skipped = 0
        first_end, last_end = chunk.find(b"\n", start) + 1, chunk.rfind(b"\n", start) + 1
        long = len(pending) >= BLOCK_BYTES  # yielded alone, which avoids a copy
        for end in sorted({first_end, last_end} if long else {last_end}):
            if end:
                pending += memoryview(chunk)[start:end]
                yield Piece(pending, len(pending))
                pending, start = bytearray(), end
        pending += memoryview(chunk)[start:]
        if limit is not None and len(pending) > max(limit, BLOCK_BYTES):
            skipped, pending = len(pending), bytearray()
    if skipped:
        yield Piece(bytearray(b"\n"), skipped, too_long=True)
    if pending:
        yield Piece(pending, len(pending))


def few_lines(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Splits runs so that none has more than :data:`~nmt_prep.columns.LINES_PER_CHUNK` lines."""
    for piece in pieces:
        data = piece.data
        if data.count(b"\n") <= LINES_PER_CHUNK:
            yield piece
            continue
        last_ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))[LINES_PER_CHUNK - 1 :: LINES_PER_CHUNK]
        for start, end in pairwise(dict.fromkeys([0, *(last_ends + 1).tolist(), len(data)])):
            yield Piece(data[start:end], end - start)


def unreadable(path: Path, error: OSError) -> CorpusError:
    """Returns the error for a file of a corpus that cannot be read."""
    return CorpusError(f"cannot read {path}: {error.strerror or error}; run again with --force extract")


def changed(path: Path) -> CorpusError:
    """Returns the error for a file of a corpus that changed since it was read before."""
    return CorpusError(f"{path} changed while it was in use; run again with --force extract")
