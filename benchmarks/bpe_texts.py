"""Texts for the benchmarks of the BPE dialects: distinct real lines, so that caches give no unfair advantage."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

REPOSITORY = Path(__file__).resolve().parents[1]
_SHARED = REPOSITORY.parent / "shared" / "corpora"
_TOY = REPOSITORY / "data" / "toy" / "training-parallel-toy.tgz"


def texts(paths: list[Path]) -> dict[str, list[str]]:
    """Returns distinct lines by name: of the given files, else of real corpora beside the checkout, else toy ones."""
    if paths:
        return {path.name: _distinct([_unpacked(path.name, path.read_bytes())]) for path in paths}
    if not _SHARED.exists():
        return {f"toy {side}": _distinct(_members([_TOY], side)) for side in ("en", "zh")}
    archives = sorted((_SHARED / "wmt22-enzh").glob("training-*.tgz"))
    multi30k = {side: _SHARED / "multi30k-ende" / f"train.{side}.gz" for side in ("en", "de")}
    return {
        "English (WMT22, Multi30k)": _distinct(
            [*_members(archives, "en"), gzip.decompress(multi30k["en"].read_bytes())]
        ),
        "Chinese (WMT22)": _distinct(_members(archives, "zh")),
        "German (Multi30k)": _distinct([gzip.decompress(multi30k["de"].read_bytes())]),
    }


def column(lines: list[str]) -> pa.Array:
    """Returns lines as an Arrow array."""
    return pa.array(lines, pa.large_string())


def megabytes(lines: list[str]) -> float:
    """Returns the size of the text in UTF-8, in units of 10^6 bytes."""
    return sum(len(line.encode()) for line in lines) / 1e6


def _members(archives: list[Path], side: str) -> Iterator[bytes]:
    for path in archives:
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member)
                if file is not None and member.name.removesuffix(".gz").endswith(f".{side}"):
                    yield _unpacked(member.name, file.read())


def _unpacked(name: str, data: bytes) -> bytes:
    return gzip.decompress(data) if name.endswith(".gz") else data


def _distinct(parts: list[bytes] | Iterator[bytes]) -> list[str]:
    lines = (line for part in parts for line in part.decode().removesuffix("\n").split("\n"))
    return [line for line in dict.fromkeys(lines) if line]
