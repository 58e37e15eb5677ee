"""Lists the members of archives and reads the beginnings of some, without extracting them.

Of a remote archive only the beginning may be at hand. What cannot be seen then is not an error.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from nmt_prep.archives.compression import decompressed
from nmt_prep.archives.entry import Budget, Entry, Peekable, Readable
from nmt_prep.archives.extraction import damage_errors, entries_of, missing_member, refused_member
from nmt_prep.archives.names import climbs_out, is_pattern, matcher, member_name
from nmt_prep.archives.zip import STARTS
from nmt_prep.artefacts import writing
from nmt_prep.config import ExtractSettings as Limits
from nmt_prep.errors import ArchiveError
from nmt_prep.file_kinds import FileKind, kind_of

_CHUNK = 1 << 16
_NAMES_KEPT = 10_000
_MOST_UNPACKED = 1 << 30
"""Bytes that are decompressed of a tar to find its members."""

Kind: TypeAlias = Literal["tar", "zip", "file"]


@dataclass(frozen=True)
class Beginning:
    """The decompressed beginning of a member, or all of it.

    Attributes:
        member: its name; empty for a file that is not an archive.
        path: file with the bytes.
        size: bytes of the member in the archive, which may be compressed there; None if the file is not an archive.
        whole: true if these are all bytes of the member.
    """

    member: str
    path: Path
    size: int | None
    whole: bool


@dataclass
class Contents:
    """The facts about a file.

    Attributes:
        kind: an archive, or a single file.
        names: names of the members of an archive, as far as they were seen.
        complete: true if there are no other members.
        found: the beginnings of the requested members, sorted by name, for each requested name or pattern.
        faults: what is wrong: with a requested member, by its name or pattern, or with the file, by None.
    """

    kind: Kind
    names: list[str] = field(default_factory=list)
    complete: bool = True
    found: dict[str, list[Beginning]] = field(default_factory=dict)
    faults: list[tuple[str | None, ArchiveError]] = field(default_factory=list)

    def unseen(self) -> list[str]:
        """Returns the requested names and patterns that may match members that were not seen."""
        if self.complete:
            return []
        return [name for name, beginnings in self.found.items() if not beginnings or is_pattern(name)]


@dataclass(frozen=True)
class Opened:
    """A file that may be an archive.

    Attributes:
        shown: its path or address, for messages.
        name: original file name.
        size: its bytes; None if they are not known.
        file: the file, or its beginning.
        whole: true if ``file`` is all of it.
        path: its path if it is a local file.
    """

    shown: object
    name: str
    size: int | None
    file: io.BufferedReader[Any]
    whole: bool
    path: Path | None = None


def contents_of(
    opened: Opened, wanted: Sequence[str], place: Callable[[str], Path], limits: Limits, most: int
) -> Contents:
    """Lists the members of a file, and writes the beginnings of the requested ones to files.

    The names after the last requested member of a large tar are not read.

    Args:
        opened: the file.
        wanted: requested members, as for :func:`~nmt_prep.archives.extract_members`.
        place: returns a new path for a member.
        limits: limits of the archive.
        most: number of bytes of a member to write, decompressed.

    Raises:
        OutputError: a beginning cannot be written.
    """
    contents = Contents("file", found={name: [] for name in wanted})
    stream = _Beginning(opened)
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
                if stream.taken > most and all(contents.found.values()) and not any(map(is_pattern, wanted)):
                    contents.complete = contents.kind != "tar"
                    break
    except ArchiveError as error:
        contents.faults.append((None, error))
        contents.complete = False
    except damage_errors() as error:
        contents.complete = False
        if opened.whole and not stream.ended:
            message = f"{opened.shown} is damaged or cut short ({error or type(error).__name__})"
            contents.faults.append((None, ArchiveError(message)))
    for name, beginnings in contents.found.items():
        beginnings.sort(key=lambda beginning: beginning.member)
        if not beginnings and contents.complete:
            single = contents.kind == "file"
            fault = missing_member(name, contents.names, opened.shown, kind, single=single)
            contents.faults.append((name, fault))
    return contents


def _look_at(
    entry: Entry, contents: Contents, opened: Opened, budget: Budget, place: Callable[[str], Path], most: int
) -> None:
    """Notes an entry, and reads its beginning if it is requested."""
    name = member_name(entry.name)
    if len(contents.names) < _NAMES_KEPT and entry.refused != "a directory" and not entry.single:
        contents.names.append(name)
    matching = [wanted for wanted in contents.found if matcher(wanted).fullmatch(name)]
    if entry.refused == "a directory" and name not in matching:
        return
    if matching and (climbs_out(name) or entry.refused):
        raise refused_member(opened.shown, name, entry.refused or "not inside the archive")
    if any(beginning.member == name for wanted in matching for beginning in contents.found[wanted]):
        raise ArchiveError(f"{opened.shown}: {name!r} occurs twice, so the member is ambiguous")
    if matching:
        budget.check_member(name, entry.size or 0)
        beginning = _beginning_of(entry, name, opened, place, most)
        for wanted in matching:
            contents.found[wanted].append(beginning)


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
    """Yields the content of a stream in pieces that are as small as it has them, so that none is lost at a cut."""
    read = getattr(stream, "read1", stream.read)
    while chunk := read(_CHUNK):
        yield chunk


class _Beginning:
    """The stream of a tar of which perhaps only the beginning is there.

    Attributes:
        taken: number of bytes read.
        ended: true if the beginning came to its end, or more than enough was read.
        skip: skips bytes without reading them; None if the tar is compressed.
    """

    def __init__(self, opened: Opened) -> None:
        self.taken = 0
        self.ended = False
        self.skip: Callable[[int], int] | None = None
        self._file = opened.file
        self._whole = opened.whole
        self._read: Callable[[int], bytes] = opened.file.read
        self._end = 0

    def within(self, file: Peekable) -> Readable:
        """Starts with the content of the file, decompressed."""
        stream = decompressed(file)
        self._read = getattr(stream, "read1", stream.read)
        if stream is file:
            self.skip = self._skip
            self._end = self._file.seek(0, io.SEEK_END)
            self._file.seek(0)
        return self

    def read(self, size: int, /) -> bytes:
        """Returns bytes; at the end of the beginning those that are left."""
        data = bytearray()
        while len(data) < size and not self.ended:
            if self.taken > _MOST_UNPACKED and self.skip is None:
                self.ended = True
                break
            try:
                chunk = self._read(min(size - len(data), _CHUNK))
            except damage_errors():
                if self._whole:
                    raise
                chunk = b""
            if not chunk:
                self.ended = not self._whole
                break
            data += chunk
            self.taken += len(chunk)
        return bytes(data)

    def _skip(self, size: int) -> int:
        skipped = max(0, min(size, self._end - self._file.tell()))
        self._file.seek(skipped, io.SEEK_CUR)
        self.ended = self.ended or (skipped < size and not self._whole)
        return skipped
