"""Standard input and other text as blocks of lines, and lines to standard output."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from nmt_prep.base.columns import joined_lines
from nmt_prep.base.errors import CorpusError, InvalidTextError, OutputError
from nmt_prep.cli.streams import READER_GONE
from nmt_prep.text.blocks import Block, Fault, TextPolicy, iter_blocks, spans

_STANDARD_INPUT = Path("/dev/stdin")


class InputLines(NamedTuple):
    """Some lines of an input."""

    text: pa.Array
    first: int  # number of the first line in the input, counted from 1
    name: str  # name of the input, for messages


def write_lines(lines: pa.Array) -> None:
    """Writes the lines of a ``large_string`` array to standard output. If its reader is gone, ends the program."""
    write_text(joined_lines(lines))


def write_text(rest: memoryview) -> None:
    """Writes UTF-8 to standard output. If its reader is gone, ends the program."""
    try:
        while rest:
            rest = rest[os.write(1, rest) :]
    except BrokenPipeError:
        raise SystemExit(READER_GONE) from None
    except OSError as error:
        raise OutputError(f"cannot write to standard output: {error.strerror}") from error


def input_lines(path: Path | None = None) -> Iterator[InputLines]:
    """Yields the lines in a UTF-8 file, or on standard input, one block at a time."""
    for block in input_blocks(path):
        yield InputLines(spans(block.data, block.starts, block.ends), block.first_line, name_of(path))


def input_blocks(path: Path | None = None) -> Iterator[Block]:
    """Yields the blocks in a UTF-8 file, or on standard input, without faults."""
    name = name_of(path)
    if path is None and sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed; give the text to read", name)
    try:
        for block in iter_blocks(path or _STANDARD_INPUT, TextPolicy(invalid="drop")):
            if block.faults is not None:
                raise _not_utf8(block, name)
            yield block
    except CorpusError as error:
        if isinstance(error.__cause__, OSError):  # the error's advice is for files of a run
            raise OSError(error.__cause__.errno, error.__cause__.strerror, name) from None
        raise


def name_of(path: Path | None) -> str:
    """Returns an input's name for messages; None is standard input."""
    return "standard input" if path is None else str(path)


def carriage_return_hint(line: bytes) -> str:
    r"""Returns a hint at the carriage return that ends a line with too few columns; empty if there is none."""
    if not line.endswith(b"\r"):
        return ""
    what = "is only" if line == b"\r" else "ends in"
    return rf", and {what} a carriage return, which is part of the text (remove them, for example with tr -d '\r')"


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
