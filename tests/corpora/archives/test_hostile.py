"""Archives that are malicious or damaged on purpose."""

from __future__ import annotations

import errno
import gzip
import io
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.errors import AlignmentError, ArchiveError, OutputError
from nmt_prep.config import ExtractSettings as Limits
from nmt_prep.corpora.archives import entry, extraction
from nmt_prep.corpora.archives.entry import paired
from nmt_prep.corpora.archives.extraction import WHOLE_FILE
from tests.corpora.archives.builders import LIMITS, PACKERS, extract, outputs, tar_of, zip_of, zstd

NAMES = ("d/x.en", "d/x.zh", "d/y.en")


@pytest.fixture
def small_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "ALWAYS_ALLOWED", 1 << 16)


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("entries", [1, 2])
def test_a_tar_cut_between_entries_is_truncated(tmp_path: Path, packer: Any, entries: int) -> None:
    content = tar_of(*[(name, b"x" * 512) for name in NAMES])[: 1024 * entries]
    with pytest.raises(ArchiveError, match=r"cut short \(the end marker of the tar is missing"):
        extract(tmp_path, packer(content), NAMES[0])
    assert outputs(tmp_path) == []


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_names(tmp_path: Path, form: int) -> None:
    name = "d/" + "中" * 150 + "/" + "x" * 200
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        info = tarfile.TarInfo(name)
        info.size = 3
        tar.addfile(info, io.BytesIO(b"abc"))
    assert extract(tmp_path, buffer.getvalue(), name) == {name: b"abc"}


def pax(fields: bytes, name: str = "a", size: int | None = None) -> bytes:
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, len(fields) if size is None else size
    padded = fields + b"\0" * (-len(fields) % 512)
    return header.tobuf(tarfile.USTAR_FORMAT) + padded + tar_of((name, b"x" * 100))


def patched(content: bytes, at: int, new: bytes) -> bytes:
    return content[:at] + new + content[at + len(new) :]


TAR = tar_of(*[(name, b"x" * 512) for name in NAMES])
SMALL_TAR = tar_of(("a", b"x"), ("b", b"y" * 2000))
ZIP = zip_of(("a", b"1" * 100), ("b", b"2" * 100))


@pytest.mark.parametrize(
    ("content", "wanted", "message"),
    [
        (
            patched(TAR, 2058, bytes([TAR[2058] ^ 1])),
            NAMES[0],
            r"damaged or cut short \(bad header at byte 2048: bad checksum\)",
        ),
        *((SMALL_TAR[:cut], "a", r"damaged or cut short \(it ends within ") for cut in (1324, 1536, 1636)),
        (pax(b"16 path=../evil\n"), "..**/evil", r"'\.\./evil' is rejected: it is not inside the archive"),
        (pax(b"16 path=../evil\n"), "a", "has no member 'a'"),
        (pax(b"99999999999 path=x\n"), "a", "a malformed pax header"),
        (pax(b"3 path=evil\n"), "a", "a malformed pax header"),
        (pax(b"path=evil\n"), "a", "a malformed pax header"),
        (pax(b"11 size=-1\n"), "a", "a malformed size in a pax header"),
        (pax(b"27 size=999999999999999999\n"), "a", "it ends within 'a'"),
        (pax(b"", size=5 << 20), "a", "an extended header of 5242880 bytes"),
        (pax(b"22 GNU.sparse.major=1\n"), "a", "'a' is rejected: it is a sparse file"),
        (pax(b"21 GNU.sparse.name=b\n", "GNUSparseFile.1/b"), "b", "'b' is rejected: it is a sparse file"),
        (
            patched(ZIP, ZIP.rindex(b"PK\x01\x02") + 42, bytes(4)),
            "a",
            r"x\.tgz is rejected: '[ab]' overlaps the next entry, as in a zip bomb",
        ),
        (
            patched(ZIP, ZIP.index(b"PK\x05\x06") + 12, struct.pack("<L", 1 << 30)),
            "a",
            "the directory is larger than the file",
        ),
        *((packer(b"text\n") + b"garbage after it", WHOLE_FILE, "damaged or cut short") for packer in PACKERS[1:]),
    ],
)
def test_damaged_and_hostile_archives(tmp_path: Path, content: bytes, wanted: str, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        extract(tmp_path, content, wanted)
    assert outputs(tmp_path) == []


def test_incremental_backups_and_labels_of_gnu_tar(tmp_path: Path) -> None:
    header = bytearray(tar_of(("d/a.en", b"a\n")))
    header[257:265], header[345:369] = b"ustar  \0", b"15302603051\x0015302603052\0"  # two times, no prefix of the name
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:512]))
    listing, label = tarfile.TarInfo("d/"), tarfile.TarInfo("label")
    listing.type, label.type = b"D", b"V"
    content = tar_of((label, b""), (listing, b"Ya.en\0\0"))[:1536] + bytes(header)
    assert extract(tmp_path, content, "**") == extract(tmp_path, content, "d/a.en") == {"d/a.en": b"a\n"}


@pytest.mark.usefixtures("small_allowance")
@pytest.mark.parametrize("packer", PACKERS[1:])
def test_a_bomb_of_one_file(tmp_path: Path, packer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "max_ratio", 20)
    with pytest.raises(ArchiveError, match=r"expands to more than 20 times its size, .* unpack it yourself"):
        extract(tmp_path, packer(bytes(4 << 20)), WHOLE_FILE)
    assert outputs(tmp_path) == []


@pytest.mark.usefixtures("small_allowance")
@pytest.mark.parametrize("packer", PACKERS[1:])
def test_a_bomb_around_a_tar(tmp_path: Path, packer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "max_ratio", 20)
    content = packer(tar_of(("a", b"x"), ("b", bytes(4 << 20))))
    with pytest.raises(ArchiveError, match="expands to more than 20 times its size"):
        extract(tmp_path, content, "a")


@pytest.mark.usefixtures("small_allowance")
@pytest.mark.parametrize("build", [tar_of, zip_of])
def test_compressed_bombs_in_an_archive(tmp_path: Path, build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "max_ratio", 2)
    members = [(f"{number}.gz", gzip.compress(bytes(60_000))) for number in range(3)]
    content = build(*members)
    assert extract(tmp_path, content, "1.gz") == {"1.gz": bytes(60_000)}
    with pytest.raises(ArchiveError, match="expands to more than 2 times its size"):
        extract(tmp_path, content, "*.gz")


def test_a_member_that_is_too_large(tmp_path: Path) -> None:
    content = tar_of(("a", b"x" * 1000), ("b", b"x" * 1001))
    limits = Limits(max_member_bytes=1000)
    assert extract(tmp_path, content, "a", limits=limits) == {"a": b"x" * 1000}
    with pytest.raises(ArchiveError, match=r"holds more than 1000 bytes; .* raise extract\.max_member_bytes"):
        extract(tmp_path, content, "b", limits=limits)


@pytest.mark.parametrize("build", [tar_of, zip_of])
def test_too_many_members(tmp_path: Path, build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    content = build(*[(f"{number}", b"") for number in range(11)])
    monkeypatch.setattr(Limits, "max_members", 11)
    assert extract(tmp_path, content, "0") == {"0": b""}
    monkeypatch.setattr(Limits, "max_members", 10)
    with pytest.raises(ArchiveError, match=r"it has more than 10 members; .* unpack it yourself"):
        extract(tmp_path, content, "0")


def test_an_entry_of_a_zip_without_a_name(tmp_path: Path) -> None:
    content = zip_of(("a", b"1"), ("Xb", b"2")).replace(b"Xb", b"\0b")  # names end at a NUL
    for wanted in ("a", "*"):
        assert extract(tmp_path, content, wanted) == {"a": b"1"}
    with pytest.raises(ArchiveError, match=r"x\.tgz has no member 'b'"):
        extract(tmp_path, content, "b")


@pytest.mark.parametrize("members", [20, pytest.param(70_000, marks=pytest.mark.slow)])
def test_zip64(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, members: int) -> None:
    few = members < zipfile.ZIP_FILECOUNT_LIMIT
    if few:
        monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 10)  # of a zip without a zip64 directory
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        with zipped.open("big", "w", force_zip64=True) as member:
            member.write(b"large\n")
        for number in range(members):
            zipped.writestr(f"{number}", b"")
    content = bytearray(buffer.getvalue())
    assert content[-42:-38] == b"PK\x06\x07"
    if few:
        content[-14:-10] = b"\xff" * 4  # the numbers of entries are in the zip64 directory
    last = str(members - 1)
    assert extract(tmp_path, bytes(content), "big", last) == {"big": b"large\n", last: b""}
    monkeypatch.setattr(Limits, "max_members", members)
    with pytest.raises(ArchiveError, match=f"it has more than {members} members"):
        extract(tmp_path, bytes(content), "big")


def test_xz_that_needs_too_much_memory(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
    content = bytearray(lzma.compress(b"x" * 100, filters=filters))
    header = content.index(b"\x21\x01")  # the filter's ID and the length of its properties
    content[header + 2] = 40  # 4 GiB
    size = (content[12] + 1) * 4
    content[12 + size - 4 : 12 + size] = struct.pack("<L", zlib.crc32(content[12 : 12 + size - 4]))
    with pytest.raises(ArchiveError, match=r"packed in a way that is not supported \(Memory usage limit"):
        extract(tmp_path, bytes(content), WHOLE_FILE)


def test_zstd_with_a_window_that_needs_too_much_memory(tmp_path: Path) -> None:
    content = b"\x28\xb5\x2f\xfd\x00\xa8" + b"\x01\x00\x00"  # a window of 2 GiB, an empty last block
    message = r"packed in a way that is not supported .*requires too much memory.*: unpack it .* zstd without --long"
    with pytest.raises(ArchiveError, match=message) as caught:
        extract(tmp_path, content, WHOLE_FILE)
    assert not isinstance(caught.value, entry.DamagedError)
    assert extraction.damage_of(tmp_path / "x.tgz", lambda _: None, LIMITS) == ""


@pytest.mark.parametrize("first", range(0x50, 0x60))
def test_frames_of_zstd_to_skip(tmp_path: Path, first: int) -> None:
    skipped = bytes([first]) + b"\x2a\x4d\x18\x03\x00\x00\x00abc"
    content = skipped + zstd(b"a\n") + skipped + zstd(b"b\n") + skipped
    assert extract(tmp_path, content, WHOLE_FILE) == {WHOLE_FILE: b"a\nb\n"}
    assert extract(tmp_path, skipped + zstd(tar_of(("d", content))), "d") == {"d": b"a\nb\n"}


@pytest.mark.parametrize("packer", PACKERS[1:])
def test_several_streams_are_one_file(tmp_path: Path, packer: Any) -> None:
    assert extract(tmp_path, packer(b"a\n") + packer(b"") + packer(b"b\n"), WHOLE_FILE) == {WHOLE_FILE: b"a\nb\n"}


def test_patterns(tmp_path: Path) -> None:
    entries = [(name, name.encode()) for name in ("d/x.10.en", "d/x.2.en", "d/e/x.en", "d/x.en.bak", "xen")]
    content = tar_of((directory("d/dir.en"), b""), *entries)
    assert list(extract(tmp_path, content, "d/*.en")) == ["d/x.10.en", "d/x.2.en"]
    assert list(extract(tmp_path, content, "d/**.en")) == ["d/e/x.en", "d/x.10.en", "d/x.2.en"]
    assert list(extract(tmp_path, content, "d/x.?.en")) == ["d/x.2.en"]
    with pytest.raises(ArchiveError, match=r"no member that matches '\*\.en'; it has 'd/dir.*, 'xen': correct"):
        extract(tmp_path, content, "*.en")


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("**/*.en", "a.en d/a.en d/e/x.en"),
        ("d/**.en", "d/a.en d/e/x.en"),
        ("*", "a.en"),
        ("?/**", "d/a.en d/e/x.en"),
        ("**/**/x.en", "d/e/x.en"),
        ("d/.*", "d/._a.en d/.en"),
        ("__MACOSX/**", "__MACOSX/d/a.en"),
    ],
)
def test_wildcards_do_not_match_hidden_names(tmp_path: Path, pattern: str, matched: str) -> None:
    names = (
        "a.en",
        "d/a.en",
        "d/e/x.en",
        "._a.en",
        "d/._a.en",
        ".h/a.en",
        "d/.en",
        "__MACOSX/d/a.en",
        "d/__MACOSX/a.en",
    )
    for build in (tar_of, zip_of):
        assert sorted(extract(tmp_path, build(*((name, b"") for name in names)), pattern)) == sorted(matched.split())


@pytest.mark.parametrize(
    ("patterns", "source", "target", "expected"),
    [
        (
            "*.en *.de",
            "p.1.en p.10.en p.2.en",
            "p.01.de p.02.de p.10.de",
            "p.1.en-p.01.de p.2.en-p.02.de p.10.en-p.10.de",
        ),
        ("*.en *.de", "a.en B.en", "A.de b.de", "a.en-A.de B.en-b.de"),
        ("*.en *.de", "a.en A.en", "A.de a.de", "A.en-A.de a.en-a.de"),
        (
            "d/**/*.en **/*.de",
            "d/2/a.en d/1/a.en d/a.en",
            "a.de 1/a.de 2/a.de",
            "d/1/a.en-1/a.de d/2/a.en-2/a.de d/a.en-a.de",
        ),
        ("**/*.en **/*.de", "en/x.en", "de/y.de", "en/x.en-de/y.de"),
        ("*.en *.de", "p.1.en", "p.2.de", ": 'p.1.en', 'p.2.de'; correct"),
        ("*.en *.de", "p.1.en p.2.en p.3.en", "p.1.de p.3.de p.4.de", ": 'p.2.en', 'p.4.de'; correct"),
        ("*.en *.de", "p.1.en p.01.en", "p.1.de p.001.de", ": 'p.1.en', 'p.01.en', 'p.1.de', 'p.001.de'; correct"),
        (" *.de", "", "a.de b.de", "'the file' matches 1 and '*.de' matches 2 members"),
    ],
)
def test_names_are_paired_by_what_the_wildcards_match(patterns: str, source: str, target: str, expected: str) -> None:
    asked = dict(zip("st", patterns.split(" "), strict=True))
    names = {"s": source.split(" "), "t": target.split(" ")}
    if "'" in expected:
        with pytest.raises(AlignmentError, match=re.escape(expected)):
            paired(asked, names)
    else:
        assert " ".join(map("-".join, zip(*paired(asked, names).values(), strict=True))) == expected


def test_names_that_no_file_system_has_match_no_wildcard() -> None:
    assert entry.matcher("**/x/**/*.en").fullmatch("x/" * 500_000 + "b") is None
    assert entry.matcher("**/x/**/*.en").fullmatch("x/" * 1000 + "b.en") is not None
    assert entry.matcher("x" * 5000).fullmatch("x" * 5000) is not None


def directory(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = tarfile.DIRTYPE
    return info


def test_a_pattern_that_matches_a_link_is_refused(tmp_path: Path) -> None:
    link = tarfile.TarInfo("d/b.en")
    link.type, link.linkname = tarfile.SYMTYPE, "a.en"
    with pytest.raises(ArchiveError, match=r"'d/b\.en' is rejected: it is a symbolic link"):
        extract(tmp_path, tar_of(("d/a.en", b"x"), (link, b"")), "d/*.en")
    assert outputs(tmp_path) == []


@pytest.mark.parametrize("full", [0, 1])
def test_error_of_a_full_disk_names_the_file_being_written(
    tmp_path: Path, full: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = extraction._copy
    copied = iter(range(2))

    def failing(chunks: Any, *rest: Any) -> Any:
        if next(copied) == full:

            def no_space() -> Any:
                yield next(iter(chunks))
                raise OSError(errno.ENOSPC, "No space left on device")

            return copy(no_space(), *rest)
        return copy(chunks, *rest)

    monkeypatch.setattr(extraction, "_copy", failing)
    with pytest.raises(OutputError, match=rf"cannot write {tmp_path}/out/{full}: the disk is full"):
        extract(tmp_path, tar_of(("a", b"x"), ("b", b"y")), "a", "b")
    assert outputs(tmp_path) == []
