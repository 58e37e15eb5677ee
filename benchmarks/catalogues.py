"""Pairs from compiled gettext catalogues (``.mo``), which most systems have below /usr/share/locale."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

_LITTLE_ENDIAN = 0x950412DE
_WORDS = range(5, 101)
_MARKUP = re.compile(r"[%$<>\\_|{}&\[#]|^\s*-|--")
"""Directives, tags, options and other text that is no sentence."""


def catalogue_pairs(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """Returns the messages and their translations, without duplicates, in the order of the files.

    Messages of less than five or more than 100 words are left out, and those with directives or markup.
    """
    pairs: dict[tuple[str, str], None] = {}
    for path in paths:
        for message, translation in _entries(path.read_bytes()):
            pair = _text(message), _text(translation)
            running = len(pair[0].split()) in _WORDS and not any(map(_MARKUP.search, (message, translation)))
            if running and pair[1] and pair[0] != pair[1]:
                pairs[pair] = None
    return [*pairs]


def _entries(data: bytes) -> Iterator[tuple[str, str]]:
    """Yields the messages in the singular; a context before U+0004 is left out."""
    order = "<" if struct.unpack_from("<I", data)[0] == _LITTLE_ENDIAN else ">"
    count, *tables = struct.unpack_from(f"{order}III", data, 8)
    for number in range(count):
        strings = []
        for table in tables:
            length, offset = struct.unpack_from(f"{order}II", data, table + 8 * number)
            strings.append(data[offset : offset + length])
        if strings[0] and b"\0" not in strings[0]:
            message, translation = (string.decode("utf-8", "replace") for string in strings)
            if "\ufffd" not in message + translation:
                yield message.rpartition("\x04")[2], translation


def _text(message: str) -> str:
    return re.sub(r"\s+", " ", message.rpartition("^")[2]).strip()
