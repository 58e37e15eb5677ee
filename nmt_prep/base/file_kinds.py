"""Guesses a file's format from its first bytes, for messages about files that do not match the config."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

_HEAD_BYTES = 4096

_HTML = re.compile(r"\s*(<\?xml[^>]*>\s*)?(<!--(?:(?!-->).)*-->\s*)*<(!doctype\s+)?html\b", re.IGNORECASE | re.DOTALL)
_MARKUP = (
    (_HTML, "", "an HTML page, such as a server's error page"),
    (re.compile(r"<tmx\b"), "tmx", "TMX"),
    (re.compile(r"<xliff\b"), "xliff", "XLIFF"),
    (re.compile(r"<(srcset|refset|tstset|mteval)\b", re.IGNORECASE), "sgm", "SGM"),
    (re.compile(r"<dataset\b"), "wmt_xml", "WMT XML"),
    (re.compile(r"\s*<\?xml\b"), "", "XML"),
)


class FileKind(NamedTuple):
    """The guessed format of a file."""

    format: str  # the corpus format that reads it; empty if there is none
    encoding: str  # the encoding that its byte order mark shows; else empty
    words: str  # description for messages, such as "Parquet" or "a PDF document"


_MAGIC = (
    (b"PAR1", FileKind("parquet", "", "Parquet")),
    (b"\xde\x12\x04\x95", FileKind("", "", "a gettext MO catalog (msgunfmt converts it to a PO file)")),
    (b"\x95\x04\x12\xde", FileKind("", "", "a gettext MO catalog (msgunfmt converts it to a PO file)")),
    (b"\xff\xfe", FileKind("", "utf-16", "UTF-16 text")),
    (b"\xfe\xff", FileKind("", "utf-16", "UTF-16 text")),
    (b"\x1f\x8b", FileKind("", "", "a file compressed with gzip")),
    (b"BZh", FileKind("", "", "a file compressed with bzip2")),
    (b"\xfd7zXZ\x00", FileKind("", "", "a file compressed with xz")),
    (b"\x28\xb5\x2f\xfd", FileKind("", "", "a file compressed with zstd")),
    (b"\x04\x22\x4d\x18", FileKind("", "", "a file compressed with lz4")),
    (b"LZIP\x01", FileKind("", "", "a file compressed with lzip")),
    (b"PK\x03\x04", FileKind("", "", "a zip archive")),
    (b"7z\xbc\xaf\x27\x1c", FileKind("", "", "a 7z archive")),
    (b"Rar!\x1a\x07", FileKind("", "", "a RAR archive")),
    (b"%PDF-", FileKind("", "", "a PDF document")),
)


def file_kind(path: Path) -> FileKind | None:
    """Guesses a file's format; returns None for plain text lines and for files that cannot be read."""
    try:
        with path.open("rb") as file:
            return kind_of(file.read(_HEAD_BYTES))
    except OSError:
        return None


def is_html(path: Path, text: str) -> bool:
    """Returns True for a file whose name or text shows that it is an HTML page."""
    return path.suffix.lower() in (".html", ".htm", ".xhtml") or _HTML.match(text[:_HEAD_BYTES]) is not None


def kind_of(head: bytes) -> FileKind | None:
    """Guesses a file's format from its first bytes; returns None for plain text lines."""
    head = head[:_HEAD_BYTES]
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    text = head.decode("utf-8", "ignore").removeprefix("\ufeff")
    if text.lstrip().startswith("<"):
        for pattern, name, words in _MARKUP:
            if pattern.search(text) if name else pattern.match(text):
                return FileKind(name, "", words)
    return _lines_kind(text)


def _lines_kind(text: str) -> FileKind | None:
    """Recognizes tables and JSON lines by the complete lines of the text."""
    lines = text.split("\n")[:-1][:10] or [text]
    if lines[0].startswith("{"):
        try:
            json.loads(lines[0])
        except (ValueError, RecursionError):
            return None
        return FileKind("jsonl", "", "JSON lines")
    tabs = {line.count("\t") for line in lines}
    if len(tabs) == 1 and tabs != {0}:
        return FileKind("tsv", "", "columns between tabs (TSV)")
    return None


def mismatch(path: Path, format: str, encoding: str, part: str = "both") -> str:  # noqa: A002 - named like the config key
    """Returns what a file looks like and what to change if that contradicts the config; else ""."""
    kind = file_kind(path)
    if kind is None or (kind.format == format and not kind.encoding):
        return ""
    if kind.encoding:
        if encoding.startswith(kind.encoding) or format == "parquet":
            return ""
        wanted = kind.encoding if part == "both" else f"{{{part}: {kind.encoding}, …}}"
        return f"it looks like {kind.words}: set encoding to {wanted}"
    if kind.format:
        return f"it looks like {kind.words}, not {format}: set format to {kind.format}"
    return f"it looks like {kind.words}, not {format}: check that url and the member name the right file"
