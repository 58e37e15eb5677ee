from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.errors import CorpusError, InvalidTextError
from nmt_prep.text import chunks as module
from tests.corpora.formats.builders import read, reader
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
        patch.setattr(module, "BLOCK_BYTES", block)
        found = read(new_directory(), "tsv", content, **options)
    source, target = reference.columns(content, wanted[:2], header)
    assert found == list(zip(source, target, strict=True))


@pytest.mark.parametrize("block", [6, 1 << 20])
def test_too_few_columns(tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", block)
    with pytest.raises(CorpusError) as caught:
        read(tmp_path, "tsv", b"en\tzh\na\tb\nonly one\nc\td\n", header=True)
    assert str(caught.value) == (
        f"{tmp_path / 'a.tsv'}:3: 1 column, but column 1 (counted from 0) is needed; "
        "fix the line, or set columns in the config"
    )


def test_an_empty_last_line_has_too_few_columns(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"a\.tsv:2: 1 column,"):
        read(tmp_path, "tsv", b"a\tb\n\n")


def test_invalid_utf8(tmp_path: Path) -> None:
    with pytest.raises(InvalidTextError, match=r"a\.tsv:2: not UTF-8 at byte 6 of"):
        read(tmp_path, "tsv", b"a\tb\nc\t\xfe\n")


def test_one_side_only(tmp_path: Path) -> None:
    opened = reader(tmp_path, "tsv", b"a\tb\nc\td\n")
    assert [array.to_pylist() for array in opened.lines("target")] == [["b", "d"]]
    assert opened.text_files("target") is None


def test_columns_by_name(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbfid\ten\tzh\n1\ta\tb\r\n2\tc\td\n"
    assert read(tmp_path, "tsv", content, columns={"source": "en", "target": 0}) == [("a", "1"), ("c", "2")]
    with pytest.raises(CorpusError, match=r"a\.tsv:1: no column named 'de' \(it has 'id', 'en', 'zh'\); correct"):
        read(tmp_path, "tsv", content, columns={"source": "de", "target": "zh"})
