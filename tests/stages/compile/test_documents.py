"""The column of documents, from the files of a corpus to the cleaned parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_prep.base.errors import AlignmentError, ConfigError, CorpusError
from nmt_prep.config import Config
from tests.corpora.formats.test_parquet import parquet
from tests.stages.compile.test_compile_stage import plain
from tests.stages.compile.test_scores import archive
from tests.stages.compile.test_slices import files_of, small_slices, text
from tests.stages.runs import BT, config_of, run

NAMES = ["x", "x", "x", "y", "y", "z"]
DEDUP = {"preset": "none", "dedup": {"pair": "exact"}}


def rows(config: Config, directory: str = "compiled") -> list[tuple[int, str | None]]:
    """Returns rows and documents of the parts of train."""
    listed: list[tuple[int, str | None]] = []
    for path in sorted((config.run_dir / directory / "train").glob("*.parquet")):
        table = pq.read_table(path)
        listed += zip(table["row"].to_pylist(), table["document"].to_pylist(), strict=True)
    return listed


def with_names(directory: Path, *lines: str, **more: Any) -> Config:
    (directory / "d.txt").write_text("".join(f"{line}\n" for line in lines))
    content = "".join(f"line {number % 4}\n" for number in range(len(lines))).encode()
    return config_of(directory, {**plain(directory, "c", content, content), "document": "d.txt"}, **more)


def test_rules_and_duplicates_keep_the_documents(tmp_path: Path) -> None:
    config = with_names(tmp_path, *NAMES, clean=DEDUP)
    run(config)
    assert rows(config) == list(enumerate(NAMES))
    assert rows(config, "cleaned") == [(0, "x"), (1, "x"), (2, "x"), (3, "y")]


def test_slices_give_the_same_documents_as_the_whole(tmp_path: Path) -> None:
    lines = [f"document {number // 7}" for number in range(60)]
    sides = text("ab", times=60)
    (tmp_path / "d.txt").write_text("\n".join(lines) + "\n")
    config = config_of(tmp_path, {**plain(tmp_path, "c", sides, sides), "document": "d.txt"})
    run(config, until="compile")
    whole = rows(config)
    assert [name for _, name in whole] == lines
    with small_slices():
        run(config, until="compile", force={"download", "compile"})
    assert rows(config) == whole
    assert len(list((config.run_dir / "compiled" / "train").iterdir())) > 1


TEXTS = ("one\ntwo \r\n\n three", "four", " \n", "five\nsix")
RECORDS = [{"id": f"d{n}", "s": [n / 2] if n else None, "t": text} for n, text in enumerate(TEXTS)]
LINES = [("one", 0, "d0", None), ("two", 1, "d0", None), ("three", 2, "d0", None), ("four", 3, "d1", 0.5)]
LINES += [("five", 5, "d3", 1.5), ("six", 6, "d3", 1.5)]


def lines_of(directory: Path, file: str, content: bytes, **keys: Any) -> list[tuple[str, int, str, float | None]]:
    (directory / file).write_bytes(content)
    corpus = {"name": "m", "url": file, "translate": "bt", **keys}
    config = config_of(directory, corpus, computed=BT, sample={"made": True})
    run(config, until="compile", force={"download"})
    columns = ("target", "row", "document", "score:s")
    tables = (pq.read_table(config.run_dir / "compiled" / file) for file in files_of(config))
    return [row for table in tables for row in zip(*(table[name].to_pylist() for name in columns), strict=True)]


@pytest.mark.parametrize("slice_bytes", [1 << 20, 64])
def test_a_text_on_one_side_has_a_row_for_each_line(tmp_path: Path, slice_bytes: int) -> None:
    fields = {"fields": {"target": "t"}, "document": "id", "scores": {"s": "s.0"}}
    json_lines = "".join(f"{json.dumps(record)}\n" for record in RECORDS).encode()
    csv = "id,s,t\n" + "".join(f'{each["id"]},{(each["s"] or [""])[0]},"{each["t"]}"\n' for each in RECORDS)
    table = {name: [record[name] for record in RECORDS] for name in ("id", "s", "t")}
    places = {"columns": {"target": "t"}, "document": "id", "scores": {"s": "s"}}
    with small_slices(slice_bytes):
        assert lines_of(tmp_path, "m.jsonl", json_lines, **fields) == LINES
        assert lines_of(tmp_path, "m.parquet", parquet(**table), **fields) == LINES
        assert lines_of(tmp_path, "m.csv", csv.encode(), **places) == LINES


def test_a_text_that_is_too_long_is_one_row(tmp_path: Path) -> None:
    fields = {"fields": {"target": "t"}, "document": "id", "scores": {"s": "s.1"}, "max_line_bytes": 400}
    table = {"id": ["a", "b"], "s": [[0.0, 1.0], [0.0, 2.0]], "t": ["long\n" * 99, "one\ntwo"]}
    json_lines = "".join(
        json.dumps(dict(zip(table, row, strict=True))) + "\n" for row in zip(*table.values(), strict=True)
    )
    table["s"] = pa.array(table["s"], pa.list_(pa.float64(), 2))
    for file, content in (("m.jsonl", json_lines.encode()), ("m.parquet", parquet(**table))):
        assert lines_of(tmp_path, file, content, **fields) == [("one", 1, "b", 2.0), ("two", 2, "b", 2.0)]


def test_a_member_of_an_archive(tmp_path: Path) -> None:
    ids = b"e/1\td/1\t1\t1\ne/1\td/1\t2\t2 3\ne/2\td/2\t1\t1\n"
    url = archive(tmp_path, **{"en": b"a\nb\nc\n", "zh": b"1\n2\n3\n", "x.ids": ids})
    run(config := config_of(tmp_path, {"name": "c", "url": url, "source": "en", "target": "zh", "document": "*.ids"}))
    assert rows(config) == [(0, "e/1 d/1"), (1, "e/1 d/1"), (2, "e/2 d/2")]


def test_errors_name_key_file_and_row(tmp_path: Path) -> None:
    with pytest.raises(
        CorpusError, match=r"^splits\.train\.c: d\.txt, line 3: document: 1 comes after 2, but the rows"
    ):
        run(with_names(tmp_path, "1", "2", "1"))
    with pytest.raises(CorpusError, match=r"^splits\.train\.c\.document: no pair has a document; correct it in the"):
        run(with_names(tmp_path, "", ""))
    (tmp_path / "long.txt").write_text("1\n")
    config = with_names(tmp_path, "1", "2").splits["train"][0]
    corpus = {**config.model_dump(exclude_unset=True), "document": "long.txt"}
    with pytest.raises(
        AlignmentError, match=r"document: long\.txt has 1 lines, but the corpus has 2 rows; line i must"
    ):
        run(config_of(tmp_path, corpus))


@pytest.mark.parametrize(
    ("kind", "place", "message"),
    [
        ("po", "docid", "document: format po has no documents of its own: give"),
        ("wmt_xml", "original", "document: format wmt_xml has its documents at docid: give"),
        ("jsonl", 3, "document: format jsonl has no columns: give"),
        ("po", "prop:x", "document: only format tmx has properties: give"),
    ],
)
def test_a_format_without_the_column(tmp_path: Path, kind: str, place: object, message: str) -> None:
    fields = {"fields": {"source": "a", "target": "b"}} if kind == "jsonl" else {}
    with pytest.raises(ConfigError, match=message):
        config_of(tmp_path, {"name": "c", "url": "a.zip", "member": "m", "format": kind, "document": place, **fields})
