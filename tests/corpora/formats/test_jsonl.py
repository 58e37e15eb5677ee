from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.base.errors import CorpusError, InvalidTextError
from nmt_prep.text.blocks import Fault
from tests.corpora.formats.builders import faults_of, pairs_of, read, reader

FLAT = {"source": "en", "target": "zh"}
NESTED = {"source": "translation.en", "target": "translation.zh"}


def test_rows(tmp_path: Path) -> None:
    content = '{"en": "a\\u2028b", "zh": "一", "id": 1}\r\n\n{"zh": "二\\nlines", "en": ""}'.encode()
    opened = reader(tmp_path, "jsonl", content, fields=FLAT)
    assert pairs_of(opened) == [("a\u2028b", "一"), ("", "二 lines")]
    assert faults_of(opened) == [0, Fault.BLANK, 0]


def test_nested_fields(tmp_path: Path) -> None:
    rows = ['{"en": "a", "zh": "b"}', '{"en": null, "zh": "c"}', "null"]
    content = "".join(f'{{"translation": {row}}}\n' for row in rows).encode()
    opened = reader(tmp_path, "jsonl", content, fields=NESTED)
    assert faults_of(opened) == [0, Fault.MISSING_SIDE, Fault.MISSING_SIDE]
    items = read(tmp_path, "jsonl", b'{"t": ["a", {"b": "c"}]}', fields={"source": "t.0", "target": "t.1.b"})
    assert items == [("a", "c")]
    with pytest.raises(CorpusError, match=r"a\.jsonl:1: the field t\.2 is missing \(there is '0', '1'\); fix"):
        read(tmp_path, "jsonl", b'{"t": ["a", "b"]}', fields={"source": "t.0", "target": "t.2"})
    with pytest.raises(CorpusError, match=r"the field t\.7{5000} is missing"):
        read(tmp_path, "jsonl", b'{"t": ["a", "b"]}', fields={"source": "t.0", "target": "t." + "7" * 5000})
    with pytest.raises(CorpusError, match=r"a\.jsonl:1: the field translation is not an object"):
        read(tmp_path, "jsonl", b'{"translation": "a"}', fields=NESTED)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"en": "a", "zh": "b"', r"a\.jsonl:2: not JSON at column 22 \(Expecting ',' delimiter\)"),
        (b"[1]", "not a JSON object"),
        (b"[" * 100_000, "cannot be parsed as JSON"),
        (b'{"en": ' + b"1" * 5000 + b"}", "cannot be parsed as JSON"),
        (b'{"en": 1, "zh": "b"}', "the field en is not text"),
        (
            b'{"en": "a", "ja": "b"}',
            r"the field zh is missing \(there is 'en', 'ja'\); fix the line, or correct fields",
        ),
    ],
)
def test_bad_rows(tmp_path: Path, line: bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read(tmp_path, "jsonl", b'{"en": "a", "zh": "b"}\n' + line + b"\n", fields=FLAT)


HALF = rb"x\ud83d"


@pytest.mark.parametrize(
    ("row", "key"),
    [
        (b'{"en": "%s", "zh": "b"}', "fields: the field en"),
        (b'{"en": "a", "zh": "%s"}', "fields: the field zh"),
        (b'{"en": "a", "zh": "b", "d": {"\\u0064": "%s"}}', "document: the field d.d"),
        (b'{"en": "a", "zh": "b", "s": "%s"}', "scores.s: the field s"),
    ],
)
def test_half_of_a_surrogate_pair(tmp_path: Path, row: bytes, key: str) -> None:
    content = row % HALF + b'\n{"en": "x", "zh": "\\ud83d\\ude00", "other": "%s"}\n' % HALF
    places = {"fields": FLAT, "document": "d.d", "scores": {"s": "s"}}
    with pytest.raises(InvalidTextError, match=rf"a\.jsonl:1: {key} has half of a surrogate pair, .*x\\ud83d"):
        read(tmp_path, "jsonl", content, **places)
    opened = reader(tmp_path, "jsonl", content, invalid="drop", **places)
    assert pairs_of(opened) == [("x", "😀")]
    assert faults_of(opened) == [Fault.INVALID_TEXT, 0]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (b'{"t.en": "a", "t.zh": "b", "t": {"fr": "c"}}', ("a", "b")),
        (b'{"t": {"en": "a", "zh": "b"}, "t.en": "x", "t.zh": "y"}', ("a", "b")),
        (b'{"t": "text", "t.en": "a", "t.zh": "b"}', ("a", "b")),
    ],
)
def test_field_names_with_dots(tmp_path: Path, row: bytes, expected: tuple[str, str]) -> None:
    assert read(tmp_path, "jsonl", row, fields={"source": "t.en", "target": "t.zh"}) == [expected]
