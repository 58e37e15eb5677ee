"""Reads files as runs of whole lines in UTF-8, in bounded memory even if lines are very long."""

from __future__ import annotations

import codecs
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from _nmt_prep_core import count_newlines

from nmt_prep.base.columns import LINES_PER_CHUNK
from nmt_prep.base.digests import CheckedFile, StepRange
from nmt_prep.base.errors import CorpusError, InvalidTextError

if TYPE_CHECKING:
    from nmt_prep.text.blocks import TextPolicy

BLOCK_BYTES = 4 << 20  # Size in bytes of the blocks in which files are read; a longer line is a run by itself

Chunk: TypeAlias = "bytes | memoryview"

_SHORTEST_READ = 4  # bytes, so that the first chunk contains a whole byte order mark


class LineSlice(NamedTuple):
    """Consecutive whole lines of a file."""

    start: int  # offset of the first line
    end: int  # offset of the byte after the last line
    first_line: int  # number of the first line in the file, counted from 1
    # the steps of the file that contain the lines, to check their bytes; None for a file that nmt_prep wrote
    steps: StepRange | None = None


class LineRun(NamedTuple):
    """The bytes of consecutive whole lines."""

    data: bytearray  # the bytes; the last line of a file may lack its newline
    size: int  # size of the lines in the file, in bytes
    too_long: bool = False  # true for a single line that was too long to keep; `data` then has only its newline


def raw_chunks(
    path: Path, start: int = 0, end: int | None = None, steps: StepRange | None = None
) -> Iterator[memoryview]:
    """Yields a file's bytes, about a block at a time. The next chunk overwrites a chunk's bytes.

    Args:
        end: offset after the last byte; None for the file's end.
        steps: steps that contain these bytes, to check them; None for no check.
    """
    if steps is not None:
        whole, last = CheckedFile(path, steps), (steps.first + len(steps.hashes)) * steps.step
        stop = last if end is None else min(end, last)
        for at in range(start - start % BLOCK_BYTES, stop, BLOCK_BYTES):
            yield checked(whole, max(at, start), min(at + BLOCK_BYTES, stop))
        return
    buffer = np.empty(max(BLOCK_BYTES, _SHORTEST_READ), np.uint8).data
    at, end = start, sys.maxsize if end is None else end
    try:
        with path.open("rb", buffering=0) as file:
            if start:  # a file without seek can be read from the beginning only
                file.seek(start)
            while count := file.readinto(buffer[: end - at]):
                at += count
                yield buffer[:count]
    except OSError as error:
        raise unreadable(path, error) from error


def checked(file: CheckedFile, begin: int, end: int) -> memoryview:
    """Returns the bytes in a range of a file, checked. The next range overwrites them."""
    try:
        return file.read(begin, end)
    except OSError as error:
        raise unreadable_in_place(file.path, error) from error
    except ValueError as error:
        raise CorpusError(f"{file.path} changed while it was in use; run again with --verify") from error


def whole_lines(chunks: Iterable[Chunk], limit: int | None) -> Iterator[LineRun]:
    """Yields runs of whole lines. A line with more than ``limit`` bytes, and more than a block, is not kept."""
    # Newlines are searched only in the new bytes, and of the two parts around the last newline only the rest is copied,
    # which is no longer than a chunk. So a line of many chunks takes linear time.
    pending = bytearray()
    skipped = 0  # bytes of a line that is too long to keep
    for chunk in chunks:
        start = 0
        if skipped:
            start = bytes(chunk).find(b"\n") + 1
            if not start:
                skipped += len(chunk)
                continue
            yield LineRun(bytearray(b"\n"), skipped + start, too_long=True)
            skipped = 0
        before = len(pending)
        pending += memoryview(chunk)[start:]
        first_end, last_end = pending.find(b"\n", before) + 1, pending.rfind(b"\n", before) + 1
        long = before >= BLOCK_BYTES  # a long line is a run by itself, which avoids a copy
        at = 0
        for end in sorted({first_end, last_end} if long else {last_end}):
            if end:
                rest = pending[end - at :]
                del pending[end - at :]
                yield LineRun(pending, len(pending))
                pending, at = rest, end
        if limit is not None and len(pending) > max(limit, BLOCK_BYTES):
            skipped, pending = len(pending), bytearray()
    if skipped:
        yield LineRun(bytearray(b"\n"), skipped, too_long=True)
    if pending:
        yield LineRun(pending, len(pending))


def few_lines(runs: Iterable[LineRun]) -> Iterator[LineRun]:
    """Splits runs so that none has more than :data:`~nmt_prep.base.columns.LINES_PER_CHUNK` lines."""
    for run in runs:
        data = run.data
        if count_newlines(data) <= LINES_PER_CHUNK:
            yield run
            continue
        last_ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))[LINES_PER_CHUNK - 1 :: LINES_PER_CHUNK]
        for start, end in pairwise(dict.fromkeys([0, *(last_ends + 1).tolist(), len(data)])):
            yield LineRun(data[start:end], end - start)


def unreadable(path: Path, error: OSError) -> CorpusError:
    """Returns the error for an unreadable file of a corpus."""
    return CorpusError(f"cannot read {path}: {error.strerror or error}; run again with --force extract")


def unreadable_in_place(path: Path, error: OSError) -> CorpusError:
    """Returns the error for an unreadable file that is read in place."""
    return CorpusError(
        f"cannot read {path}, which is read in place: {error.strerror or error}; put it back, then run again"
    )


def changed(path: Path) -> CorpusError:
    """Returns the error for a file of a corpus that changed between two readings."""
    return CorpusError(f"{path} changed while it was in use; run again with --force extract")


UTF8_MARK = codecs.BOM_UTF8

_MARKS_REMOVED_BY_DECODERS = {
    "utf-8-sig": (codecs.BOM_UTF8,),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}
# Without the EUC encodings and GB18030: their decoders accept a newline as part of some invalid sequences.
_ONE_BYTE_NEWLINES = re.compile(
    r"utf-8|ascii|iso8859-\d+|cp125\d|koi8-[rtu]|big5|big5hkscs|cp932|cp949|cp950|gb2312|gbk|shift_jis"
)
_MARK_AS_INVALID = "nmt_prep.mark_as_invalid"

# Half a surrogate pair is invalid in UTF-8, so that the later check of each line finds it.
codecs.register_error(_MARK_AS_INVALID, lambda error: ("\udcff", error.end))  # type: ignore[attr-defined]


def one_byte_newlines(encoding: str) -> bool:
    r"""Returns True for an encoding in which exactly the bytes 0x0A are newlines, even next to invalid bytes."""
    return _ONE_BYTE_NEWLINES.fullmatch(encoding) is not None


def decoded(
    chunks: Iterator[Chunk],
    policy: TextPolicy,
    path: Path,
    counts: Counter[str],
    start: int = 0,
    first_line: int = 1,
) -> Iterator[Chunk]:
    """Yields the text as UTF-8. Chunks in UTF-8 are not checked; bytes to drop become bytes that are not UTF-8."""
    encoding = policy.encoding
    if encoding == "utf-8":
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(encoding)("strict" if policy.invalid == "error" else _MARK_AS_INVALID)
    # For messages: the offset in the file after the chunk, and the number of the line in which the chunk begins. The
    # decoder holds back the bytes of an unfinished character, and its errors count from the first of these.
    position, line = start, first_line
    for number, chunk in enumerate(_with_end(chunks)):
        marks = _MARKS_REMOVED_BY_DECODERS.get(encoding, ())
        if number == 0 and bytes(chunk[:_SHORTEST_READ]).startswith(marks):
            counts["byte_order_marks"] += 1
        position += len(chunk)
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            if isinstance(error, UnicodeDecodeError) and "BOM" not in error.reason:
                before = bytes(error.object[: error.start]).decode(error.encoding, "ignore")
                where = position - len(error.object) + error.start
                raise text_error(path, line + before.count("\n"), where, error, policy) from None
            # UTF-16 and UTF-32 without a mark, for which Python 3.13 has another error than earlier versions
            start = position - len(chunk)
            raise InvalidTextError(
                f"{path}:{line}: not {encoding.upper()} at byte {start} of the file (no byte order mark; it may be "
                f"{encoding}-le); {policy.mend}"
            ) from None
        line += text.count("\n")
        yield text.encode("utf-8", "surrogatepass")


def text_error(path: Path, line: int, position: int, error: UnicodeDecodeError, policy: TextPolicy) -> InvalidTextError:
    """Returns the error for invalid bytes; ``position`` is their offset in the file."""
    bad = bytes(error.object[error.start : error.end]).hex(" ")
    utf16 = policy.encoding == "utf-8" and position == 0 and bytes(error.object[:1]) in (b"\xff", b"\xfe")
    hint = "; it may be UTF-16" if utf16 else ""
    return InvalidTextError(
        f"{path}:{line}: not {policy.encoding.upper()} at byte {position} of the file ({bad}: {error.reason}{hint}); "
        f"{policy.mend}"
    )


def _with_end(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    yield from chunks
    yield b""
