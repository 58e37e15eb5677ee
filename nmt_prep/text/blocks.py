r"""Splitting of files into lines, one block at a time.

A line ends at ``\n`` only; a last line without ``\n`` counts. A :class:`TextPolicy` says how bytes become lines. A line
that must be dropped keeps its position: it becomes empty and has a fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import find_blank, has_outer_space, join_spans, scan_lines

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import CorpusError
from nmt_prep.text.chunks import (
    UTF8_MARK,
    LineSlice,
    decoded,
    few_lines,
    raw_chunks,
    text_error,
    unreadable,
    whole_lines,
)

if TYPE_CHECKING:
    from nmt_prep.config import Corpus

Faults: TypeAlias = "npt.NDArray[np.uint8]"
Offsets: TypeAlias = "npt.NDArray[np.int64]"

LARGEST_IN_MEMORY = 256 << 20
"""Maximum size in bytes of a file that is read as a whole, such as a test set or a catalog."""

_NEWLINE, _RETURN = ord("\n"), ord("\r")


class Fault(IntEnum):
    """The reason for dropping a line or a pair."""

    INVALID_TEXT = 1
    TOO_LONG = 2
    MISSING_SIDE = 3
    FUZZY = 4
    BLANK = 5
    """A line that is a row of the corpus, but no pair; not counted as dropped."""


@dataclass(frozen=True, slots=True)
class TextPolicy:
    """Options for turning bytes into lines, as a corpus's keys with the same names; ``mend`` is for messages."""

    encoding: str = "utf-8"
    invalid: Literal["error", "drop"] = "error"
    crlf: Literal["strip", "keep"] = "keep"
    max_line_bytes: int | None = None
    mark: Literal["strip", "keep"] = "keep"
    mend: str = "convert the file to UTF-8"

    @classmethod
    def of(cls, corpus: Corpus, part: str, *, drops: bool = False) -> TextPolicy:
        """Returns the policy for a corpus's file; ``drops`` is true if its format takes the ``invalid`` key."""
        side = "" if part == "both" else f" (for this side alone: {{{part}: …}})"
        mend = f"set encoding in the config{side}, "
        mend += "fix the line, or set invalid: drop to skip such pairs" if drops else "or convert the file to UTF-8"
        encoding = corpus.encoding_of(part)
        return cls(encoding, corpus.invalid, corpus.crlf, corpus.max_line_bytes, "strip", mend)


AS_IS = TextPolicy()  # UTF-8 with no changes and no drops, for files that nmt_prep wrote


@dataclass(frozen=True, slots=True)
class Block:
    r"""Consecutive whole lines of a file: line i is ``data[starts[i]:ends[i]]``."""

    data: bytearray  # UTF-8
    starts: Offsets  # int64, shape `[lines]`
    ends: Offsets  # int64, shape `[lines]`; the `\n` does not belong to a line
    first_line: int  # number of the first line in the file, counted from 1
    offset: int  # offset of the first line in the file; only for files in UTF-8
    size: int  # bytes of the lines in the file, newlines included; only for files in UTF-8
    # `Fault` or 0 for each line, uint8, shape `[lines]`; None for no faults. A line with a fault is empty.
    faults: Faults | None = None

    def places(self) -> Offsets:
        """Returns begin and end of each line in a file in UTF-8, newline included: int64, shape ``[lines, 2]``."""
        places = np.empty((len(self.starts), 2), np.int64)
        places[:, 0] = self.starts + self.offset
        places[:-1, 1] = places[1:, 0]
        places[-1:, 1] = self.offset + self.size
        return places


def iter_blocks(
    path: Path,
    policy: TextPolicy = AS_IS,
    counts: Counter[str] | None = None,
    lines: LineSlice | None = None,
) -> Iterator[Block]:
    """Yields blocks of about 4 MiB and at most :data:`~nmt_prep.base.columns.LINES_PER_CHUNK` lines.

    A longer line that is kept is a block by itself.

    Args:
        policy: options for turning bytes into lines.
        lines: the lines to read; None for all. Only for an encoding with :func:`one_byte_newlines`.
    """
    counts = Counter() if counts is None else counts
    position, end, line, steps = lines or (0, None, 1, None)
    chunks = decoded(raw_chunks(path, position, end, steps), policy, path, counts, position, line)
    for run in few_lines(whole_lines(chunks, policy.max_line_bytes)):
        data, size = run.data, run.size
        if position == 0 and policy.mark == "strip" and data.startswith(UTF8_MARK):
            del data[: len(UTF8_MARK)]
            position, size = len(UTF8_MARK), size - len(UTF8_MARK)
            counts["byte_order_marks"] += 1
        if data:
            block = replace(_block(data, line, position, path, policy, counts), size=size)
            if run.too_long:
                block = replace(block, faults=np.array([Fault.TOO_LONG], np.uint8))
            yield block
            line += len(block.starts)
        position += size


def iter_lines(path: str | Path, lines: LineSlice | None = None) -> Iterator[pa.Array]:
    """Returns the lines in a UTF-8 file, or in a slice of it, unchanged, as non-empty ``large_string`` arrays."""
    return (spans(block.data, block.starts, block.ends) for block in iter_blocks(Path(path), lines=lines))


def read_text(path: Path, policy: TextPolicy, counts: Counter[str]) -> str:
    """Returns a file's text with at most :data:`LARGEST_IN_MEMORY` bytes, without byte order mark."""
    data = b"".join(decoded(iter([read_bytes(path)]), replace(policy, invalid="error"), path, counts))
    marks = len(UTF8_MARK) if data.startswith(UTF8_MARK) else 0
    counts["byte_order_marks"] += bool(marks)
    try:
        return data[marks:].decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, marks + error.start) + 1
        raise text_error(path, line, marks + error.start, error, policy) from None


def read_bytes(path: Path) -> bytes:
    """Returns a file's contents with at most :data:`LARGEST_IN_MEMORY` bytes."""
    try:
        if path.stat().st_size > LARGEST_IN_MEMORY:
            raise CorpusError(f"{path} has more than {LARGEST_IN_MEMORY} bytes, too many for its format; split it")
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


def spans(data: bytearray | npt.NDArray[np.uint8], starts: Offsets, ends: Offsets) -> pa.Array:
    """Returns the spans ``data[starts[i]:ends[i]]`` as a ``large_string`` array.

    A single span is not copied.
    """
    text: bytearray | npt.NDArray[np.uint8] = data
    if len(starts) == 1:
        offsets = np.concatenate([starts, ends])
    else:
        text, offsets = join_spans(data, starts, ends)
    return pa.Array.from_buffers(pa.large_string(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(text)])


def text_of(block: Block, number: int) -> str:
    """Returns a line of a block as text."""
    return block.data[block.starts[number] : block.ends[number]].decode("utf-8")


def strip_lines(array: pa.Array) -> pa.Array:
    """Returns the strings of an Arrow array without outer white space: the same 29 characters as ``str.strip``.

    Returns the array itself if no string begins or ends with white space.
    """
    if not array.null_count:
        column = TextColumn.from_arrow(array)
        if not has_outer_space(column.data, column.offsets):
            return array
    return pc.utf8_trim_whitespace(array)


def text_bytes(array: pa.Array) -> int:
    """Returns the total UTF-8 byte count in an array of strings without nulls."""
    offsets = TextColumn.from_arrow(array).offsets
    return int(offsets[-1] - offsets[0])


def blank_lines(array: pa.Array) -> npt.NDArray[np.bool_]:
    """Returns True for each string that ``str.strip`` makes empty: bool, shape ``[strings]``."""
    column = TextColumn.from_arrow(array)
    return find_blank(column.data, column.offsets)


def _block(data: bytearray, line: int, position: int, path: Path, policy: TextPolicy, counts: Counter[str]) -> Block:
    """Splits whole lines of bytes into a block, with its lines' faults."""
    ends, valid, has_returns = scan_lines(data)
    if data[-1] != _NEWLINE:
        ends = np.append(ends, len(data))
    starts = np.zeros_like(ends)
    starts[1:] = ends[:-1] + 1
    faults = np.zeros(len(ends), np.uint8)
    if policy.max_line_bytes is not None:
        faults[ends - starts > policy.max_line_bytes] = Fault.TOO_LONG
    if not valid:
        for number in np.flatnonzero(faults == 0):
            try:
                data[starts[number] : ends[number]].decode("utf-8")
            except UnicodeDecodeError as error:
                if policy.invalid == "error":
                    where = position + int(starts[number]) + error.start
                    raise text_error(path, line + int(number), where, error, policy) from None
                faults[number] = Fault.INVALID_TEXT
    if policy.crlf == "strip" and has_returns:
        # A line that is too long may lack its end.
        kept = faults != Fault.TOO_LONG
        returns = kept & (ends > starts) & (ends < len(data))
        returns &= np.frombuffer(data, np.uint8)[ends - 1] == _RETURN
        ends -= returns
        counts["carriage_returns"] += int(np.count_nonzero(returns))
    if not faults.any():
        return Block(data, starts, ends, line, position, len(data))
    return Block(data, starts, np.where(faults, starts, ends), line, position, len(data), faults)
