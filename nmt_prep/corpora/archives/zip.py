"""Reads a zip's entries, after checking that they are not too many and do not overlap."""

from __future__ import annotations

import stat
import struct
import zipfile
from collections.abc import Iterator
from functools import partial
from io import BufferedReader
from typing import cast

from nmt_prep.base.errors import ArchiveError
from nmt_prep.corpora.archives.entry import Budget, Entry, Peekable

STARTS = (b"PK\x03\x04", b"PK\x05\x06")  # Magic bytes of a zip and an empty zip

_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64_BYTES = 20
_LONGEST_COMMENT = 0xFFFF
_ENTRY_BYTES = 46  # of an entry in the directory, without the name
_LOCAL_HEADER_BYTES = 30  # without the name
_ENCRYPTED = 0x1
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA}
_OTHER_METHODS = {9: "Deflate64", 20: "zstd", 93: "zstd", 95: "xz", 98: "PPMd"}

PACKED = "packed with "  # Beginning of the reason for which a member with an unsupported compression is refused


def zip_entries(file: BufferedReader, budget: Budget) -> Iterator[Entry]:
    """Yields the entries in the order of the zip's directory."""
    budget.check_members(_count_entries(file, budget.limits.max_members + 1))
    with zipfile.ZipFile(file) as zipped:
        infos = zipped.infolist()
        _refuse_overlaps(infos, zipped.start_dir, budget)
        for info in infos:
            yield Entry(info.filename, _refused(info), partial(_open, zipped, info), size=info.file_size)


def _open(zipped: zipfile.ZipFile, info: zipfile.ZipInfo) -> Peekable:
    return cast(Peekable, zipped.open(info))


def _refused(info: zipfile.ZipInfo) -> str:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if not info.filename:
        return "without a name"
    if info.is_dir():
        return "a directory"
    if kind not in (0, stat.S_IFREG):
        return "a symbolic link" if kind == stat.S_IFLNK else "a device"
    if info.flag_bits & _ENCRYPTED:
        return f"{PACKED}a password"
    if info.compress_type not in _METHODS:
        method = _OTHER_METHODS.get(info.compress_type, f"method {info.compress_type}")
        return f"{PACKED}{method}, which is not supported"
    return ""


def _count_entries(file: BufferedReader, most: int) -> int:
    """Returns the directory's entry count, at most ``most``, without an object for each entry."""
    length = file.seek(0, 2)
    tail_start = max(0, length - _END.size - _LONGEST_COMMENT)
    file.seek(tail_start)
    tail = file.read()
    at = tail.rfind(STARTS[1])
    if at < 0 or len(tail) - at < _END.size:
        raise zipfile.BadZipFile("the directory at the end of the zip is missing")
    size = _END.unpack_from(tail, at)[5]
    end = tail_start + at
    place = end - _LOCATOR_64_BYTES - _END_64.size
    file.seek(max(end - _LOCATOR_64_BYTES, 0))
    if place >= 0 and file.read(4) == b"PK\x06\x07":
        file.seek(place)
        marker, *_, size, _ = _END_64.unpack(file.read(_END_64.size))
        if marker != b"PK\x06\x06":
            raise zipfile.BadZipFile("the zip64 directory is damaged")
        end = place
    if size > end:
        raise zipfile.BadZipFile("the directory is larger than the file")
    file.seek(end - size)
    count = done = 0
    while done < size and count < most:
        head = file.read(_ENTRY_BYTES)
        if len(head) < _ENTRY_BYTES or head[:4] != b"PK\x01\x02":
            raise zipfile.BadZipFile("the directory is damaged")
        rest = sum(struct.unpack_from("<3H", head, 28))
        file.seek(rest, 1)
        done += _ENTRY_BYTES + rest
        count += 1
    file.seek(0)
    return count


def _refuse_overlaps(infos: list[zipfile.ZipInfo], directory: int, budget: Budget) -> None:
    """Checks that no entries share bytes, as in zip bombs."""
    ordered = sorted(infos, key=lambda info: info.header_offset)
    ends = [*(info.header_offset for info in ordered[1:]), directory]
    for info, end in zip(ordered, ends, strict=True):
        if info.header_offset + _LOCAL_HEADER_BYTES + info.compress_size > end:
            raise ArchiveError(
                f"{budget.path} is rejected: {info.filename!r} overlaps the next entry, as in a zip bomb"
            )
