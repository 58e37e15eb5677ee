from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import zipfile
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

from nmt_prep.base.errors import OutputError
from nmt_prep.config import ExtractSettings as Limits
from nmt_prep.corpora.archives import contents
from nmt_prep.corpora.archives.contents import Contents, Opened, contents_of
from tests.corpora.archives.builders import LIMITS, tar_of, zip_of

TEXT = b"".join(b"line %d\n" % number for number in range(5000))


def look(
    directory: Path, data: bytes, *wanted: str, most: int = 1 << 20, limits: Limits = LIMITS, beginning: int = 0
) -> Contents:
    """Looks into a file named x.bin, or into its first bytes only."""
    numbers = count()
    part = data[:beginning] if beginning else data
    opened = Opened("x.bin", "x.bin", len(data), io.BufferedReader(io.BytesIO(part)), whole=not beginning)
    return contents_of(opened, wanted, lambda _: directory / str(next(numbers)), limits, most)


def read(found: Contents, wanted: str) -> list[tuple[str, bytes, int | None, bool]]:
    return [(each.member, each.path.read_bytes(), each.size, each.whole) for each in found.beginnings[wanted]]


def faults(found: Contents) -> list[tuple[str | None, str]]:
    return [(member, str(fault)) for member, fault in found.faults]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress, pa.Codec("zstd").compress])
def test_a_tar(tmp_path: Path, pack: object) -> None:
    packed = pack(tar_of(("d/a.gz", gzip.compress(TEXT)), ("d/b", b"b\n"), ("c", b"")))  # type: ignore[operator]
    data = packed if isinstance(packed, bytes) else packed.to_pybytes()
    found = look(tmp_path, data, "d/a.gz", "d/b")
    assert (found.kind, found.names, found.complete, found.faults) == ("tar", ["d/a.gz", "d/b", "c"], True, [])
    assert read(found, "d/a.gz") == [("d/a.gz", TEXT, len(gzip.compress(TEXT)), True)]
    assert read(found, "d/b") == [("d/b", b"b\n", 2, True)]


def test_a_zip(tmp_path: Path) -> None:
    found = look(tmp_path, zip_of(("d/", b""), ("d/a", TEXT), ("b", b"b\n")), "d/a", most=100)
    assert (found.kind, found.names, found.complete, found.faults) == ("zip", ["d/a", "b"], True, [])
    assert read(found, "d/a") == [("d/a", TEXT[:100], len(TEXT), False)]


def test_a_pattern_matches_members_in_the_order_of_their_names(tmp_path: Path) -> None:
    found = look(tmp_path, tar_of(("b.en", b"2"), ("a.en", b"1"), ("a.de", b"3")), "*.en")
    assert read(found, "*.en") == [("a.en", b"1", 1, True), ("b.en", b"2", 1, True)]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_single_file(tmp_path: Path, pack: object) -> None:
    found = look(tmp_path, pack(TEXT), "")  # type: ignore[operator]
    assert (found.kind, found.names, found.complete) == ("file", [], True)
    assert read(found, "") == [("", TEXT, None, True)]


def test_a_local_file_that_is_not_compressed_is_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(TEXT)
    with path.open("rb") as file:
        opened = Opened(path, "a", len(TEXT), file, whole=True, path=path)
        [found] = contents_of(opened, [""], lambda _: tmp_path / "copy", LIMITS, 10).beginnings[""]
    assert (found.path, found.whole) == (path, True)


REFUSED = "is rejected: it is not inside the archive; only regular files inside the archive are read"


@pytest.mark.parametrize(
    ("data", "wanted", "member", "message"),
    [
        (
            tar_of(("d/train.en", b""), ("d/train.de", b"")),
            ["d/train.ed", "d/train.de"],
            "d/train.ed",
            (
                "x.bin has no member 'd/train.ed'; the nearest is 'd/train.en'; it has 'd/train.en', 'd/train.de': "
                "correct the member's name in the config"
            ),
        ),
        (
            b"a\tb\nc\td\n",
            ["a.en"],
            "a.en",
            (
                "x.bin has no member 'a.en', since it is no tar or zip: it looks like columns between tabs (TSV); "
                "check url, or where the file is the corpus itself, remove the member"
            ),
        ),
        (
            zip_of(("a", b"1"), ("b", b"2")),
            [""],
            "",
            "x.bin is an archive ('a', 'b', …); name the members to use in the config",
        ),
        (tar_of(("../a", b"x")), ["../a"], None, f"x.bin: the member '../a' {REFUSED}"),
        (tar_of(("/a", b"x")), ["/a"], None, f"x.bin: the member '/a' {REFUSED}"),
        (zip_of(("a", b"1"), ("a", b"2")), ["a"], None, "x.bin: 'a' occurs twice, so the member is ambiguous"),
    ],
)
def test_requests_with_a_fault(
    tmp_path: Path, data: bytes, wanted: list[str], member: str | None, message: str
) -> None:
    assert faults(look(tmp_path, data, *wanted)) == [(member, message)]


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = look(tmp_path, tar_of(("a", TEXT)), "a", limits=Limits(max_member_bytes=1000))
    assert faults(large)[0][1].startswith("x.bin is rejected: 'a' holds more than 1000 bytes")
    monkeypatch.setattr(Limits, "max_members", 1)
    many = look(tmp_path, tar_of(("a", b""), ("b", b"")), "b")
    assert faults(many)[0][1].startswith("x.bin is rejected: it has more than 1 members")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_damaged_archive(tmp_path: Path, pack: object) -> None:
    data = pack(tar_of(("a", TEXT), ("b", TEXT)))  # type: ignore[operator]
    found = look(tmp_path, data[: len(data) * 2 // 3], "a", "b")
    assert not found.complete
    [(member, message)] = faults(found)
    assert member is None
    assert message.startswith("x.bin is damaged or cut short (")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda data: bz2.compress(data, 1)])
def test_the_beginning_of_a_tar_shows_its_first_members(tmp_path: Path, pack: object) -> None:
    noise = random.Random(1).randbytes(250_000)
    data = pack(tar_of(("a", TEXT), ("b", noise), ("c", TEXT)))  # type: ignore[operator]
    found = look(tmp_path, data, "a", "b", "c", "*.d", beginning=200_000)
    assert (found.kind, found.complete, found.faults) == ("tar", False, [])
    assert read(found, "a") == [("a", TEXT, len(TEXT), True)]
    assert [(each.size, each.whole) for each in found.beginnings["b"]] in ([], [(len(noise), False)])
    assert {"c", "*.d"} <= set(found.unseen())


@pytest.mark.parametrize(
    "pack", [gzip.compress, lambda data: bz2.compress(data, 1), lambda data: lzma.compress(data, preset=0)]
)
def test_the_beginning_of_a_compressed_file(tmp_path: Path, pack: object) -> None:
    noise = b"".join(b"%d\n" % (number * 2654435761 % 2**32) for number in range(50_000))
    data = pack(noise)  # type: ignore[operator]
    [(member, beginning, size, whole)] = read(look(tmp_path, data, "", beginning=len(data) * 9 // 10), "")
    assert (member, size, whole) == ("", None, False)
    assert noise.startswith(beginning)
    assert len(beginning) > 100_000


def test_the_beginning_of_a_zip_shows_nothing(tmp_path: Path) -> None:
    data = zip_of(("a", TEXT))
    found = look(tmp_path, data, "a", beginning=len(data) // 2)
    assert (found.kind, found.names, found.complete, found.faults, found.unseen()) == ("zip", [], False, [], ["a"])


def test_a_large_tar_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = gzip.compress(tar_of(("a", TEXT), ("b", TEXT), ("c", TEXT)))
    after = look(tmp_path, data, "a", most=1000)
    assert (after.names, after.complete, after.faults, after.unseen()) == (["a"], False, [], [])
    monkeypatch.setattr(contents, "_MOST_UNPACKED", 70_000)
    before = look(tmp_path, data, "c")
    assert (before.names, before.complete, before.faults, before.unseen()) == (["a", "b"], False, [], ["c"])


def test_a_beginning_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"^cannot write .*/none/0"):
        look(tmp_path / "none", gzip.compress(tar_of(("a", b"x"))), "a")


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("a")
    data = bytearray(zip_of((info, b"x")))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert faults(look(tmp_path, bytes(data), "a"))[0][1].endswith(
        "it is packed with a password; unpack the archive with another program, and pack it again with zip's usual "
        "method, Deflate"
    )
