"""Builders of archives for tests, and helpers that extract them."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from nmt_prep.config import ExtractSettings as Limits
from nmt_prep.corpora.archives.entry import Archive
from nmt_prep.corpora.archives.extraction import Extracted, extract_members

LIMITS = Limits()
TEXT = b"one\ntwo\n" * 5000


def tar_of(*entries: tuple[tarfile.TarInfo | str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for entry, content in entries:
            info = tarfile.TarInfo(entry) if isinstance(entry, str) else entry
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zip_of(*entries: tuple[zipfile.ZipInfo | str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as zipped, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # one test writes duplicates on purpose
        for entry, content in entries:
            zipped.writestr(entry, content)
    return buffer.getvalue()


def extract(
    directory: Path, content: bytes, *members: str, name: str = "x.tgz", limits: Limits = LIMITS
) -> dict[str, bytes]:
    """Returns the contents of the wanted members of an archive with this content."""
    path = directory / name
    path.write_bytes(content)
    archive = Archive(path, name, hashlib.sha256(content).hexdigest())
    places: dict[str, Path] = {}

    def place(member: str) -> Path:
        return places.setdefault(member, directory / "out" / str(len(places)))

    contents: dict[str, bytes] = {}
    for found in extract_members(archive, members, place, limits, lambda _: None).values():
        for member, extracted in found.items():
            contents[member] = places[member].read_bytes()
            assert extracted == Extracted(hashlib.sha256(contents[member]).hexdigest(), len(contents[member]))
    return contents


def outputs(directory: Path) -> list[str]:
    out = directory / "out"
    return sorted(path.name for path in out.iterdir()) if out.exists() else []


def zstd(content: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(content, asbytes=True))


PACKERS: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, bz2.compress, lzma.compress, zstd]
