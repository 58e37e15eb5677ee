"""Extraction of named members to files, all or none, and a test of whole archives."""

from __future__ import annotations

import hashlib
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pyarrow as pa

from nmt_prep.base.artefacts import atomic_write, writing
from nmt_prep.base.digests import sha256_of
from nmt_prep.base.errors import ArchiveError
from nmt_prep.base.file_kinds import FileKind, file_kind
from nmt_prep.config import ExtractSettings as Limits
from nmt_prep.corpora.archives.entry import (
    Archive,
    Bounded,
    Budget,
    DamagedError,
    Entry,
    Peekable,
    Readable,
    climbs_out,
    decompressed,
    is_pattern,
    matcher,
    member_name,
    nearest,
    without_suffix,
)
from nmt_prep.corpora.archives.tar import is_tar, tar_entries
from nmt_prep.corpora.archives.zip import PACKED, STARTS, zip_entries

_CHUNK = 1 << 20
_NAMES_KEPT = 100_000  # of members, for messages


def damage_errors() -> tuple[type[Exception], ...]:
    """Returns the exceptions that the readers of archives and compressed streams raise for damaged input."""
    return (
        *(OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile),
        *(RuntimeError, pa.ArrowException, MemoryError, OverflowError),
    )


_UNSUPPORTED = re.compile("requires too much memory|Memory usage limit exceeded|unsupported options|integrity check")


def reading_error(path: object, error: Exception) -> ArchiveError:
    """Returns the error for a file that cannot be read: it is damaged, or intact and packed in an unsupported way."""
    if isinstance(error, NotImplementedError) or _UNSUPPORTED.search(str(error)):
        return ArchiveError(
            f"{path} is packed in a way that is not supported ({error}): unpack it with the program that made it, and "
            "pack it again with usual options, such as zstd without --long, or xz -9"
        )
    return DamagedError(f"{path} is damaged or cut short ({error or type(error).__name__})")


class MissingMemberError(ArchiveError):
    """An archive lacks a member."""

    def __init__(self, member: str, message: str) -> None:
        super().__init__(message)
        self.member = member  # the requested name or pattern


WHOLE_FILE = ""  # Used as a member's name to request the whole content of a file that is not an archive


@dataclass(frozen=True)
class Extracted:
    """SHA-256 and size in bytes of a member's decompressed content."""

    sha256: str
    size: int


def extract_members(
    archive: Archive,
    wanted: Iterable[str],
    place: Callable[[str], Path],
    limits: Limits,
    advance: Callable[[int], None],
) -> dict[str, dict[str, Extracted]]:
    """Writes the requested members of an archive: either all or none.

    Args:
        advance: called with the number of bytes written.

    Returns:
        For each requested name or pattern, the matching members, sorted by name.
    """
    with ExitStack() as stack:

        def write(name: str, chunks: Iterable[bytes]) -> Extracted:
            beside = stack.enter_context(atomic_write(place(name)))
            with writing(place(name)), beside.open("wb") as file:
                return _copy(chunks, file.write, advance)

        return _read_members(archive, wanted, limits, write)


def digest_members(archive: Archive, wanted: Iterable[str], limits: Limits) -> dict[str, dict[str, Extracted]]:
    """Returns the digests of the requested members without writing files; errors as :func:`extract_members`."""
    return _read_members(
        archive, wanted, limits, lambda _, chunks: _copy(chunks, lambda chunk: None, lambda size: None)
    )


def _read_members(
    archive: Archive, wanted: Iterable[str], limits: Limits, keep: Callable[[str, Iterable[bytes]], Extracted]
) -> dict[str, dict[str, Extracted]]:
    """Gives the requested members' content to ``keep``, then verifies the archive's digest."""
    patterns = {name: matcher(name) for name in wanted}
    for name in patterns:
        if climbs_out(name):
            raise refused_member(archive.path, name, "not inside the archive")
    kept: dict[str, Extracted] = {}
    names: list[str] = []
    single = False
    total = 0
    with _reading(archive):
        budget = Budget(archive.path, archive.path.stat().st_size, limits)
        opened: io.BufferedReader = io.BufferedReader(io.FileIO(archive.path), _CHUNK)
    with opened as file, closing(_entries(archive, file, budget, patterns)) as entries:
        for entry in entries:
            name = member_name(entry.name)
            single = single or entry.single
            if len(names) < _NAMES_KEPT:
                names.append(name)
            if not matching(entry, patterns, kept, archive.path):
                continue
            kept[name] = keep(name, _chunks(entry, archive, budget))
            total += kept[name].size
            budget.check_total(total)
        result = {
            wanted_name: {name: kept[name] for name in sorted(kept) if pattern.fullmatch(name)}
            for wanted_name, pattern in patterns.items()
        }
        for name, matched in result.items():
            if not matched:
                raise missing_member(
                    name, names, archive.path, file_kind(archive.path) if single else None, single=single
                )
    # The archive had this digest before it was opened, but another process may write to it while it is read. Only the
    # digest after the last read shows that every member came from the bytes that were checked; until then all members
    # are unfinished files beside their places.
    with _reading(archive):
        digest = sha256_of(archive.path)
    if digest != archive.sha256:
        raise ArchiveError(
            f"{archive.path} was changed after it was checked: expected SHA-256 {archive.sha256}, found {digest}; run "
            "again to check it again"
        )
    return result


_NOT_MATCHED = {"a directory", "a volume label", "without a name"}  # reasons for which patterns skip an entry


def matching(entry: Entry, patterns: Mapping[str, re.Pattern[str]], kept: Container[str], path: object) -> list[str]:
    """Returns the requested names and patterns that an entry matches."""
    name = member_name(entry.name)
    matched = [wanted for wanted, pattern in patterns.items() if pattern.fullmatch(name)]
    if not matched or (entry.refused in _NOT_MATCHED and name not in patterns):
        return []
    if name in kept:
        raise ArchiveError(f"{path}: {name!r} occurs twice, so the member is ambiguous")
    if climbs_out(name) or entry.refused:
        raise refused_member(path, name, entry.refused or "not inside the archive")
    return matched


def _entries(
    archive: Archive, file: io.BufferedReader, budget: Budget, wanted: Iterable[str]
) -> Generator[Entry, None, None]:
    with _reading(archive):
        yield from entries_of(archive.name, file, budget, wanted)


def entries_of(
    name: str,
    file: io.BufferedReader,
    budget: Budget,
    wanted: Iterable[str],
    within: Callable[[Peekable], Readable] = decompressed,
) -> Generator[Entry, None, None]:
    """Yields the entries in the archive's order. An entry of a tar can be read until the next one is requested."""
    if file.peek(4)[:4] in STARTS:
        yield from zip_entries(file, budget)
    elif _is_tar(file):
        yield from tar_entries(Bounded(within(file), budget), budget)
    else:  # a single file; its member may be named as the file, with or without the suffix of its compression
        names = {WHOLE_FILE, name, without_suffix(name)}
        requested = next((member for member in wanted if member in names), without_suffix(name))
        yield Entry(requested, "", lambda: cast(Peekable, file), single=True)


def _is_tar(file: io.BufferedReader) -> bool:
    """Returns True if a file is a tar, compressed or not; the file is rewound."""
    try:
        return is_tar(decompressed(file).read(tarfile.BLOCKSIZE))
    finally:
        file.seek(0)


def _chunks(entry: Entry, archive: Archive, budget: Budget) -> Iterator[bytes]:
    size = 0
    with _reading(archive):
        stream = decompressed(entry.open())
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            budget.check_member(entry.name, size)
            budget.check_total(size)
            yield chunk


def _copy(chunks: Iterable[bytes], write: Callable[[bytes], object], advance: Callable[[int], None]) -> Extracted:
    digest, size = hashlib.sha256(), 0
    for chunk in chunks:
        size += len(chunk)
        write(chunk)
        digest.update(chunk)
        advance(len(chunk))
    return Extracted(digest.hexdigest(), size)


@contextmanager
def _reading(archive: Archive) -> Iterator[None]:
    """Converts all errors in reading an archive to errors of :func:`reading_error`."""
    try:
        yield
    except damage_errors() as error:
        raise reading_error(archive.path, error) from error


def refused_member(path: object, name: str, why: str) -> ArchiveError:
    """Returns the error for a requested member that may not be extracted."""
    advice = "only regular files inside the archive are read"
    if why.startswith(PACKED):
        advice = "unpack the archive with another program, and pack it again with zip's usual method, Deflate"
    return ArchiveError(f"{path}: the member {name!r} is rejected: it is {why}; {advice}")


def missing_member(
    name: str, names: Sequence[str], path: object, kind: FileKind | None, *, single: bool
) -> ArchiveError:
    """Returns the error for a requested member that an archive lacks.

    Args:
        kind: apparent kind of a file that is not an archive; None for plain text.
        single: true for a file that is not an archive.
    """
    if name == WHOLE_FILE:
        listed = ", ".join(map(repr, names[:5]))
        return ArchiveError(f"{path} is an archive ({listed}, …); name the members to use in the config")
    if single:
        return MissingMemberError(
            name,
            f"{path} has no member {name!r}, since it is no tar or zip: it looks like "
            f"{kind.words if kind else 'plain text'}; check url, or where the file is the corpus itself, remove the "
            "member",
        )
    what = f"no member that matches {name!r}" if is_pattern(name) else f"no member {name!r}"
    return MissingMemberError(
        name, f"{path} has {what}; {nearest(name, names)}: correct the member's name in the config"
    )


def is_plain(path: Path) -> bool:
    """Returns True if a file is neither an archive nor compressed, so that its extraction would be a copy."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.peek(4)[:4] not in STARTS and not _is_tar(file) and decompressed(file) is file
    except damage_errors():
        return False


def damage_of(path: Path, advance: Callable[[int], None], limits: Limits) -> str:
    """Returns the damage of an archive or compressed file as text; "" for none.

    Reads the file to its end and tests a tar's headers, a zip's directory, and the checksums of gzip, bzip2,
    xz, a zip's members, and zstd if it has any. Other files are not read, since nothing in them shows damage.
    Undamaged content that extraction refuses, such as a decompression bomb or an encrypted member, is not reported.

    Args:
        advance: called with the number of bytes decompressed; an exception that it raises ends the test.
    """
    budget = Budget(path, path.stat().st_size, limits)
    total = 0
    try:
        with path.open("rb") as file, closing(entries_of(path.name, file, budget, ())) as entries:
            for entry in entries:
                if entry.refused:
                    continue
                content = entry.open()
                stream = decompressed(content) if entry.single else content
                if entry.single and stream is content:
                    return ""
                while chunk := stream.read(_CHUNK):
                    total += len(chunk)
                    budget.check_total(total)
                    advance(len(chunk))
    except ArchiveError:
        return ""
    except damage_errors() as error:
        return (str(error) or type(error).__name__) if isinstance(reading_error(path, error), DamagedError) else ""
    return ""
