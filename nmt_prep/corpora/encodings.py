"""Conversion of text in any encoding to UTF-8, one chunk at a time."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from nmt_prep.errors import InvalidTextError

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

# Half a surrogate pair is invalid in UTF-8, so the later check of each line finds it.
codecs.register_error(_MARK_AS_INVALID, lambda error: ("\udcff", error.end))  # type: ignore[attr-defined]


def one_byte_newlines(encoding: str) -> bool:
    r"""Returns True if in an encoding exactly the bytes 0x0A are newlines, even next to invalid bytes."""
    return _ONE_BYTE_NEWLINES.fullmatch(encoding) is not None


def decoded(
    chunks: Iterator[bytes],
    encoding: str,
    invalid: Literal["error", "drop"],
    path: Path,
    counts: Counter[str],
    start: int = 0,
    first_line: int = 1,
) -> Iterator[bytes]:
    """Yields the text as UTF-8; chunks in UTF-8 are yielded unchecked.

    Args:
        chunks: the bytes of a file.
        encoding: a name of one of Python's codecs.
        invalid: with ``error``, invalid bytes raise; with ``drop``, they become bytes that are not UTF-8.
        path: the file that messages name.
        counts: ``byte_order_marks`` is increased for a mark that the decoder removes.
        start: offset of the first chunk in the file.
        first_line: number of the line at that offset, counted from 1.

    Raises:
        InvalidTextError: the bytes are not text in the encoding.
    """
    if encoding == "utf-8":
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(encoding)("strict" if invalid == "error" else _MARK_AS_INVALID)
    position, line = start, first_line
    for number, chunk in enumerate(_with_end(chunks)):
        if number == 0 and chunk.startswith(_MARKS_REMOVED_BY_DECODERS.get(encoding, (b"no such mark",))):
            counts["byte_order_marks"] += 1
        position += len(chunk)
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            before = bytes(error.object[: error.start]).decode(error.encoding, "ignore")
            where = position - len(error.object) + error.start
            raise text_error(path, line + before.count("\n"), where, error, encoding) from None
        except UnicodeError as error:  # UTF-16 and UTF-32 without a mark
            start = position - len(chunk)
            raise InvalidTextError(
                f"{path}:{line}: not {encoding.upper()} at byte {start} of the file ({error}); set encoding in the "
                f"config, such as {encoding}-le"
            ) from None
        line += text.count("\n")
        yield text.encode("utf-8", "surrogatepass")


def text_error(path: Path, line: int, position: int, error: UnicodeDecodeError, encoding: str) -> InvalidTextError:
    """Returns the error for invalid bytes; ``position`` is their offset in the file."""
    bad = bytes(error.object[error.start : error.end]).hex(" ")
    name = encoding.upper()
    hint = ""
    if encoding == "utf-8" and position == 0 and bytes(error.object[:1]) in (b"\xff", b"\xfe"):
        hint = " (it may be UTF-16)"
    return InvalidTextError(
        f"{path}:{line}: not {name} at byte {position} of the file ({bad}: {error.reason}); "
        f"set encoding in the config{hint}, fix the line, or set invalid: drop to leave such pairs out"
    )


def _with_end(chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield from chunks
    yield b""
