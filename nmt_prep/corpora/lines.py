r"""From the bytes of a file to columns of lines, whole blocks at a time.

A line ends at ``\n`` and nowhere else, and is otherwise left as it is; a last line without ``\n`` counts. The bytes
must be UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.errors import CorpusError, InvalidTextError

BLOCK_BYTES = 2 << 20
"""How much of a file is looked at together; a longer line is a block of its own."""

_NEWLINE = ord("\n")


@dataclass(frozen=True, slots=True)
class Block:
    r"""Some whole lines of a file: line i is ``data[starts[i]:ends[i]]``.

    Attributes:
        data: UTF-8.
        starts: int64, shape ``[lines]``.
        ends: int64, shape ``[lines]``, without the ``\n``.
        first_line: the number of the first line in the file, counted from 1.
    """

    data: bytearray
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    first_line: int


def iter_blocks(path: Path) -> Iterator[Block]:
    """Cuts a file into blocks of about :data:`BLOCK_BYTES`.

    Raises:
        InvalidTextError: the bytes are not UTF-8.
        CorpusError: the file cannot be read.
    """
    line, position = 1, 0
    for data in _whole_lines(path):
        _check_utf8(data, path, line, position)
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE)
        if data[-1] != _NEWLINE:
            ends = np.append(ends, len(data))
        starts = np.zeros_like(ends)
        starts[1:] = ends[:-1] + 1
        yield Block(data, starts, ends, line)
        line += len(ends)
        position += len(data)


def iter_lines(path: Path) -> Iterator[pa.Array]:
    """The lines of a file as ``large_string`` arrays, none of them empty.

    Raises:
        InvalidTextError: the bytes are not UTF-8.
        CorpusError: the file cannot be read.
    """
    return (spans(block.data, block.starts, block.ends) for block in iter_blocks(path))


def read_text(path: Path) -> str:
    """The whole text of a file.

    Raises:
        InvalidTextError: the bytes are not UTF-8.
        CorpusError: the file cannot be read.
    """
    try:
        data = bytearray(path.read_bytes())
    except OSError as error:
        raise _unreadable(path, error) from error
    _check_utf8(data, path, 1, 0)
    return data.decode("utf-8")


def spans(data: bytearray, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> pa.Array:
    """The pieces ``data[starts[i]:ends[i]]`` as a ``large_string`` array, copied together.

    ``starts[i] <= ends[i] <= starts[i + 1]`` must hold: then the pieces and the gaps between them are one array of
    strings, of which every other one is wanted. A single piece is not copied.
    """
    if not len(starts):
        return pa.array([], pa.large_string())
    offsets = np.empty(2 * len(starts), np.int64)
    offsets[0::2] = starts
    offsets[1::2] = ends
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    pieces_and_gaps = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
    if len(starts) == 1:
        return pieces_and_gaps
    return pieces_and_gaps.take(pa.array(np.arange(0, len(offsets), 2)))


def strip_lines(array: pa.Array) -> pa.Array:
    """Strips each string of an Arrow string array of what ``str.strip`` strips: the same 29 characters."""
    return pc.utf8_trim_whitespace(array)


def text_bytes(array: pa.Array) -> int:
    """UTF-8 bytes of all strings of an array."""
    return pc.sum(pc.binary_length(array)).as_py() or 0


def _whole_lines(path: Path) -> Iterator[bytearray]:
    """The bytes of a file, cut after a newline, in pieces of about a block; the last may end without one."""
    pending = bytearray()
    try:
        with path.open("rb", buffering=0) as file:
            while chunk := file.read(BLOCK_BYTES):
                first_end, last_end = chunk.find(b"\n") + 1, chunk.rfind(b"\n") + 1
                long = len(pending) >= BLOCK_BYTES  # such a line comes alone: nothing is copied to single it out
                start = 0
                for end in sorted({first_end, last_end} if long else {last_end}):
                    if end:
                        pending += memoryview(chunk)[start:end]
                        yield pending
                        pending, start = bytearray(), end
                pending += memoryview(chunk)[start:]
    except OSError as error:
        raise _unreadable(path, error) from error
    if pending:
        yield pending


def _check_utf8(data: bytearray, path: Path, line: int, position: int) -> None:
    """Arrow's check is much the faster one; Python's says where."""
    bounds = pa.py_buffer(np.array([0, len(data)], np.int64))
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, bounds, pa.py_buffer(data)]).validate(full=True)
    except pa.ArrowInvalid:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            bad = data[error.start : error.end].hex(" ")
            line += data.count(b"\n", 0, error.start)
            raise InvalidTextError(
                f"{path}:{line}: not UTF-8 at byte {position + error.start} of the file ({bad}: {error.reason}); "
                "convert the file to UTF-8, or mend the line"
            ) from None
        raise


def _unreadable(path: Path, error: OSError) -> CorpusError:
    return CorpusError(f"cannot read {path}: {error.strerror or error}; run again with --force extract")
