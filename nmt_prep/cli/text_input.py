"""Reads the text input of a command; errors name the line and column."""

from __future__ import annotations

import bisect
import errno
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from nmt_prep.corpora.lines import Block, Fault, TextPolicy, iter_blocks, spans
from nmt_prep.errors import CorpusError, EncodeError, InvalidTextError

_STANDARD_INPUT = Path("/dev/stdin")


class InputLines(NamedTuple):
    """Some lines of an input.

    Attributes:
        text: a ``large_string`` array.
        first: number of the first line in the input, counted from 1.
        name: name of the input, for messages.
    """

    text: pa.Array
    first: int
    name: str


def input_lines(path: Path | None = None) -> Iterator[InputLines]:
    """Yields the lines of a UTF-8 file, or of standard input, one block at a time.

    Raises:
        InvalidTextError: the bytes are not UTF-8.
        OSError: it cannot be read.
    """
    name = "standard input" if path is None else str(path)
    if path is None and sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed; give the text to read", name)
    try:
        for block in iter_blocks(path or _STANDARD_INPUT, TextPolicy(invalid="drop")):
            if block.faults is not None:
                raise _not_utf8(block, name)
            yield InputLines(spans(block.data, block.starts, block.ends), block.first_line, name)
    except CorpusError as error:
        if isinstance(error.__cause__, OSError):  # its advice fits only the files of a run
            raise OSError(error.__cause__.errno, error.__cause__.strerror, name) from None
        raise


def convert(work: Callable[[pa.Array], pa.Array], lines: InputLines, word: re.Pattern[str] | None = None) -> pa.Array:
    """Applies a function to lines; an error gets the place of the fault.

    Args:
        work: the function; it must treat each line independently of the others.
        lines: the lines.
        word: matches the words of a line, to report the column of a faulty word; None to report a character.

    Raises:
        EncodeError: the function raised it; the message starts with the place of the fault.
    """
    try:
        return work(lines.text)
    except EncodeError as error:
        for number, line in enumerate(lines.text.to_pylist()):
            fault = _error_of(work, line)
            if fault is not None:
                where = f"{lines.name}, line {lines.first + number}, column {_column(work, line, word)}"
                raise EncodeError(f"{where}: {fault}") from None
        raise EncodeError(f"{lines.name}, from line {lines.first}: {error}") from error


def _column(work: Callable[[pa.Array], pa.Array], line: str, word: re.Pattern[str] | None) -> int:
    """Returns the column of the first word or character that makes a line fail, counted from 1."""
    if word is None:
        return bisect.bisect_left(range(len(line)), True, key=lambda end: _error_of(work, line[:end]) is not None)
    starts = (match.start() for match in word.finditer(line) if _error_of(work, match[0]) is not None)
    return next(starts, 0) + 1


def _error_of(work: Callable[[pa.Array], pa.Array], line: str) -> EncodeError | None:
    try:
        work(pa.array([line], pa.large_string()))
    except EncodeError as error:
        return error
    return None


def _not_utf8(block: Block, name: str) -> InvalidTextError:
    """Returns the error to raise for the first line of a block that is not UTF-8."""
    assert block.faults is not None
    number = int((block.faults == Fault.INVALID_TEXT).argmax())
    start = int(block.starts[number])
    line = bytes(block.data[start:]).partition(b"\n")[0]
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode("utf-8")) + 1
        bad = line[error.start : error.end].hex(" ")
        utf16 = block.first_line + number == 1 and error.start == 0 and line[:1] in (b"\xff", b"\xfe")
        hint = " (it may be UTF-16)" if utf16 else ""
        return InvalidTextError(
            f"{name}, line {block.first_line + number}, column {column}: not UTF-8 ({bad}: {error.reason}){hint}; "
            "convert the text to UTF-8 first, for example with iconv"
        )
    raise AssertionError("a line marked as not UTF-8 is valid UTF-8")
