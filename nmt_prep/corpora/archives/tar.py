"""Reads a tar's entries in one pass over a stream.

``tarfile`` parses the headers. Unlike in ``tarfile``, a missing end marker and a damaged header anywhere are errors,
the memory for a header is bounded, and no list of entries is kept.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from typing import cast

from nmt_prep.corpora.archives.entry import Budget, Entry, Peekable, Readable

_BLOCK = tarfile.BLOCKSIZE
_CHUNK = 1 << 20
_LONGEST_EXTENDED_HEADER = 1 << 20
_ZEROS = bytes(_BLOCK)

_GNU = b"ustar  \0"
_DIRECTORY_LIST, _VOLUME, _CONTINUED = b"D", b"V", b"M"  # types of GNU tar, which tarfile does not know

_KINDS = {
    _DIRECTORY_LIST: "a directory",
    _VOLUME: "a volume label",
    _CONTINUED: "continued from another volume",
    tarfile.LNKTYPE: "a hard link",
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.DIRTYPE: "a directory",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a named pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}


def is_tar(head: bytes) -> bool:
    """Returns True if the first block of a stream is a tar header."""
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def tar_entries(stream: Readable, budget: Budget) -> Iterator[Entry]:
    """Yields the entries, and reads the stream to its end. The next entry skips the rest of the current one."""
    tar = _Tar(stream)
    count = 0
    while (info := tar.next_header()) is not None:
        count += 1
        budget.check_members(count)
        has_data = info.isreg() or info.type not in tarfile.SUPPORTED_TYPES  # unlike links and similar entries
        section = _Section(tar, info.size if has_data else 0, info.name)
        sparse = any(name.startswith("GNU.sparse.") for name in info.pax_headers)
        kind = _KINDS.get(info.type, "" if info.isreg() else f"of the unknown type {info.type!r}")
        yield Entry(
            info.name,
            kind or ("a sparse file" if sparse else ""),
            lambda section=section: cast(Peekable, io.BufferedReader(section, _CHUNK)),  # type: ignore[misc]
            size=section.size,
        )
        section.skip()
        tar.skip(-section.size % _BLOCK)
    while stream.read(_CHUNK):  # verifies the checksum of the compression
        pass


class _Tar:
    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._position = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._position += len(data)
        return data

    def skip(self, size: int, what: str = "an entry") -> None:
        while size:
            skipped = len(self.read(min(size, _CHUNK)))
            if not skipped:
                raise tarfile.ReadError(f"it ends within {what}")
            size -= skipped

    def next_header(self) -> tarfile.TarInfo | None:
        """Returns the next entry's header, updated from its extended headers; None at the end of the archive."""
        # Extended headers are entries of their own before the entry that they describe: GNU's long names, and the
        # records of pax (POSIX.1-2001), which override the 100 bytes for a name and the octal size of the header.
        # Global pax headers have defaults such as comments, and are skipped, as are the targets of links.
        name, fields = "", dict[str, str]()
        while (info := self._header()) is not None:
            if info.type == tarfile.GNUTYPE_LONGNAME:
                name = self._extended(info).partition(b"\0")[0].decode("utf-8", "surrogateescape")
            elif info.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
                fields |= _pax_fields(self._extended(info))
            elif info.type in (tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK):
                self._extended(info)
            else:
                info.name = fields.get("GNU.sparse.name") or fields.get("path") or name or info.name
                info.pax_headers = fields
                if "size" in fields:
                    info.size = _size(fields["size"])
                return info
        if name or fields:
            raise tarfile.ReadError("it ends after an extended header")
        return None

    def _header(self) -> tarfile.TarInfo | None:
        place = self._position
        block = self.read(_BLOCK)
        if not block:
            raise tarfile.ReadError("the end marker of the tar is missing, so entries may be missing")
        if len(block) < _BLOCK:
            raise tarfile.ReadError("it ends within a header")
        if block == _ZEROS:
            return None
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"bad header at byte {place}: {error}") from error
        if block[257:265] == _GNU:  # has times where POSIX has a prefix of the name
            info.name = block[:100].partition(b"\0")[0].decode("utf-8", "surrogateescape")
        info.name = info.name.rstrip("/")
        if info.size < 0:
            raise tarfile.ReadError(f"bad header at byte {place}: negative size")
        # A sparse file of GNU tar may have more blocks of header; a byte in each says whether another one follows.
        more = info.type == tarfile.GNUTYPE_SPARSE and block[482]
        while more:
            block = self.read(_BLOCK)
            if len(block) < _BLOCK:
                raise tarfile.ReadError("it ends within a header")
            more = block[504]
        return info

    def _extended(self, info: tarfile.TarInfo) -> bytes:
        if info.size > _LONGEST_EXTENDED_HEADER:
            raise tarfile.ReadError(f"an extended header of {info.size} bytes")
        data = self.read(info.size)
        self.skip(-info.size % _BLOCK)
        return data


class _Section(io.RawIOBase):
    def __init__(self, tar: _Tar, size: int, name: str) -> None:
        self._tar = tar
        self.size = size
        self._left = size
        self._name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._tar.read(min(len(buffer), self._left, _CHUNK))
        if not data and self._left:
            raise tarfile.ReadError(f"it ends within {self._name!r}")
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)

    def skip(self) -> None:
        self._tar.skip(self._left, repr(self._name))
        self._left = 0


def _pax_fields(data: bytes) -> dict[str, str]:
    """Parses the ``length key=value`` records of a pax header."""
    fields: dict[str, str] = {}
    position = 0
    while position < len(data) and data[position]:
        length, space, _ = data[position : position + 20].partition(b" ")
        if not space or not length.isdigit() or int(length) < len(length) + 3:
            raise tarfile.ReadError("a malformed pax header")
        key, equals, value = data[position + len(length) + 1 : position + int(length) - 1].partition(b"=")
        if not equals or position + int(length) > len(data):
            raise tarfile.ReadError("a malformed pax header")
        fields[key.decode("utf-8", "surrogateescape")] = value.decode("utf-8", "surrogateescape")
        position += int(length)
    return fields


def _size(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 20:
        raise tarfile.ReadError("a malformed size in a pax header")
    return int(text)
