from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.config import Corpus, Languages
from nmt_prep.corpora.archives.contents import Beginning
from nmt_prep.runs.inspection.inspected_corpora import FirstPairs, first_pairs

LANGUAGES = Languages(source="en", target="de")
UNIT = "<tu><tuv xml:lang='en'><seg>a</seg></tuv><tuv xml:lang='de'><seg>b</seg></tuv></tu>"


def first_of(path: Path, kind: str, data: bytes, *, whole: bool, **keys: object) -> FirstPairs:
    path.write_bytes(data)
    corpus = Corpus.model_validate({"name": "c", "url": "c", "format": kind, **keys})
    group = {"both": Beginning("", path, len(data), whole)}
    return first_pairs("train", corpus, [group], {path: "c"}, LANGUAGES, complete=True)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("tsv", b"a\tb\nc"),
        ("jsonl", b'{"s": "a", "t": "b"}\n{'),
        ("tmx", f"<tmx><body>{UNIT}<tu><tuv xml:lang='en'><seg>b &amp".encode()),
        ("tmx", f"<tmx><body>{UNIT}</bod".encode()),
    ],
)
def test_the_beginning_of_a_file_that_is_cut_at_any_byte(tmp_path: Path, kind: str, data: bytes) -> None:
    fields = {"fields": {"source": "s", "target": "t"}} if kind == "jsonl" else {}
    first = first_of(tmp_path / "c", kind, data, whole=False, **fields)
    assert {side: lines.to_pylist() for side, lines in first.lines.items()} == {"source": ["a"], "target": ["b"]}
    assert (first.pairs, first.problem, first.unseen) == (None, "", "")


@pytest.mark.parametrize(
    ("kind", "data", "unseen"),
    [
        ("tsv", b"no end of line", "no pair could be read from the beginning of the files"),
        ("tmx", b"<tmx><body><tu>", "no pair could be read from the beginning of the files"),
        ("po", b'msgid ""', "format po cannot be read from its beginning alone"),
    ],
)
def test_a_beginning_without_pairs(tmp_path: Path, kind: str, data: bytes, unseen: str) -> None:
    first = first_of(tmp_path / "c", kind, data, whole=False)
    assert (first.pairs, first.problem, first.unseen) == (None, "", unseen)


@pytest.mark.parametrize(
    ("data", "read", "pairs", "problem"),
    [
        (b"a\tb\n\tc\n", 2, 1, ""),
        (b"a\tb\nb\t\xe3\x80\x80\nc\td\n", 3, 2, ""),
        (b"\tc\n", 1, 0, "splits.train.c: no pair has text on both sides; check its format and options"),
        (
            b"a\n",
            None,
            None,
            "splits.train.c: c:1: 1 column, but column 1 (counted from 0) is needed; fix the line, or set",
        ),
    ],
)
def test_a_whole_file(tmp_path: Path, data: bytes, read: int | None, pairs: int | None, problem: str) -> None:
    first = first_of(tmp_path / "c", "tsv", data, whole=True)
    assert (first.read, first.pairs, first.unseen) == (read, pairs, "")
    assert first.problem.startswith(problem)
    assert bool(first.problem) is bool(problem)
