"""Archives, their entries and member names, and the extraction limits."""

from __future__ import annotations

import bz2
import difflib
import gzip
import io
import lzma
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, cast

import pyarrow as pa

from nmt_prep.base.errors import AlignmentError, ArchiveError
from nmt_prep.config import ExtractSettings as Limits

_LISTED = 10  # names in a message

_SUFFIX = re.compile(r"\.(gz|bz2|xz|zst)$", re.IGNORECASE)

ALWAYS_ALLOWED = 64 << 20  # Bytes that may be extracted from any archive, whatever the ratio to its size


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Returns ``size`` bytes; fewer only at the end."""


class Peekable(Readable, Protocol):
    """A stream of bytes whose next bytes can be seen without reading them."""

    def peek(self, size: int, /) -> bytes:
        """Returns some of the bytes that the next read will return."""


@dataclass(frozen=True)
class Archive:
    """A file that may be an archive: its path, its original name, and its SHA-256."""

    path: Path
    name: str
    sha256: str


@dataclass(frozen=True)
class Entry:
    """An entry of an archive."""

    name: str  # name of the entry, as in the archive
    refused: str  # why the entry may not be extracted; empty if it may
    # opens the content of the entry; call it at most once, before the next entry is requested
    open: Callable[[], Peekable]
    single: bool = False  # true if the file is not an archive, and the entry is its whole content
    size: int | None = None  # bytes of the content as the archive states them; None if the file is not an archive


class DamagedError(ArchiveError):
    """An archive is damaged. The message has no advice, because advice depends on the file's source."""


class Budget:
    """Counts an archive's output bytes, and raises an error once they exceed the limits."""

    def __init__(self, path: object, size: int, limits: Limits) -> None:
        """Sets the limits for an archive of ``size`` bytes."""
        self.path = path
        self.limits = limits
        self._most = max(ALWAYS_ALLOWED, limits.max_ratio * size)

    def check_members(self, count: int) -> None:
        """Raises if there are too many entries."""
        most = self.limits.max_members
        self._check(count, most, f"it has more than {most} members")

    def check_total(self, total: int) -> None:
        """Raises an error if the output is out of proportion to the archive's size."""
        what = f"it expands to more than {self.limits.max_ratio} times its size, like a decompression bomb"
        self._check(total, self._most, what)

    def check_member(self, name: str, size: int) -> None:
        """Raises if a member is too large."""
        most = self.limits.max_member_bytes
        self._check(
            size, most, f"{repr(name) if name else 'it'} holds more than {most} bytes", "extract.max_member_bytes"
        )

    def _check(self, number: float, most: float, what: str, key: str = "") -> None:
        if number > most:
            remedy = f"raise {key} in the config" if key else "unpack it yourself, and name the files in url"
            raise ArchiveError(f"{self.path} is rejected: {what}; if that is intended, {remedy}")


class Bounded:
    """A stream that raises once a budget is exceeded."""

    def __init__(self, stream: Readable, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget
        self._total = 0

    def read(self, size: int, /) -> bytes:
        data = self._stream.read(size)
        self._total += len(data)
        self._budget.check_total(self._total)
        return data


def member_name(member: str) -> str:
    """Normalizes a member's path for comparison, without a leading ``./``."""
    while member.startswith("./"):
        member = member[2:].lstrip("/")
    return member


def without_suffix(name: str) -> str:
    """Returns a file name without its compression suffix."""
    return _SUFFIX.sub("", name)


def climbs_out(name: str) -> bool:
    """Returns True if a name is absolute or has ``..`` as a component."""
    return name.startswith("/") or ".." in name.split("/")


def is_pattern(name: str) -> bool:
    """Returns True if a name is a pattern with ``*`` or ``?``."""
    return "*" in name or "?" in name


_SHOWN = r"(?!\.|__MACOSX/)"  # macOS adds folders and files with these names to archives
_NOT_LONG = r"(?=.{0,4096}\Z)"  # longer names, which no file system has, would take too long
_WILD = {"**": f"([^/]*(?:/{_SHOWN}[^/]*)*)", "*": "([^/]*)", "?": "([^/])"}


def matcher(wanted: str) -> re.Pattern[str]:
    """Compiles a requested name; a group contains what a wildcard matches.

    ``*`` and ``?`` match within a level, ``**`` across levels, and ``**/`` also nothing. As in a shell, wildcards do
    not match a dot at the beginning of a name.
    """
    wanted = re.sub(r"(?<![^/])(\*\*/)+", "**/", wanted)  # repeated, they would take exponential time
    expression, at = _NOT_LONG if is_pattern(wanted) else "", 0
    for wildcard in re.finditer(r"\*\*|\*|\?", wanted):
        expression += re.escape(wanted[at : wildcard.start()])
        begins, at = wildcard.start() == 0 or wanted[wildcard.start() - 1] == "/", wildcard.end()
        if begins and wildcard[0] == "**" and wanted[at : at + 1] == "/":
            expression, at = f"{expression}((?:{_SHOWN}[^/]+/)*)", at + 1
        else:
            expression += _SHOWN * begins + _WILD[wildcard[0]]
    return re.compile(expression + re.escape(wanted[at:]), re.DOTALL)


def paired(patterns: Mapping[str, str], names: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Returns the names of both sides in an order that pairs names whose wildcards match the same text.

    Numbers are compared by value and letters in any case, unless some names then are equal. A single name of each side
    only needs equal numbers.
    """
    groups = {
        part: {name: found.groups() if (found := matcher(patterns[part]).fullmatch(name)) else () for name in listed}
        for part, listed in names.items()
    }
    values = {part: {name: _value(texts) for name, texts in found.items()} for part, found in groups.items()}
    first, *others = values
    order = sorted(values[first], key=lambda name: (values[first][name], name))
    for keys in (groups, values):
        by_key = {part: {key: name for name, key in found.items()} for part, found in keys.items()}
        unique = all(len(by_key[part]) == len(names[part]) for part in names)
        if unique and all(by_key[part].keys() == by_key[first].keys() for part in others):
            return {part: [by_key[part][keys[first][name]] for name in order] for part in names}
    numbers = {value[1::2] for found in values.values() for value in found.values()} - {()}
    if all(len(listed) == 1 for listed in names.values()) and len(numbers) < 2:
        return {part: list(listed) for part, listed in names.items()}
    counts = {part: Counter(found.values()) for part, found in values.items()}
    alone = [
        name
        for part, found in values.items()
        for name, value in found.items()
        if name and any(count[value] != 1 for count in counts.values())
    ]
    shown = " and ".join(f"{patterns[part] or 'the file'!r} matches {len(listed)}" for part, listed in names.items())
    raise AlignmentError(
        f"{shown} members, which are paired by the text or number that the wildcards match; these do not have exactly "
        f"one counterpart: {listed_names(alone)}; correct the patterns"
    )


def _value(texts: Sequence[str | None]) -> tuple[tuple[int, str], ...]:
    """Returns what wildcards match in comparable form: text in small letters, between numbers without leading zeros."""
    pieces = re.split("([0-9]+)", "/".join(filter(None, (text.strip("/") for text in texts if text))).casefold())
    bare = (piece.lstrip("0") if at % 2 else piece for at, piece in enumerate(pieces))
    return tuple((len(piece) if at % 2 else 0, piece) for at, piece in enumerate(bare))


def nearest(name: str, names: Sequence[str]) -> str:
    """Suggests the name nearest to a missing one, and lists up to ten existing names."""
    if not names:
        return "it is empty"
    base = name.rpartition("/")[2]
    same = [other for other in names if other.rpartition("/")[2] == base]
    near = (same or difflib.get_close_matches(name, names[:10_000], n=1))[:1]
    hint = f"the nearest is {near[0]!r}; " if near and len(names) > 1 else ""
    return f"{hint}it has {listed_names(names)}"


def listed_names(names: Sequence[str]) -> str:
    """Returns up to ten names for a message, and the number of the others."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{', '.join(map(repr, names[:_LISTED]))}{more}"


_CHUNK = 1 << 18
_XZ_MEMORY = 256 << 20  # four times what files of xz -9 need

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
_ZSTD = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")  # or a frame to skip, with which pzstd begins files
_BZIP2 = re.compile(rb"BZh[1-9](1AY&SY|\x17\x72\x45\x38\x50\x90)")  # a first block, or the end of an empty stream


# Decompression of gzip, bzip2, xz and zstd, recognized by their first bytes; concatenated streams are supported.


def decompressed(stream: Peekable) -> Readable:
    """Returns the decompressed stream; the stream itself if it does not begin with the magic bytes of a compression.

    No UTF-8 text begins with the magic bytes of gzip, xz or zstd. A text can begin with bzip2's ten bytes, or with the
    four bytes of a skippable zstd frame, but this is not to be expected.
    """
    head = stream.peek(10)[:10]
    if head.startswith(_GZIP):
        return gzip.open(cast("IO[bytes]", stream), "rb")
    if head.startswith(_XZ):
        return io.BufferedReader(_Streams(stream, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY)), _CHUNK)
    if _BZIP2.match(head):
        return io.BufferedReader(_Streams(stream, bz2.BZ2Decompressor), _CHUNK)
    if _ZSTD.match(head):
        return cast("Readable", pa.CompressedInputStream(pa.PythonFile(_Unclosed(stream), mode="r"), "zstd"))
    return stream


class _Streams(io.RawIOBase):
    """Concatenated compressed streams. Zero bytes may follow each stream; other bytes are damage."""

    def __init__(self, stream: Readable, make: Callable[[], lzma.LZMADecompressor | bz2.BZ2Decompressor]) -> None:
        self._stream = stream
        self._make = make
        self._decompressor = make()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            if self._decompressor.eof:
                rest = self._decompressor.unused_data
                while not rest.strip(b"\0"):
                    rest = self._stream.read(_CHUNK)
                    if not rest:
                        return 0
                self._decompressor = self._make()
                data = self._decompressor.decompress(rest.lstrip(b"\0"), len(buffer))
            else:
                fresh = self._stream.read(_CHUNK) if self._decompressor.needs_input else b""
                if self._decompressor.needs_input and not fresh:
                    raise EOFError("the compressed stream is cut short")
                data = self._decompressor.decompress(fresh, len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)


class _Unclosed:
    """A stream that Arrow may read, but not close."""

    closed = False

    def __init__(self, stream: Readable) -> None:
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        return self._stream.read(size)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        pass
