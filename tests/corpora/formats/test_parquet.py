from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_prep.base.errors import CorpusError, InvalidTextError
from nmt_prep.text.blocks import Fault
from tests.corpora.formats.builders import faults_of, pairs_of, read, reader

FLAT = {"source": "en", "target": "zh"}
NESTED = {"source": "translation.en", "target": "translation.zh"}


def parquet(**columns: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def same_texts(*names: str) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(["a"])] * len(names), names), buffer)
    return buffer.getvalue()


def test_columns(tmp_path: Path) -> None:
    zh = pa.array(["一", "two\nlines"]).dictionary_encode()
    assert read(tmp_path, "parquet", parquet(en=["a\u2028", ""], zh=zh), fields=FLAT) == [
        ("a\u2028", "一"),
        ("", "two lines"),
    ]


@pytest.mark.parametrize(
    "kind", [pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()], ids=str
)
def test_kinds_of_text(tmp_path: Path, kind: pa.DataType) -> None:
    texts = pa.array(["a", None, "ü" * 20]).cast(kind)
    rows = pa.StructArray.from_arrays([texts, texts], ["en", "zh"])
    opened = reader(
        tmp_path, "parquet", parquet(t=rows, d=texts), fields={"source": "t.en", "target": "t.zh"}, document="d"
    )
    [batch] = opened.pairs()
    assert batch.target.to_pylist() == ["a", "", "ü" * 20]
    assert batch.columns["document"].to_pylist() == ["a", None, "ü" * 20]
    with pytest.raises(InvalidTextError, match="the field 'zh' is not UTF-8"):
        read(tmp_path, "parquet", parquet(en=["a"], zh=pa.array([b"\xff"]).cast(pa.binary_view())), fields=FLAT)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"translation.en": ["a"], "translation.zh": ["b"], "translation": ["c"]}, ("a", "b")),
        ({"translation": [{"en": "a", "zh": "b"}], "translation.en": ["x"], "translation.zh": ["y"]}, ("a", "b")),
    ],
)
def test_field_names_with_dots(tmp_path: Path, columns: dict[str, Any], expected: tuple[str, str]) -> None:
    assert read(tmp_path, "parquet", parquet(**columns), fields=NESTED) == [expected]


def test_columns_without_any_value(tmp_path: Path) -> None:
    content = parquet(en=["a", "c"], zh=["b", "d"], d=pa.nulls(2), q=pa.nulls(2))
    opened = reader(tmp_path, "parquet", content, fields=FLAT, document={"at": "d"}, scores={"q": {"at": "q"}})
    [batch] = opened.pairs()
    assert [batch.columns[key].to_pylist() for key in ("document", "scores.q")] == [[None, None], [None, None]]
    opened = reader(tmp_path, "parquet", parquet(en=["a"], zh=pa.nulls(1)), fields=FLAT)
    assert faults_of(opened) == [Fault.MISSING_SIDE]


def test_nested_columns_and_nulls(tmp_path: Path) -> None:
    rows = [{"en": "a", "zh": "b", "de": "x"}, {"en": None, "zh": "c"}, None, {"en": "d", "zh": "e" * 60}]
    opened = reader(tmp_path, "parquet", parquet(id=[1, 2, 3, 4], translation=rows), fields=NESTED, max_line_bytes=50)
    assert faults_of(opened) == [0, Fault.MISSING_SIDE, Fault.MISSING_SIDE, Fault.TOO_LONG]
    assert pairs_of(opened) == [("a", "b")]


@pytest.mark.parametrize(
    ("content", "fields", "message"),
    [
        (
            parquet(en=["a"], ja=["b"]),
            FLAT,
            r"a\.parquet: there is no field 'zh' \(at this level there is 'en', 'ja'\)",
        ),
        (parquet(translation=[{"en": "a"}]), NESTED, r"no field 'translation\.zh' \(at this level there is 'en'\)"),
        (
            parquet(**{"t.en": ["a"], "t.zh": ["b"]}),
            {"source": "t.en", "target": "t.zhh"},
            r"'t.zhh' \(did you mean 't\.zh'\? at this",
        ),
        (parquet(en=["a"], zh=[1]), FLAT, "the field 'zh' is int64, not text"),
        (same_texts("en", "zh", "zh"), FLAT, r"a\.parquet: several fields have the name 'zh'; correct fields"),
        (same_texts("translation.en", "translation.en"), NESTED, "several fields have the name 'translation.en'"),
        (parquet(en=["a"], zh=["b"])[:-20], FLAT, r"cannot read .*a\.parquet as Parquet: .*; it is damaged"),
        (b"PAR1", FLAT, "it is damaged"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, fields: dict[str, str], message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read(tmp_path, "parquet", content, fields=fields)


def test_invalid_utf8(tmp_path: Path) -> None:
    bad = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")])
    with pytest.raises(InvalidTextError, match="the field 'zh' is not UTF-8"):
        read(tmp_path, "parquet", parquet(en=["a"], zh=bad), fields=FLAT)


def test_long_texts_are_read_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{number:0500}" for number in range(20)]
    monkeypatch.setattr("nmt_prep.corpora.formats.parquet.BATCH_CHARACTERS", 2000)
    opened = reader(tmp_path, "parquet", parquet(en=texts, zh=texts), fields=FLAT)
    assert [len(batch) for batch in opened.pairs()] == [3, 3, 3, 3, 3, 3, 2]
