"""Handling of bytes that are not plain UTF-8 lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.errors import InvalidTextError
from nmt_prep.corpora import open_corpus
from nmt_prep.text import chunks
from nmt_prep.text.blocks import Fault
from tests.conftest import examples
from tests.corpora.formats.builders import LANGUAGES, corpus, faults_of, pairs_of, reader
from tests.corpora.formats.fuzzing import peak_of


def test_marks_and_carriage_returns_are_counted(tmp_path: Path) -> None:
    source, target = b"\xef\xbb\xbfa\r\n\r\nb\rc\r", b"\xef\xbb\xbf\xef\xbb\xbf1\n2\n3"
    opened = reader(tmp_path, "plain", source, target)
    assert pairs_of(opened) == [("a", "\ufeff1"), ("", "2"), ("b\rc\r", "3")]
    assert opened.counts == {"byte_order_marks": 2, "carriage_returns": 2}
    kept = reader(tmp_path, "plain", source, target, crlf="keep")
    assert pairs_of(kept) == [("a\r", "\ufeff1"), ("\r", "2"), ("b\rc\r", "3")]


def test_file_with_only_a_byte_order_mark(tmp_path: Path) -> None:
    assert pairs_of(reader(tmp_path, "plain", b"\xef\xbb\xbf", b"")) == []


@pytest.mark.parametrize("block", [1, 5, 1 << 20])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "gb18030", "big5", "utf-8-sig"])
def test_other_encodings(tmp_path: Path, encoding: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "BLOCK_BYTES", block)
    sides = "a中\r\n\n國b".encode(encoding), "一\n二\n三".encode(encoding)
    opened = reader(tmp_path, "plain", *sides, encoding=encoding)
    assert pairs_of(opened) == [("a中", "一"), ("", "二"), ("國b", "三")]
    assert opened.counts["byte_order_marks"] == (2 if encoding in ("utf-16", "utf-32", "utf-8-sig") else 0)
    assert opened.text_files("source") is None


def test_an_encoding_per_side(tmp_path: Path) -> None:
    opened = reader(tmp_path, "plain", "é\n".encode(), b"\xe9\n", encoding={"target": "latin-1"})
    assert pairs_of(opened) == [("é", "é")]
    assert (opened.row_count(), opened.text_files("source"), opened.text_files("target")) == (
        1,
        [tmp_path / "a.en"],
        None,
    )
    sgm = [
        f'<{set_} setid="s"><doc docid="d" sysid="r"><seg id="1">é</seg></doc></{set_}>'
        for set_ in ("srcset", "refset")
    ]
    opened = reader(
        tmp_path,
        "sgm",
        sgm[0].encode("utf-16"),
        sgm[1].encode("cp1252"),
        encoding={"source": "utf-16", "target": "cp1252"},
    )
    assert pairs_of(opened) == [("é", "é")]


def test_one_byte_encodings_and_marks_of_their_own(tmp_path: Path) -> None:
    assert pairs_of(reader(tmp_path, "plain", b"caf\xe9", b"\x80", encoding="cp1252")) == [("café", "€")]
    opened = reader(tmp_path, "plain", "\ufeffa".encode("utf-16-be"), "b".encode("utf-16-be"), encoding="utf-16-be")
    assert pairs_of(opened) == [("a", "b")]
    assert opened.counts["byte_order_marks"] == 1


@pytest.mark.parametrize("block", [4, 1 << 20])
@pytest.mark.parametrize(
    ("encoding", "content", "message"),
    [
        (
            "utf-16-le",
            "a\nb\n".encode("utf-16-le") + b"\0\xd8x\0",
            r"a\.en:3: not UTF-16-LE at byte 8 of the file \(00 d8: ",
        ),
        ("utf-16", b"a\0b\0", r"a\.en:1: not UTF-16 at byte 0 of the file \(no byte order mark; it may be utf-16-le\)"),
        ("utf-16", "a\n".encode("utf-16") + b"x", r"a\.en:2: not UTF-16 at byte 6 of the file \(78: truncated data\)"),
        ("gb18030", b"ab\n\xd6\xd0\xff\n", r"a\.en:2: not GB18030 at byte 5 of the file \(ff: "),
        ("ascii", b"ab\n\xe9\n", r"a\.en:2: not ASCII at byte 3 of the file \(e9: "),
        (
            "utf-8",
            "a".encode("utf-16"),
            r"a\.en:1: not UTF-8 at byte 0 .*; it may be UTF-16\); set encoding in the config \(for this side",
        ),
    ],
)
def test_position_of_invalid_text_is_reported(
    tmp_path: Path, encoding: str, content: bytes, message: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "BLOCK_BYTES", block)
    with pytest.raises(InvalidTextError, match=message):
        pairs_of(reader(tmp_path, "plain", content, "1\n".encode(encoding), encoding=encoding))


@pytest.mark.parametrize("block", [4, 1 << 20])
@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "utf-16-le"])
def test_invalid_lines_are_dropped_on_both_sides(
    tmp_path: Path, encoding: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "BLOCK_BYTES", block)
    bad = b"\0\xd8x\0" if encoding == "utf-16-le" else b"x\xff\xfey"
    source = "中\n".encode(encoding) + bad + "\nlast\n".encode(encoding)
    opened = reader(tmp_path, "plain", source, "1\n2\n3\n".encode(encoding), encoding=encoding, invalid="drop")
    assert faults_of(opened) == [0, Fault.INVALID_TEXT, 0]
    assert pairs_of(opened) == [("中", "1"), ("last", "3")]
    assert [array.to_pylist() for array in opened.lines("source")] == [["中", "last"]] or block == 4


@settings(max_examples=examples(150))
@given(
    lengths=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=12),
    limit=st.integers(1, 20),
    block=st.integers(1, 25),
    newline=st.booleans(),
)
def test_long_lines_are_dropped_on_both_sides(
    new_directory: Callable[[], Path], lengths: list[tuple[int, int]], limit: int, block: int, newline: bool
) -> None:
    lines = [("s" * first, "t" * second) for first, second in lengths]
    sides = ["\n".join([*side, ""]).encode() for side in zip(*lines, strict=True)] or [b"", b""]
    if not newline and lines and lengths[-1][0]:
        sides[0] = sides[0][:-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "BLOCK_BYTES", block)
        opened = reader(new_directory(), "plain", *sides, max_line_bytes=limit)
        assert faults_of(opened) == [Fault.TOO_LONG * (max(pair) > limit) for pair in lengths]
        assert pairs_of(opened) == [pair for pair, sizes in zip(lines, lengths, strict=True) if max(sizes) <= limit]


@pytest.mark.parametrize("kind", ["plain", "tsv", "csv", "jsonl"])
def test_a_huge_line_takes_no_memory(tmp_path: Path, kind: str) -> None:
    """Reads a line of 128 MiB; memory must not depend on its length."""
    paths = {"both": tmp_path / "a"} if kind != "plain" else {"source": tmp_path / "a", "target": tmp_path / "b"}
    with (tmp_path / "a").open("wb") as file:
        for _ in range(128):
            file.write(b"x" * (1 << 20))
        file.write({"jsonl": b'\n{"e": "a", "z": "b"}\n', "csv": b"\na,b\n"}.get(kind, b"\na\tb\n"))
    (tmp_path / "b").write_bytes(b"1\n2\n")
    fields = {"fields": {"source": "e", "target": "z"}} if kind == "jsonl" else {}
    opened, pairs = open_corpus(corpus(kind, **fields), [paths], LANGUAGES), list[tuple[str, str]]()
    assert peak_of(lambda: pairs.extend(pairs_of(opened))) < 24 << 20
    assert pairs == [("a\tb", "2") if kind == "plain" else ("a", "b")]


def test_a_line_both_long_and_invalid_counts_as_long(tmp_path: Path) -> None:
    opened = reader(tmp_path, "plain", b"a\n" + b"\xff" * 60 + b"\nb\n", b"1\n2\n3\n", max_line_bytes=50)
    assert faults_of(opened) == [0, Fault.TOO_LONG, 0]


@pytest.mark.parametrize(
    ("kind", "pair"),
    [("tsv", b"%b\t%b"), ("csv", b"%b,%b"), ("csv", b'"q","%b%b"'), ("jsonl", b'{"e": "%b", "z": "%b"}')],
)
def test_faulty_lines(tmp_path: Path, kind: str, pair: bytes) -> None:
    lines = [pair % sides for sides in ((b"a", b"b"), (b"\xff", b"c"), (b"c", b"x" * 60), (b"d", b"e"))]
    fields = {"fields": {"source": "e", "target": "z"}} if kind == "jsonl" else {}
    opened = reader(tmp_path, kind, b"\n".join(lines), invalid="drop", max_line_bytes=50, **fields)
    assert faults_of(opened) == [0, Fault.INVALID_TEXT, Fault.TOO_LONG, 0]
    assert len(pairs_of(opened)) == 2
