from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.errors import CorpusError
from nmt_prep.text import chunks
from tests.conftest import examples
from tests.corpora.formats.builders import pairs_of, read, reader


def test_quotes(tmp_path: Path) -> None:
    content = 'a,一\r\n"b, ""c""","二\r\nlines"\n,""\n"x",y,z\n'.encode()
    assert read(tmp_path, "csv", content) == [("a", "一"), ('b, "c"', "二 lines"), ("", ""), ("x", "y")]


def test_columns_by_name(tmp_path: Path) -> None:
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
