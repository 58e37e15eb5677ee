r"""The bytes of a file in pieces that end at a newline, in memory that no line can make grow without bound."""

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
"""How much of a file is looked at together; a longer line is a piece of its own."""

_SHORTEST_READ = 4  # so that a byte order mark is in the first chunk


class LineSlice(NamedTuple):
    """Some whole lines of a file.

    Attributes:
        start: the byte that the first of them begins at.
        end: the byte after the last of them.
        first_line: the number of the first of them in the file, counted from 1.
    """

    start: int
    end: int
    first_line: int


class Piece(NamedTuple):
    """Some whole lines.

    Attributes:
        data: their bytes; the last line of a file may lack its newline.
        size: how many bytes of the file it stands for.
        too_long: true where it stands for one line that was too long to keep; ``data`` is then a mere newline.
    """

    data: bytearray
    size: int
    too_long: bool = False


def raw_chunks(path: Path, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    """The bytes of a file from ``start`` to ``end``, or to its own end, about a block at a time.

    Raises:
        CorpusError: the file cannot be read.
    """
    at, end = start, sys.maxsize if end is None else end
    try:
        with path.open("rb", buffering=0) as file:
            if start:  # what cannot be sought in can still be read from the beginning
                file.seek(start)
            while chunk := file.read(min(max(BLOCK_BYTES, _SHORTEST_READ), end - at)):
                at += len(chunk)
                yield chunk
    except OSError as error:
        raise unreadable(path, error) from error


def whole_lines(chunks: Iterable[bytes], limit: int | None) -> Iterator[Piece]:
    """Cuts chunks anew, after a newline.

    Args:
        chunks: the bytes of a file.
        limit: a line of more bytes than this, and than a block, is not kept.
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
        long = len(pending) >= BLOCK_BYTES  # such a line comes alone: nothing is copied to single it out
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
    """Cuts pieces so that none has more than :data:`~nmt_prep.columns.LINES_PER_CHUNK` lines."""
    for piece in pieces:
        data = piece.data
        if data.count(b"\n") <= LINES_PER_CHUNK:
            yield piece
            continue
        last_ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))[LINES_PER_CHUNK - 1 :: LINES_PER_CHUNK]
        for start, end in pairwise(dict.fromkeys([0, *(last_ends + 1).tolist(), len(data)])):
            yield Piece(data[start:end], end - start)


def unreadable(path: Path, error: OSError) -> CorpusError:
    """The error to raise where a file of a corpus cannot be read."""
    return CorpusError(f"cannot read {path}: {error.strerror or error}; run again with --force extract")


def changed(path: Path) -> CorpusError:
    """The error to raise where a file of a corpus is not what it was when it was read before."""
    return CorpusError(f"{path} changed while it was in use; run again with --force extract")
