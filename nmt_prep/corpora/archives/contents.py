"""Lists archive members and reads the beginnings of some members, without extracting them.

The file may be only the beginning of a remote archive. Members beyond the end are then no error.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from nmt_prep.base.artefacts import writing
from nmt_prep.base.errors import ArchiveError
from nmt_prep.base.file_kinds import FileKind, kind_of
from nmt_prep.config import ExtractSettings as Limits
from nmt_prep.corpora.archives.entry import (
    Budget,
    Entry,
    Peekable,
    Readable,
    decompressed,
    is_pattern,
    matcher,
    member_name,
)
from nmt_prep.corpora.archives.extraction import damage_errors, entries_of, matching, missing_member, reading_error
from nmt_prep.corpora.archives.zip import STARTS

_CHUNK = 1 << 16
_NAMES_KEPT = 10_000
_MOST_UNPACKED = 1 << 30  # bytes of a tar to decompress in search of its members

Kind: TypeAlias = Literal["tar", "zip", "file"]


@dataclass(frozen=True)
class Beginning:
    """The decompressed beginning of a member, or the whole member."""

    member: str  # empty for a file that is not an archive
    path: Path
    size: int | None  # bytes of the member in the archive, before decompression; None if the file is not an archive
    whole: bool  # true if `path` has all bytes of the member


@dataclass
class Contents:
    """A file's members."""

    kind: Kind  # kind of archive, or `file` for a single file
    names: list[str] = field(default_factory=list)  # names of the members that were seen
    complete: bool = True  # true if the file has no other members
    # the beginnings of the matching members, sorted by name, for each requested name or pattern
    beginnings: dict[str, list[Beginning]] = field(default_factory=dict)
    # errors, each with the requested name or pattern; with None for an error of the whole file
    faults: list[tuple[str | None, ArchiveError]] = field(default_factory=list)

    def unseen(self) -> list[str]:
        """Returns the requested names and patterns that may match unseen members."""
        if self.complete:
            return []
        return [name for name, beginnings in self.beginnings.items() if not beginnings or is_pattern(name)]


@dataclass(frozen=True)
class Opened:
    """A file that may be an archive."""

    shown: object  # path or address of the file, for messages
    name: str  # original file name
    size: int | None  # bytes of the file; None if unknown
    file: io.BufferedReader[Any]  # the file, or its beginning
    whole: bool  # true if `file` is the whole file
    path: Path | None = None  # path of a local file; None for a remote file


def contents_of(
    opened: Opened, wanted: Sequence[str], place: Callable[[str], Path], limits: Limits, most: int
) -> Contents:
    """Lists a file's members, and writes the beginnings of the requested members to files.

    In a large tar, members after the last requested one are not listed.

    Args:
        most: maximum number of decompressed bytes to write per member.
    """
    contents = Contents("file", beginnings={name: [] for name in wanted})
    stream = _Beginning(whole=opened.whole)
    budget = Budget(opened.shown, opened.size or 0, limits)
    kind: FileKind | None = None
    try:
        contents.kind = "zip" if opened.file.peek(4)[:4] in STARTS else "tar"
        with closing(entries_of(opened.name, opened.file, budget, wanted, stream.within)) as entries:
            for entry in entries:
                if entry.single:
                    contents.kind = "file"
                    kind = kind_of(opened.file.peek(4096))
                _look_at(entry, contents, opened, budget, place, most)
                if stream.taken > most and all(contents.beginnings.values()) and not any(map(is_pattern, wanted)):
                    contents.complete = contents.kind != "tar"
                    break
    except ArchiveError as error:
        contents.faults.append((None, error))
        contents.complete = False
    except _EnoughError:
        contents.complete = False
    except damage_errors() as error:
        contents.complete = False
        if opened.whole:
            contents.faults.append((None, reading_error(opened.shown, error)))
    for name, beginnings in contents.beginnings.items():
        beginnings.sort(key=lambda beginning: beginning.member)
        if not beginnings and contents.complete:
            single = contents.kind == "file"
            fault = missing_member(name, contents.names, opened.shown, kind, single=single)
            contents.faults.append((name, fault))
    return contents


def _look_at(
    entry: Entry, contents: Contents, opened: Opened, budget: Budget, place: Callable[[str], Path], most: int
) -> None:
    name = member_name(entry.name)
    if len(contents.names) < _NAMES_KEPT and entry.refused != "a directory" and not entry.single:
        contents.names.append(name)
    kept = {beginning.member for beginnings in contents.beginnings.values() for beginning in beginnings}
    matched = matching(entry, {wanted: matcher(wanted) for wanted in contents.beginnings}, kept, opened.shown)
    if matched:
        budget.check_member(name, entry.size or 0)
        beginning = _beginning_of(entry, name, opened, place, most)
        for wanted in matched:
            contents.beginnings[wanted].append(beginning)


def _beginning_of(entry: Entry, name: str, opened: Opened, place: Callable[[str], Path], most: int) -> Beginning:
    content = entry.open()
    stream = decompressed(content)
    if entry.single and stream is content and opened.path is not None:
        return Beginning("", opened.path, opened.size, whole=True)
    data, ended = bytearray(), False
    try:
        for chunk in _chunks(stream):
            data += chunk[: most - len(data)]
            if len(data) == most:
                break
        else:
            ended = opened.whole or not entry.single
    except damage_errors():
        if opened.whole:
            raise
    path = place(name)
    with writing(path):
        path.write_bytes(data)
    return Beginning("" if entry.single else name, path, entry.size, whole=ended)


def _chunks(stream: Readable) -> Iterator[bytes]:
    """Yields a stream's content in chunks as small as possible, so that little is lost if it is cut short."""
    read = getattr(stream, "read1", stream.read)
    while chunk := read(_CHUNK):
        yield chunk


class _Beginning:
    """The decompressed stream of a whole tar, or of its beginning."""

    def __init__(self, *, whole: bool) -> None:
        self.taken = 0  # number of bytes read
        self._whole = whole
        self._ahead = b""

    def within(self, file: Peekable) -> Readable:
        """Returns this stream, set to the decompressed content of a file."""
        self._chunks = _chunks(decompressed(file))
        return self

    def read(self, size: int, /) -> bytes:
        if self.taken > _MOST_UNPACKED:
            raise _EnoughError
        data = bytearray(self._ahead)
        try:
            while len(data) < size and (chunk := next(self._chunks, b"")):
                data += chunk
        except damage_errors():
            if self._whole:
                raise
        self._ahead = bytes(data[size:])
        self.taken += min(len(data), size)
        return bytes(data[:size])


class _EnoughError(Exception):
    """Enough of a tar was read."""
