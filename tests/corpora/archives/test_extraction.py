from __future__ import annotations

import gzip
import hashlib
import os
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from nmt_prep.base.errors import ArchiveError
from nmt_prep.config import ExtractSettings as Limits
from nmt_prep.corpora.archives.entry import Archive, DamagedError, member_name
from nmt_prep.corpora.archives.extraction import WHOLE_FILE, Extracted, damage_of, digest_members, extract_members
from tests.corpora.archives.builders import LIMITS, PACKERS, TEXT, extract, outputs, tar_of, zip_of


@pytest.mark.parametrize("outer", PACKERS)
@pytest.mark.parametrize("inner", PACKERS)
def test_members_of_a_tar(tmp_path: Path, outer: Callable[[bytes], bytes], inner: Callable[[bytes], bytes]) -> None:
    content = outer(tar_of(("d/b", inner(TEXT)), ("d/other", b"no"), ("./d/a", b"")))
    assert extract(tmp_path, content, "d/a", "d/b", name="wrong.name") == {"d/a": b"", "d/b": TEXT}


@pytest.mark.parametrize("inner", PACKERS)
def test_members_of_a_zip(tmp_path: Path, inner: Callable[[bytes], bytes]) -> None:
    content = zip_of(("d/b", inner(TEXT)), ("d/other", b"no"), ("a", b""))
    assert extract(tmp_path, content, "a", "d/b") == {"a": b"", "d/b": TEXT}


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("member", [WHOLE_FILE, "x.en", "x.en.gz"])
def test_a_single_file(tmp_path: Path, packer: Callable[[bytes], bytes], member: str) -> None:
    assert extract(tmp_path, packer(TEXT), member, name="x.en.gz") == {member: TEXT}


@pytest.mark.parametrize("content", [b"", b"P", b"BZh9 is how this text begins\n", b"\0" * 1024])
def test_texts_that_resemble_archives_stay_single_files(tmp_path: Path, content: bytes) -> None:
    assert extract(tmp_path, content, WHOLE_FILE) == {WHOLE_FILE: content}


@pytest.mark.parametrize("build", [tar_of, zip_of])
def test_missing_member(tmp_path: Path, build: Callable[..., bytes]) -> None:
    content = build(("training/news-v13.zh-en.en", TEXT), ("training/news-v13.zh-en.zh", TEXT), ("README", b""))
    with pytest.raises(ArchiveError) as caught:
        extract(tmp_path, content, "README", "training/news-v12.zh-en.en")
    message = str(caught.value)
    assert message.startswith(
        f"{tmp_path / 'x.tgz'} has no member 'training/news-v12.zh-en.en'; the nearest is 'training/news-v13"
    )
    assert message.endswith("correct the member's name in the config")
    assert outputs(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "wanted", "message"),
    [
        (
            tar_of(("b.en", b""), ("d/a.en", b"")),
            "a.en",
            r"no member 'a\.en'; the nearest is 'd/a\.en'; it has 'b\.en', 'd/",
        ),
        (
            b"<html>not found</html>",
            "a.en",
            r"x\.tgz has no member 'a\.en', since it is no tar or zip: it looks like an HTML",
        ),
        (
            tar_of(("a", b""), ("b", b"")),
            WHOLE_FILE,
            r"x\.tgz is an archive \('a', 'b', …\); name the members to use",
        ),
    ],
)
def test_members_that_are_not_there(tmp_path: Path, content: bytes, wanted: str, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        extract(tmp_path, content, wanted)


@pytest.mark.parametrize("build", [tar_of, zip_of])
def test_duplicate_member(tmp_path: Path, build: Callable[..., bytes]) -> None:
    with pytest.raises(ArchiveError, match=r"'a' occurs twice"):
        extract(tmp_path, build(("a", b"1"), ("b", b""), ("./a", b"2")), "a")
    assert outputs(tmp_path) == []


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (tarfile.SYMTYPE, "a symbolic link"),
        (tarfile.LNKTYPE, "a hard link"),
        (tarfile.CHRTYPE, "a device"),
        (tarfile.BLKTYPE, "a device"),
        (tarfile.FIFOTYPE, "a named pipe"),
        (tarfile.DIRTYPE, "a directory"),
        (tarfile.GNUTYPE_SPARSE, "a sparse file"),
        (b"Y", "of the unknown type b'Y'"),
    ],
)
def test_only_regular_members_of_a_tar(tmp_path: Path, kind: bytes, words: str) -> None:
    info = tarfile.TarInfo("a")
    info.type, info.linkname = kind, "/etc/passwd"
    with pytest.raises(ArchiveError, match=rf"'a' is rejected: it is {words}; only regular"):
        extract(tmp_path, tar_of((info, b"")), "a")
    assert outputs(tmp_path) == []


def test_links_in_a_zip_are_not_extracted(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("a")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(ArchiveError, match=r"'a' is rejected: it is a symbolic link"):
        extract(tmp_path, zip_of((info, b"/etc/passwd")), "a")


@pytest.mark.parametrize("member", ["/etc/passwd", "../a", "d/../../a", ".."])
@pytest.mark.parametrize("build", [tar_of, zip_of])
def test_names_that_leave_the_directory(tmp_path: Path, member: str, build: Callable[..., bytes]) -> None:
    with pytest.raises(ArchiveError, match=rf"the member {re.escape(repr(member))} is rejected"):
        extract(tmp_path, build((member, b"")), member)


def test_unwanted_hostile_members_are_not_written(tmp_path: Path) -> None:
    link = tarfile.TarInfo("d")
    link.type, link.linkname = tarfile.SYMTYPE, "../../.."
    content = tar_of((link, b""), ("d/evil", b"x"), ("../evil", b"x"), ("/evil", b"x"), ("a", b"good"))
    assert extract(tmp_path, content, "a") == {"a": b"good"}
    assert outputs(tmp_path) == ["0"]


@pytest.mark.parametrize("packer", PACKERS[1:])
def test_cut_compression(tmp_path: Path, packer: Callable[[bytes], bytes]) -> None:
    noise = b"".join(hashlib.sha256(bytes([i % 256, i // 256])).digest() for i in range(2000))
    content = packer(tar_of(("a", noise), ("b", noise)))
    for share in (0.01, 0.3, 0.6, 0.99):
        with pytest.raises(ArchiveError) as caught:
            extract(tmp_path, content[: int(len(content) * share)], "a")
        assert re.fullmatch(rf"{tmp_path}/x\.tgz is damaged or cut short \(.+\)", str(caught.value)), share
        assert outputs(tmp_path) == [], share


def flipped(content: bytes, at: int, bits: int) -> bytes:
    changed = bytearray(content)
    changed[at] ^= bits
    return bytes(changed)


@pytest.mark.parametrize(
    ("content", "members", "reason"),
    [
        (gzip.compress(tar_of(("a", TEXT)))[:-4], "a", ""),
        (flipped(gzip.compress(tar_of(("a", TEXT))), -8, 1), "a", r" \(CRC check failed"),
        (tar_of(("a", TEXT))[:20_000], "a", ""),
        (tar_of(("a", b"x"), ("b", gzip.compress(TEXT)[:50])), "ab", ""),
        (zip_of(("a", TEXT))[:100], "a", ""),
        (zip_of(("a", TEXT))[:-30], "a", ""),
        (flipped(zip_of(("a", TEXT)), 60, 0xFF), "a", ""),
    ],
)
def test_damaged_archives(tmp_path: Path, content: bytes, members: str, reason: str) -> None:
    with pytest.raises(ArchiveError, match=f"damaged or cut short{reason}"):
        extract(tmp_path, content, *members)
    assert outputs(tmp_path) == []


def test_encrypted_zip(tmp_path: Path) -> None:
    content = bytearray(zip_of(("a", TEXT)))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(ArchiveError, match="'a' is rejected: it is packed with a password; unpack the archive"):
        extract(tmp_path, bytes(content), "a")
    assert damage(tmp_path, bytes(content)) == ""


@pytest.mark.parametrize(("method", "name"), [(9, "Deflate64"), (93, "zstd"), (77, "method 77")])
def test_a_zip_packed_in_a_way_that_is_not_supported(tmp_path: Path, method: int, name: str) -> None:
    content = bytearray(zip_of(("b", TEXT), ("a", TEXT)))
    for start, field in ((content.index(b"PK\x03\x04", 1), 8), (content.rindex(b"PK\x01\x02"), 10)):
        content[start + field] = method
    with pytest.raises(ArchiveError, match=f"'a' is rejected: it is packed with {name}, which is not sup") as caught:
        extract(tmp_path, bytes(content), "a")
    assert not isinstance(caught.value, DamagedError)
    assert extract(tmp_path, bytes(content), "b") == {"b": TEXT}
    assert damage_of(tmp_path / "x.tgz", lambda _: None, LIMITS) == ""


def test_missing_archive(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="No such file"):
        extract_members(Archive(tmp_path / "x", "x", "0" * 64), ["a"], tmp_path.joinpath, LIMITS, lambda _: None)


def test_progress(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"x" * (3 << 20)))
    archive = Archive(path, "x.gz", hashlib.sha256(path.read_bytes()).hexdigest())
    advances: list[int] = []
    extract_members(archive, [WHOLE_FILE], lambda _: tmp_path / "a", LIMITS, advances.append)
    assert advances == [1 << 20] * 3


@pytest.mark.parametrize(("given", "name"), [("a/b", "a/b"), ("./a", "a"), (".//././a", "a"), (".hidden", ".hidden")])
def test_member_name(given: str, name: str) -> None:
    assert member_name(given) == name


@pytest.mark.parametrize("pack", [tar_of, zip_of])
@pytest.mark.parametrize("size", [1, 3 << 20])
def test_file_that_does_not_match_its_digest(tmp_path: Path, pack: Callable[..., bytes], size: int) -> None:
    archive = Archive(tmp_path / "x.tgz", "x.tgz", hashlib.sha256(b"another").hexdigest())
    archive.path.write_bytes(pack(("a", os.urandom(size)), ("b", b"rest")))
    with pytest.raises(ArchiveError, match=rf"changed after it was checked: expected SHA-256 {archive.sha256}, found"):
        extract_members(archive, ["a"], lambda _: tmp_path / "out" / "a", LIMITS, lambda _: None)
    assert outputs(tmp_path) == []


def test_digest_members_writes_nothing(tmp_path: Path) -> None:
    content = tar_of(("a", b"one\n"), ("b", b"two\n"))
    archive = Archive(tmp_path / "x.tar", "x.tar", hashlib.sha256(content).hexdigest())
    archive.path.write_bytes(content)
    assert digest_members(archive, ["b"], LIMITS) == {
        "b": {"b": Extracted("27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a", 4)}
    }
    assert [path.name for path in tmp_path.iterdir()] == ["x.tar"]


NOISE = b"".join(hashlib.sha256(bytes([i % 256, i // 256])).digest() for i in range(3000))
TAR = tar_of(("a", NOISE), ("b", NOISE))
ZIP = zip_of(("a", NOISE), ("b", NOISE))


def damage(directory: Path, content: bytes, limits: Limits | None = None) -> str:
    path = directory / "file"
    path.write_bytes(content)
    return damage_of(path, lambda _: None, limits or Limits())


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("content", [TAR, NOISE, b"one\ttwo\n" * 9000, b"x"])
def test_the_damage_of_whole_files(tmp_path: Path, packer: Callable[[bytes], bytes], content: bytes) -> None:
    packed = packer(content)
    assert damage(tmp_path, packed) == damage(tmp_path, packed + packed) == ""


@pytest.mark.parametrize("packer", PACKERS[1:])
@pytest.mark.parametrize("content", [TAR, b"".join(b"%d\tzwei\n" % n for n in range(20_000))])
def test_the_damage_of_cut_compression(tmp_path: Path, packer: Callable[[bytes], bytes], content: bytes) -> None:
    packed = packer(content)
    for missing in (1, 2, 7, 100, 5000):
        assert damage(tmp_path, packed[:-missing]), missing


@pytest.mark.parametrize("size", [600, 10_000, len(NOISE) + 511, len(NOISE) + 1500])
def test_the_damage_of_a_truncated_tar(tmp_path: Path, size: int) -> None:
    assert damage(tmp_path, TAR[:size])


@pytest.mark.parametrize("packer", PACKERS[1:4])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_flipped_bit(tmp_path: Path, packer: Callable[[bytes], bytes], share: float) -> None:
    content = packer(NOISE)
    assert damage(tmp_path, flipped(content, int(len(content) * share), 4))


def test_the_damage_of_a_zip(tmp_path: Path) -> None:
    assert damage(tmp_path, ZIP) == ""
    for size in (30, 1000, len(ZIP) // 2, len(ZIP) - 1):
        assert damage(tmp_path, ZIP[:size])
    assert "Bad CRC-32 for file 'b'" in damage(tmp_path, flipped(ZIP, len(ZIP) * 3 // 4, 4))


def test_errors_that_are_not_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.corpora.archives.entry.ALWAYS_ALLOWED", 1 << 20)
    monkeypatch.setattr(Limits, "max_ratio", 1)
    monkeypatch.setattr(Limits, "max_members", 1)
    assert damage(tmp_path, gzip.compress(bytes(2 << 20))) == ""
    assert damage(tmp_path, TAR) == ""


def test_every_decompressed_byte_is_reported(tmp_path: Path) -> None:
    told: list[int] = []
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(TAR))
    assert damage_of(path, told.append, Limits()) == ""
    assert sum(told) == 2 * len(NOISE)
