from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.errors import CorpusError, InvalidTextError
from nmt_prep.text import chunks
from tests.conftest import examples
from tests.corpora.formats.builders import pairs_of, read, reader
from tests.reference import corpora as reference


def test_first_two_columns(tmp_path: Path) -> None:
    content = ' "a" \t一\r\n\t\nb\t二\tmore'.encode()
    assert read(tmp_path, "tsv", content) == [(' "a" ', "一"), ("", ""), ("b", "二")]


def test_columns_by_number_after_a_header(tmp_path: Path) -> None:
    content = b"id\ten\tzh\n1\ta\tb\n2\tc\td\n"
    options = {"columns": {"source": 2, "target": 0}, "header": True}
    assert read(tmp_path, "tsv", content, **options) == [("b", "1"), ("d", "2")]


def test_header_only(tmp_path: Path) -> None:
    assert read(tmp_path, "tsv", b"en\tzh\n", header=True) == []
    assert read(tmp_path, "tsv", b"", header=True) == []


@given(
    rows=st.lists(st.lists(st.text("a中\r\x85\u2028 ", max_size=5), min_size=4, max_size=6), max_size=12),
    wanted=st.permutations(range(4)),
    header=st.booleans(),
    block=st.integers(1, 50),
)
def test_columns_equal_those_of_the_twin(
    new_directory: Callable[[], Path], rows: list[list[str]], wanted: list[int], header: bool, block: int
) -> None:
    content = "".join("\t".join(row) + "\n" for row in rows).encode()
    options = {"columns": {"source": wanted[0], "target": wanted[1]}, "header": header, "crlf": "keep"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "BLOCK_BYTES", block)
        found = read(new_directory(), "tsv", content, **options)
    source, target = reference.columns(content, wanted[:2], header)
    assert found == list(zip(source, target, strict=True))


@pytest.mark.parametrize("block", [6, 1 << 20])
def test_too_few_columns(tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "BLOCK_BYTES", block)
    with pytest.raises(CorpusError) as caught:
        read(tmp_path, "tsv", b"en\tzh\na\tb\nonly one\nc\td\n", header=True)
    assert str(caught.value) == (
        f"{tmp_path / 'a.tsv'}:3: 1 column, but column 1 (counted from 0) is needed; "
        "fix the line, or set columns in the config"
    )


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (b"a\tb\n\n", CorpusError, r"a\.tsv:2: 1 column,"),
        (b"a\tb\nc\t\xfe\n", InvalidTextError, r"a\.tsv:2: not UTF-8 at byte 6 of"),
    ],
)
def test_bad_lines(tmp_path: Path, content: bytes, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        read(tmp_path, "tsv", content)


def test_one_side_only(tmp_path: Path) -> None:
    opened = reader(tmp_path, "tsv", b"a\tb\nc\td\n")
    assert [array.to_pylist() for array in opened.lines("target")] == [["b", "d"]]
    assert opened.text_files("target") is None


def test_columns_by_name(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbfid\ten\tzh\n1\ta\tb\r\n2\tc\td\n"
    assert read(tmp_path, "tsv", content, columns={"source": "en", "target": 0}) == [("a", "1"), ("c", "2")]
    with pytest.raises(CorpusError, match=r"a\.tsv:1: no column named 'de' \(it has 'id', 'en', 'zh'\); correct"):
        read(tmp_path, "tsv", content, columns={"source": "de", "target": "zh"})


def test_quotes(tmp_path: Path) -> None:
    content = 'a,一\r\n"b, ""c""","二\r\nlines"\n,""\n"x",y,z\n'.encode()
    assert read(tmp_path, "csv", content) == [("a", "一"), ('b, "c"', "二 lines"), ("", ""), ("x", "y")]


def test_columns_of_csv_by_name(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbfid,zh,"the en"\n1,a,b\n2,"c",d\n'
    opened = reader(tmp_path, "csv", content, columns={"source": "the en", "target": "zh"})
    assert pairs_of(opened) == [("b", "a"), ("d", "c")]
    assert opened.counts["byte_order_marks"] == 1


@settings(max_examples=examples(150))
@given(
    rows=st.lists(st.lists(st.text('a中,"\u2028\x85 \n', max_size=5), min_size=2, max_size=4), max_size=10),
    block=st.integers(1, 60),
)
def test_rows_equal_those_of_the_standard_library(
    new_directory: Callable[[], Path], rows: list[list[str]], block: int
) -> None:
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator="\n").writerows(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "BLOCK_BYTES", block)
        found = read(new_directory(), "csv", written.getvalue().encode())
    expected = [[" ".join(filter(None, (p.strip(" ") for p in text.split("\n")))) for text in row[:2]] for row in rows]
    plain = [
        [text if "\n" not in text else joined for text, joined in zip(row, lines, strict=False)]
        for row, lines in zip(rows, expected, strict=True)
    ]
    assert [list(pair) for pair in found] == plain


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'a,b\nc "d",e\n', r"a\.csv:2: a quotation mark inside field 0"),
        (b'a,b\n"c"d,e\n', r"a\.csv:2: a quotation mark inside field 0"),
        (b'a,b\nc,"d\ne\n', r"a\.csv:2: a quoted field does not end within max_line_bytes = 40"),
        (b'a,b\nc,"d\n' + b"x\n" * 50, r"a\.csv:2: a quoted field does not end"),
        (b'a,b\n"c"\n', r"a\.csv:2: 1 column, but column 1 \(counted from 0\) is needed"),
        (b"a,b\nc\n", r"a\.csv:2: 1 column, but column 1 \(counted from 0\) is needed"),
    ],
)
def test_malformed_records(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read(tmp_path, "csv", content, max_line_bytes=40)


def test_no_such_column(tmp_path: Path) -> None:
    columns = {"source": "eng", "target": "zh"}
    with pytest.raises(CorpusError, match=r"a\.csv:1: no column named 'eng' \(it has 'en'\)"):
        read(tmp_path, "csv", b"en,zh\na,b\n", columns=columns)
    with pytest.raises(CorpusError, match=r"a\.csv:1: several columns named 'zh'"):
        read(tmp_path, "csv", b"zh,zh\na,b\n", columns={"source": "zh", "target": 0})
