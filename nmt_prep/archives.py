"""Reading named members out of archives, without trusting them: told by their first bytes, streamed, never unpacked.

Tar (plain, gzip, bzip2, xz), zip, and single files (plain or compressed). A member that is itself compressed is
decompressed too. A tar is read once, to its end, so that the checksum of its compression covers what is kept.
"""

from __future__ import annotations

import bz2
import difflib
import gzip
import hashlib
import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

from nmt_prep.artefacts import published
from nmt_prep.errors import ArchiveError

_CHUNK = 1 << 20
_SUFFIX = re.compile(r"\.(gz|bz2|xz)$", re.IGNORECASE)
_FAULTS = (
    *(OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile),
    *(NotImplementedError, RuntimeError),  # what zipfile raises at compression and encryption that it cannot read
)

WHOLE_FILE = ""
"""In place of a member's name: the file is no archive, and its whole content is wanted."""


@dataclass(frozen=True)
class Archive:
    """A file that may be an archive: where it is, the name that it was published under, and its SHA-256."""

    path: Path
    name: str
    sha256: str


@dataclass(frozen=True)
class Extracted:
    """What a member held, decompressed: SHA-256 and size in bytes."""

    sha256: str
    size: int


@dataclass(frozen=True)
class _Member:
    """An entry of an archive; ``open`` may be called until the next entry is asked for."""

    name: str
    regular: bool
    open: Callable[[], IO[bytes]]


def member_name(member: str) -> str:
    """A member's path in the form in which paths are compared: archives may begin them with ``./``."""
    while member.startswith("./"):
        member = member[2:].lstrip("/")
    return member


def without_suffix(name: str) -> str:
    """A file's name without the suffix of its compression."""
    return _SUFFIX.sub("", name)


def extract_members(
    archive: Archive, wanted: Mapping[str, Path], advance: Callable[[int], None]
) -> dict[str, Extracted]:
    """Writes the wanted members of an archive, all of them or none.

    Args:
        archive: the archive, or a single file, whose one member has the file's name without its compression's suffix.
        wanted: where to write each member, by its :func:`member_name` or :data:`WHOLE_FILE`.
        advance: told of bytes written.

    Raises:
        ArchiveError: the archive is damaged; a member is missing, given twice, or is no regular file; or a name is
            absolute or climbs out with ``..``.
        OutputError: a file cannot be written.
    """
    for name in wanted:
        if name.startswith("/") or ".." in name.split("/"):
            raise ArchiveError(f"{archive.path}: the member {name!r} is refused: it must lie inside the archive")
    found: dict[str, Extracted] = {}
    names: list[str] = []
    with ExitStack() as stack:
        beside = {name: stack.enter_context(published(path)) for name, path in wanted.items()}
        for member in stack.enter_context(closing(_members(archive, wanted))):
            name = member_name(member.name)
            names.append(name)
            if name not in beside:
                continue
            if name in found:
                raise ArchiveError(f"{archive.path}: {name!r} is in it twice, so which one is meant cannot be told")
            if not member.regular:
                raise ArchiveError(f"{archive.path}: {name!r} is refused: it is a link, a directory or a device")
            found[name] = _copy(_chunks(member, archive), beside[name], advance)
        for name in wanted:
            if name not in found:
                raise _missing(name, names, archive)
    return found


def _members(archive: Archive, wanted: Iterable[str]) -> Generator[_Member, None, None]:
    """The entries in the order of the archive; of a tar each is read past when the next is asked for."""
    with _reading(archive), archive.path.open("rb") as file:
        if file.peek(4)[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            with zipfile.ZipFile(file) as zipped:
                for entry in zipped.infolist():
                    kind = stat.S_IFMT(entry.external_attr >> 16)
                    regular = not entry.is_dir() and kind in (0, stat.S_IFREG)
                    yield _Member(entry.filename, regular, partial(zipped.open, entry))
        elif _is_tar(archive.path):
            with _decompressed(file) as stream, tarfile.open(fileobj=stream, mode="r|", bufsize=_CHUNK) as tar:
                for info in tar:
                    regular = info.isreg() and not info.issparse()
                    yield _Member(info.name, regular, partial(_file_of, tar, info))
                while stream.read(_CHUNK):  # to where the compression's checksum is
                    pass
        else:
            names = {WHOLE_FILE, archive.name, without_suffix(archive.name)}
            name = next((name for name in wanted if name in names), without_suffix(archive.name))
            yield _Member(name, True, lambda: file)


def _is_tar(path: Path) -> bool:
    with path.open("rb") as file, _decompressed(file) as stream:
        head = stream.read(tarfile.BLOCKSIZE)
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _file_of(tar: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    file = tar.extractfile(info)
    if file is None:
        raise tarfile.ReadError(f"{info.name!r} has no content")
    return file


def _decompressed(stream: IO[bytes]) -> IO[bytes]:
    """What a stream holds, where its first bytes are those of a compression; else the stream.

    No UTF-8 text begins with the marks of gzip and xz, and none in practice with the ten bytes of bzip2.
    """
    head: bytes = stream.peek(10)[:10]  # type: ignore[attr-defined]
    if head.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(stream, "rb"))
    if head.startswith(b"\xfd7zXZ\x00"):
        return lzma.open(stream, "rb")
    if re.match(rb"BZh[1-9]1AY&SY", head):
        return bz2.open(stream, "rb")
    return stream


def _chunks(member: _Member, archive: Archive) -> Iterator[bytes]:
    """The content of a member, decompressed."""
    with _reading(archive), member.open() as raw, _decompressed(raw) as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


def _copy(chunks: Iterable[bytes], path: Path, advance: Callable[[int], None]) -> Extracted:
    """Writes the content of a member: every byte that is extracted passes here."""
    digest, size = hashlib.sha256(), 0
    with path.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
            advance(len(chunk))
    return Extracted(digest.hexdigest(), size)


@contextmanager
def _reading(archive: Archive) -> Iterator[None]:
    """Turns what goes wrong in reading an archive into an error that says what to do."""
    try:
        yield
    except _FAULTS as error:
        raise ArchiveError(
            f"{archive.path} is damaged or cut short ({error or type(error).__name__}); its SHA-256 is "
            f"{archive.sha256}: compare that with the publisher's, delete the file, and run again to fetch it anew"
        ) from error


def _missing(name: str, names: list[str], archive: Archive) -> ArchiveError:
    if name == WHOLE_FILE:
        listed = ", ".join(map(repr, names[:5]))
        return ArchiveError(f"{archive.path} is an archive ({listed}, …); name the members to use in the config")
    base = name.rpartition("/")[2]
    near = [other for other in names if other.rpartition("/")[2] == base]
    near = near or difflib.get_close_matches(name, names, n=5) or names[:5]
    hint = f"it has {', '.join(map(repr, near[:5]))}" if near else "it is empty"
    more = f" and {len(names) - len(near[:5])} more" if len(names) > len(near[:5]) else ""
    return ArchiveError(f"{archive.path} has no member {name!r}; {hint}{more}: correct the member's name in the config")
