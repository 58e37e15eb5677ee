"""The column of documents, and the places from which readers fill it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from nmt_prep.base.errors import CorpusError, InvalidTextError
from nmt_prep.corpora import Reader
from nmt_prep.corpora.reader import DOCUMENT, column_type
from nmt_prep.corpora.scores import (
    ColumnLines,
    RowPlace,
    column_of,
    document_starts,
    in_order,
    joined_column,
    value_of,
)
from nmt_prep.text.blocks import Fault
from tests.corpora.formats.builders import reader
from tests.corpora.formats.test_memories import tmx, unit
from tests.corpora.formats.test_parquet import parquet

FIELDS = {"source": "en", "target": "zh"}


def documents_in(opened: Reader) -> list[tuple[str, str, str | None]]:
    """Returns source, target and document of each pair."""
    rows: list[tuple[str, str, str | None]] = []
    for batch in opened.pairs():
        documents = batch.columns["document"]
        assert documents.type == column_type(DOCUMENT)
        rows += zip(batch.source.to_pylist(), batch.target.to_pylist(), documents.to_pylist(), strict=True)
    return rows


def test_tables(tmp_path: Path) -> None:
    expected = [("a", "b", "x"), ("c", "d", "x"), ("e", "f", None), ("g", "h", "y z")]
    content = b"a\tb\tx\nc\td\t x \ne\tf\t\ng\th\ty z\n"
    assert documents_in(reader(tmp_path, "tsv", content, document={"at": 2})) == expected
    quoted = b'en,zh,doc\na,b,x\n"c",d, x \ne,f,\ng,h,"y z"\n'
    assert documents_in(reader(tmp_path, "csv", quoted, columns=FIELDS, document={"at": "doc"})) == expected


def test_fields(tmp_path: Path) -> None:
    rows = [b'{"en": "a", "zh": "b", "m": {"d": %s}}' % value for value in (b'"x"', b"7", b"null", b'"7"')]
    expected = [("a", "b", "x"), ("a", "b", "7"), ("a", "b", None), ("a", "b", "7")]
    opened = reader(tmp_path, "jsonl", b"\n".join(rows), fields=FIELDS, document={"at": "m.d"})
    assert documents_in(opened) == expected
    for values in (pa.array(["x", "7", None, "7"]), pa.array(["x", "7", "", "7"]).dictionary_encode()):
        content = parquet(en=["a"] * 4, zh=["b"] * 4, d=values)
        assert documents_in(reader(tmp_path, "parquet", content, fields=FIELDS, document={"at": "d"})) == expected
    rows = [b'{"en": "a", "zh": "b", "d": "x\\n\\ty\\n"}']
    assert documents_in(reader(tmp_path, "jsonl", rows[0], fields=FIELDS, document={"at": "d"})) == [("a", "b", "x  y")]
    content = parquet(en=["a"], zh=["b"], d=pa.array(["\nx\t\ny"]))
    assert documents_in(reader(tmp_path, "parquet", content, fields=FIELDS, document={"at": "d"})) == [
        ("a", "b", "x  y")
    ]
    content = parquet(en=["a"] * 2, zh=["b"] * 2, d=pa.array([3, None], pa.int64()))
    opened = reader(tmp_path, "parquet", content, fields=FIELDS, document={"at": "d"})
    assert documents_in(opened) == [("a", "b", "3"), ("a", "b", None)]


def test_translation_memories(tmp_path: Path) -> None:
    content = tmx(f'<prop type="doc">x</prop>{unit(en="a", zh="b")}', unit(en="c", zh="d"))
    opened = reader(tmp_path, "tmx", content, document={"at": "prop:doc"}, scores={"s": {"at": "prop:s"}})
    assert documents_in(opened) == [("a", "b", "x"), ("c", "d", None)]
    units = "".join(f"<trans-unit><source>{n}</source><target>t</target></trans-unit>" for n in "ab")
    files = f'<file original="x.html">{units}</file><file>{units}</file>'
    content = f'<xliff version="1.2">{files}</xliff>'.encode()
    assert documents_in(reader(tmp_path, "xliff", content, document={"at": "original"})) == [
        ("a", "t", "x.html"),
        ("b", "t", "x.html"),
        ("a", "t", None),
        ("b", "t", None),
    ]


def test_each_reference_of_a_test_set_is_a_document_of_its_own(tmp_path: Path) -> None:
    def sections(*names: str) -> str:
        return "".join(
            f'<ref lang="zh" translator="{name}"><p><seg id="1">{name}1</seg><seg id="2">{name}2</seg></p></ref>'
            for name in names
        )

    source = '<src lang="en"><p><seg id="1">a</seg><seg id="2">b</seg></p></src>'
    content = f'<dataset><doc id="d">{source}{sections("A", "B")}</doc></dataset>'.encode()
    chosen = {"references": "all", "document": {"at": "docid"}}
    expected = [("a", "A1", "d A"), ("b", "A2", "d A"), ("a", "B1", "d B"), ("b", "B2", "d B")]
    assert documents_in(reader(tmp_path, "wmt_xml", content, **chosen)) == expected
    only = reader(tmp_path, "wmt_xml", content, references="B", document={"at": "docid"})
    assert documents_in(only) == [("a", "B1", "d"), ("b", "B2", "d")]
    plain = reader(tmp_path, "wmt_xml", content, references="all")
    assert [batch.target.to_pylist() for batch in plain.pairs()] == [["A1", "B1", "A2", "B2"]]

    def sgml(kind: str, *names: str) -> bytes:
        docs = "".join(
            f'<doc sysid="{name}" docid="d"><seg id="1">{name}1</seg><seg id="2">{name}2</seg></doc>' for name in names
        )
        return f"<{kind}>{docs}</{kind}>".encode()

    opened = reader(tmp_path, "sgm", sgml("srcset", ""), sgml("refset", "A", "B"), **chosen)
    assert [row[1:] for row in documents_in(opened)] == [("A1", "d A"), ("A2", "d A"), ("B1", "d B"), ("B2", "d B")]


@pytest.mark.parametrize("bad", ["&#xD83D;", "\x01", "\xff"])
def test_names_with_characters_that_xml_does_not_allow(tmp_path: Path, bad: str) -> None:
    unit = "<trans-unit><source>a</source><target>b</target></trans-unit>"
    files = f'<xliff version="1.2"><file original="x{bad}">{unit}</file><file original="y">{unit}</file></xliff>'
    sides = '<src lang="en"><seg id="1">a</seg></src><ref lang="zh"><seg id="1">b</seg></ref>'
    docs = f'<dataset><doc id="x{bad}">{sides}</doc><doc id="y">{sides}</doc></dataset>'
    for name, text, place in (("xliff", files, "original"), ("wmt_xml", docs, "docid")):
        content = text.encode("latin-1")
        named, unnamed = ({"invalid": "drop", **more} for more in ({"document": {"at": place}}, {}))
        [batch] = reader(tmp_path, name, content, **named).pairs()
        assert batch.faults is not None
        assert batch.faults.tolist() == [Fault.INVALID_TEXT, 0]
        assert batch.sound().columns["document"].to_pylist() == ["y"]
        assert next(reader(tmp_path, name, content, **unnamed).pairs()).faults is None


def test_lines_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "d.ids"
    path.write_bytes(b"en/a.xml\tde/b.xml\t1 2\t3\nen/a.xml\tde/b.xml\t3\t4\n\n12\n")
    lines = ColumnLines("document", path)
    assert lines.take(3).to_pylist() == ["en/a.xml de/b.xml", "en/a.xml de/b.xml", None]
    assert lines.take(3).to_pylist() == ["12"]


def test_a_joined_column_has_only_the_names_that_occur() -> None:
    names = [pa.array(["a", "b", None]).dictionary_encode(), pa.array(["c", "b"]).dictionary_encode()]
    joined = joined_column([names[0][1:], names[1]])
    assert (joined.to_pylist(), joined.dictionary.to_pylist()) == (["b", None, "c", "b"], ["b", "c"])
    assert document_starts(joined).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("value", [1.5, True, [], "x" * 1001, 1 << 70])
def test_what_is_no_name(value: object) -> None:
    with pytest.raises(CorpusError, match=r"^f:3: document: found .*; the name of a document is a text or an integer"):
        value_of(value, "document", "f:3")
    if isinstance(value, str):
        with pytest.raises(CorpusError, match=r"^f:1: document: found 'xxx"):
            column_of(pa.array(["a", value]), "document", lambda index: f"f:{index}")


def test_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    names = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")])
    content = parquet(en=["a"], zh=["b"], d=names)
    with pytest.raises(InvalidTextError, match="the field 'd' is not UTF-8"):
        documents_in(reader(tmp_path, "parquet", content, fields=FIELDS, document={"at": "d"}))


def test_numbers_ascend(tmp_path: Path) -> None:
    content = b"".join(b"a\tb\t%s\n" % name for name in (b"1", b"1", b"x", b"3", b"", b"2"))
    batches = reader(tmp_path, "tsv", content, document={"at": 2}).pairs()
    with pytest.raises(CorpusError, match=r"^f, row 15: document: 2 comes after 3, but the rows of a document must"):
        list(in_order(batches, RowPlace(Path("f"), "row", 10)))
