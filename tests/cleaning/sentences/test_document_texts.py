"""Documents in files of all forms, and their sentences."""

from __future__ import annotations

import os
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_prep.base.errors import CorpusError, InvalidTextError
from nmt_prep.cleaning.sentences.document_texts import (
    PLAIN,
    files_of_directories,
    joint_of,
    lines_of_html,
    pairs_of_list,
    read_document,
    read_documents,
    sentences_of,
)
from nmt_prep.config.documents import Documents


def documents(files: dict[str, Path], **options: Any) -> list[tuple[str, str, str]]:
    return list(read_documents("name", files, Documents(**options), dict.fromkeys(files, PLAIN)))


def sides(tmp_path: Path, source: str, target: str) -> dict[str, Path]:
    files = {"source": tmp_path / "s", "target": tmp_path / "t"}
    for file, text in zip(files.values(), (source, target), strict=True):
        file.write_bytes(text.encode())
    return files


def test_a_file_is_a_document(tmp_path: Path) -> None:
    files = sides(tmp_path, "\ufeffA.\r\nB.\u2028C.\n", "X.\n")
    assert documents(files) == [("name", "A.\nB.\u2028C.", "X.")]


def test_lines_divide_a_long_text(tmp_path: Path) -> None:
    files = sides(tmp_path, "<d 1>\nA.\nB.\n</d>\n<d 2>\nC.\n</d>\n", "<d 1>\nX.\n</d>\n<d 2>\nY.\n</d>\n")
    assert documents(files, divider="</?d.*>") == [("0", "A.\nB.", "X."), ("1", "C.", "Y.")]
    files["target"].write_text("<d 1>\nX.\n</d>\n")
    with pytest.raises(CorpusError, match=r"s: no line matches documents.divider \(#\+\); correct it, or remove it"):
        documents(files, divider="#+")
    with pytest.raises(CorpusError, match=r"document 2 is '1' in .*s, but no document in .*t; both files need the sa"):
        documents(files, divider="</?d.*>")


def test_rows_with_one_id_are_a_document(tmp_path: Path) -> None:
    files = sides(tmp_path, "d1\tA.\nd1\tB.\nd2\tC.\n", "d1\tX.\nd2\tY.\nd2\tZ.\n")
    assert documents(files, format="tsv", id=0, text=1) == [("d1", "A.\nB.", "X."), ("d2", "C.", "Y.\nZ.")]
    files["target"].write_text("d1\tX.\nd3\tY.\n")
    with pytest.raises(CorpusError, match=r"document 2 is 'd2' in .*s, but 'd3' in"):
        documents(files, format="tsv", id=0, text=1)
    with pytest.raises(CorpusError, match=r"s:1: 2 columns, but column 5 is needed"):
        documents(files, format="tsv", id=0, text=5)


def test_a_row_has_both_texts(tmp_path: Path) -> None:
    both = {"both": tmp_path / "both"}
    both["both"].write_text('{"t": {"en": "A.\\nB."}, "de": "X.", "n": 7}\n{"t": {"en": "C."}, "de": "Y.", "n": 8}\n')
    places = {"format": "jsonl", "source": "t.en", "target": "de"}
    assert documents(both, **places) == [("0", "A.\nB.", "X."), ("1", "C.", "Y.")]
    assert [name for name, _, _ in documents(both, **places, id="n")] == ["7", "8"]
    with pytest.raises(CorpusError, match=r"both:1: no text at 't.fr'; fix the row, or correct the key in"):
        documents(both, format="jsonl", source="t.fr", target="de")
    table = pa.table({"t": pa.array([{"en": "A."}, {"en": "B."}]), "de": ["X.", "Y."], "id": ["one", "one"]})
    pq.write_table(table, both["both"])
    assert documents(both, format="parquet", source="t.en", target="de", id="id") == [("one", "A.\nB.", "X.\nY.")]
    dotted = {"t.en": ["A."], "t": [{"de": "X."}], "id": ["one"]}
    pq.write_table(pa.table(dotted), both["both"])
    assert documents(both, format="parquet", source="t.en", target="t.de", id="id") == [("one", "A.", "X.")]
    both["both"].write_text('{"t.en": "A.", "t": {"de": "X\\ud83d"}}')
    with pytest.raises(InvalidTextError, match=r"both:1: t\.de: half of a surrogate pair"):
        documents(both, format="jsonl", source="t.en", target="t.de")
    pq.write_table(table, both["both"])
    with pytest.raises(CorpusError, match=r"no field 'fr' \(it has t, de, id\)"):
        documents(both, format="parquet", source="t.en", target="fr")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"A.\nB\xe9.\n")
    assert read_document(tmp_path / "text", "text", replace(PLAIN, encoding="cp1252")) == "A.\nBé."
    with pytest.raises(InvalidTextError, match=r"text:2: not UTF-8 at byte 4 of the file"):
        read_document(tmp_path / "text", "text", PLAIN)
    with pytest.raises(CorpusError, match=r"cannot read .*none: No such file"):
        read_document(tmp_path / "none", "text", PLAIN)
    with pytest.raises(CorpusError, match=r"text: not a Parquet file that can be read"):
        documents({"both": tmp_path / "text"}, format="parquet", source="a", target="b")
    (tmp_path / "text").write_text("{\n")
    with pytest.raises(CorpusError, match=r"text:1: not JSON"):
        documents({"both": tmp_path / "text"}, format="jsonl", source="a", target="b")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page", " <!doctype HTML>\n<p>A."),
        ("page", '<?xml version="1.0"?>\n<!-- a --><!-- b -->\n<html xmlns="x">'),
        ("page.HTM", "<p>A.</p>"),
    ],
)
def test_a_page_is_not_read_as_text(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(CorpusError, match=f"{name} is an HTML page, .*; set documents.format to html"):
        read_document(tmp_path / name, "text", PLAIN)
    assert read_document(tmp_path / name, "html", PLAIN) == text


def test_names_of_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.txt")).write_text("A.\n")
    with pytest.raises(InvalidTextError, match=r"the name of '.*\\udcff.txt' is not UTF-8; rename the file"):
        files_of_directories(tmp_path, tmp_path)


def test_lists_and_directories(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("a/1.txt\tb/1.txt\n\n/x\ty\n")
    assert pairs_of_list(tmp_path / "list") == [
        (tmp_path / "a" / "1.txt", tmp_path / "b" / "1.txt"),
        (Path("/x"), tmp_path / "y"),
    ]
    (tmp_path / "list").write_text("a\tb\nc\td\na\te\n")
    with pytest.raises(CorpusError, match=r"list:3: the source a is in an earlier line too; put its second target"):
        pairs_of_list(tmp_path / "list")
    (tmp_path / "list").write_text("\na/1.txt\n")
    with pytest.raises(CorpusError, match=r"list:2: expected two paths with a tab between"):
        pairs_of_list(tmp_path / "list")
    with pytest.raises(CorpusError, match=r"cannot read the directory .*none"):
        files_of_directories(tmp_path, tmp_path / "none")


def test_sentences_of_running_text() -> None:
    text = "Das ist Dr. Müller. Er wohnt\nin Bonn.\n\nEnde."
    assert sentences_of(text, "lines", "de").to_pylist() == ["Das ist Dr. Müller. Er wohnt", "in Bonn.", "Ende."]
    paragraphs = ["Das ist Dr. Müller.", "Er wohnt", "in Bonn.", "Ende."]
    assert sentences_of(text, "paragraphs", "de").to_pylist() == paragraphs
    assert sentences_of(text, "wrapped", "de-AT").to_pylist() == ["Das ist Dr. Müller.", "Er wohnt in Bonn.", "Ende."]
    assert sentences_of("这是\n句子。那是另一个。", "wrapped", "zh").to_pylist() == ["这是句子。", "那是另一个。"]
    unknown = sentences_of("Ek. Du! 这是。", "paragraphs", "qaa")
    assert unknown.to_pylist() == ["Ek.", "Du!", "这是。"]
    assert (joint_of("zh-TW"), joint_of("de")) == ("", " ")


# The text of HTML pages, hostile ones among them.


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        (
            "<html><head><title>T</title></head><h1>A</h1><p>b <b>c</b><script>x</script></p><ul><li>d<li>e</ul>",
            ["A", "b c", "d", "e"],
        ),
        ("<p>a\n b<br>c &amp;&nbsp;<q>d</q><!-- no --></p>e", ["a b", 'c &\xa0"d"', "e"]),
        (
            "<pre>a\n  b\n\nc</pre><div>d<div hidden>no<br>no</div><i style='Display : none'>no<b>no</b></i>e</div>",
            [*"abc", "de"],
        ),
        ("<table><tr><th>a<td>b c<tr><td>d<table><td>e</table>f</table>g", ["a", "b c", "d", "e", "f", "g"]),
        ("<?xml version='1.0' encoding='iso-8859-1'?><html><meta charset='latin-1'><p>é中\0x", ["é中\ufffdx"]),
        ("a < b", ["a < b"]),
        (" \n", []),
    ],
)
def test_each_block_is_a_line(page: str, lines: list[str]) -> None:
    assert sentences_of(lines_of_html(page), "lines", "en").to_pylist() == lines


def test_lines_of_a_block_are_running_text() -> None:
    found = sentences_of(lines_of_html("<p>It<br>is. So</p><div>it is.</div>"), "wrapped", "en")
    assert found.to_pylist() == ["It is.", "So", "it is."]


@pytest.mark.parametrize(
    "page",
    [
        "<table>" + "<tr><td>a<td>b" * 12_000 + "<tr><td>" + "c" * 250_000 + "</table>",
        "<table>" + "<tr><td colspan=1000000 rowspan=1000000>a" * 5000 + "</table>",
        "<div>" * 5000 + "a" + "</div>" * 5000,
        "<p " + "a" * 1_000_000 + "='" + "b" * 1_000_000 + "'>c",
        "&euro;" * 200_000,
        "<p>a" * 50_000,
    ],
)
def test_memory_is_bounded_by_the_size_of_a_page(page: str) -> None:
    lines_of_html("")  # loads the parser
    tracemalloc.start()
    text = lines_of_html(f"{page}<p>The end.")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert text.endswith("The end.\n\n")
    assert peak < 20 * len(page) + 1_000_000


@pytest.mark.parametrize(
    ("page", "deepest"),
    [("<div>" * 10_001, "10,000"), ("<b>" * 6_250 + "</i>" * 80_000, "6,250"), ("<table><td>" * 9000, "10,000")],
)
def test_elements_nested_too_deeply_are_an_error(page: str, deepest: str) -> None:
    with pytest.raises(CorpusError, match=f"its elements are nested more than {deepest} deep; remove the page"):
        lines_of_html(page)
