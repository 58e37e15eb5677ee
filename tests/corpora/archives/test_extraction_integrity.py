from __future__ import annotations

import gzip
import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from nmt_prep.config import ExtractSettings as Limits
from nmt_prep.corpora.archives.extraction import damage_of
from tests.corpora.archives.builders import PACKERS, tar_of, zip_of

NOISE = b"".join(hashlib.sha256(bytes([i % 256, i // 256])).digest() for i in range(3000))
TAR = tar_of(("a", NOISE), ("b", NOISE))
ZIP = zip_of(("a", NOISE), ("b", NOISE))


def damage(directory: Path, content: bytes, limits: Limits | None = None) -> str:
    path = directory / "file"
    path.write_bytes(content)
    return damage_of(path, lambda _: None, limits or Limits())


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("content", [TAR, NOISE, b"one\ttwo\n" * 9000, b"x"])
def test_whole_files(tmp_path: Path, packer: Callable[[bytes], bytes], content: bytes) -> None:
    packed = packer(content)
    assert damage(tmp_path, packed) == damage(tmp_path, packed + packed) == ""


@pytest.mark.parametrize("packer", PACKERS[1:])
@pytest.mark.parametrize("content", [TAR, b"".join(b"%d\tzwei\n" % n for n in range(20_000))])
def test_cut_compression(tmp_path: Path, packer: Callable[[bytes], bytes], content: bytes) -> None:
    packed = packer(content)
    for missing in (1, 2, 7, 100, 5000):
        assert damage(tmp_path, packed[:-missing]), missing


@pytest.mark.parametrize("size", [600, 10_000, len(NOISE) + 511, len(NOISE) + 1500])
def test_truncated_tar(tmp_path: Path, size: int) -> None:
    assert damage(tmp_path, TAR[:size])


@pytest.mark.parametrize("packer", PACKERS[1:4])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_flipped_bit(tmp_path: Path, packer: Callable[[bytes], bytes], share: float) -> None:
    content = bytearray(packer(NOISE))
    content[int(len(content) * share)] ^= 4
    assert damage(tmp_path, bytes(content))


def test_a_zip(tmp_path: Path) -> None:
    assert damage(tmp_path, ZIP) == ""
    for size in (30, 1000, len(ZIP) // 2, len(ZIP) - 1):
        assert damage(tmp_path, ZIP[:size])
    flipped = bytearray(ZIP)
    flipped[len(ZIP) * 3 // 4] ^= 4
    assert "Bad CRC-32 for file 'b'" in damage(tmp_path, bytes(flipped))


def test_errors_that_are_not_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.corpora.archives.entry.ALWAYS_ALLOWED", 1 << 20)
    with monkeypatch.context() as patch:
        patch.setattr(Limits, "max_ratio", 1)
        patch.setattr(Limits, "max_members", 1)
        assert damage(tmp_path, gzip.compress(bytes(2 << 20))) == ""
        assert damage(tmp_path, TAR) == ""
    locked = zipfile.ZipInfo("secret")
    content = bytearray(zip_of((locked, NOISE), ("a", NOISE)))
    directory = content.index(b"PK\x01\x02")
    content[6] |= 1
    content[directory + 8] |= 1
    assert damage(tmp_path, bytes(content)) == ""


def test_every_decompressed_byte_is_reported(tmp_path: Path) -> None:
    told: list[int] = []
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(TAR))
    assert damage_of(path, told.append, Limits()) == ""
    assert sum(told) == 2 * len(NOISE)
