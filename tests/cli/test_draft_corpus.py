from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_prep.cli.draft_corpus import corpus_of
from nmt_prep.errors import ConfigError
from tests.archives.builders import tar_of, zip_of
from tests.cli.configs import EN_DE


def write_parquet(path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "translation": [{"en": "one", "de": "eins"}]}), path)


FILES: dict[str, bytes | Callable[[Path], None]] = {
    "a.tsv": b"one\teins\n",
    "a.txt": b"one\teins\n",
    "a.jsonl.gz": gzip.compress(b'{"id": 1, "pair": {"en": "one", "de": "eins"}}\n{"x'),
    "b.jsonl": b'{"source": "one", "target": "eins"}\n',
    "c.jsonl": b'{"left": "one", "right": "eins"}\n',
    "a.parquet": write_parquet,
    "a.tgz": gzip.compress(tar_of(("d/a.en.gz", b""), ("d/a.de.gz", b""), ("README", b""))),
    "b.zip": zip_of(("a.en", b""), ("a.de", b""), ("b.en", b""), ("b.de", b"")),
    "c.zip": zip_of(("LICENSE", b""), ("all.tsv", b"")),
    "d.zip": b"one\n",
    "one.src": b"one\n",
    "two,three.tsv": b"one\teins\n",
}


@pytest.fixture
def files(here: Path) -> Path:
    for name, content in FILES.items():
        if isinstance(content, bytes):
            (here / name).write_bytes(content)
        else:
            content(here / name)
    return here


@pytest.mark.parametrize(
    ("text", "name", "keys"),
    [
        ("opus:Books/v1", "Books-v1", {"url": "opus:Books/v1/en-de"}),
        ("opus:Books/v1/de-en", "Books-v1", {"url": "opus:Books/v1/de-en"}),
        ("a.tsv", "a", {"url": "a.tsv"}),
        ("a.txt", "a", {"url": "a.txt", "format": "tsv"}),
        ("two,three.tsv", "two_three", {"url": "two,three.tsv"}),
        ("a.jsonl.gz", "a", {"url": "a.jsonl.gz", "fields": {"source": "pair.en", "target": "pair.de"}}),
        ("b.jsonl", "b", {"url": "b.jsonl", "fields": {"source": "source", "target": "target"}}),
        ("a.parquet", "a", {"url": "a.parquet", "fields": {"source": "translation.en", "target": "translation.de"}}),
        ("a.tgz", "a", {"url": "a.tgz", "source": "d/a.en.gz", "target": "d/a.de.gz"}),
        ("b.zip::b.en,b.de", "b", {"url": "b.zip", "source": "b.en", "target": "b.de"}),
        ("c.zip", "c", {"url": "c.zip", "member": "all.tsv"}),
        ("c.zip::all.tsv", "c", {"url": "c.zip", "member": "all.tsv"}),
        (
            "https://x.example/d/train.tsv.gz?k=v",
            "train",
            {"url": "https://x.example/d/train.tsv.gz?k=v", "format": "tsv"},
        ),
        (
            "https://x.example/n.v16.en.gz,s3://b/n.v16.de.gz",
            "n.v16",
            {"url": {"source": "https://x.example/n.v16.en.gz", "target": "s3://b/n.v16.de.gz"}},
        ),
        ("http://[::1]/a.tsv", "a", {"url": "http://[::1]/a.tsv"}),
        ("http://h/a.tgz::a/x.en,a/x.de", "a", {"url": "http://h/a.tgz", "source": "a/x.en", "target": "a/x.de"}),
    ],
)
@pytest.mark.usefixtures("files")
def test_corpora(text: str, name: str, keys: dict[str, Any]) -> None:
    found = corpus_of(text, EN_DE, Path())
    assert (found.name, found.keys) == (name, keys)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "b.zip",
            "b.zip: name the members of the archive after ::, with a comma between them; it has a.en, a.de, b.en, ",
        ),
        ("d.zip", "d.zip is no archive, in spite of its name"),
        ("a.tgz::1,2,3", "a.tgz::1,2,3: expected one member, or two with a comma between them"),
        (
            "c.jsonl",
            "c.jsonl: no fields are named en and de, or source and target; it has left, right; write the config",
        ),
        (
            "https://x.example/a.parquet",
            "a.parquet: no fields are named en and de, or source and target; write the conf",
        ),
        (
            "one.src",
            "one.src: a file of both sides has a name that ends in .tsv, .csv, .tmx or another format; for one ",
        ),
        (
            "https://x.example/a.tgz",
            "name the members of the archive, such as https://x.example/a.tgz::train.en,train.de",
        ),
        ("a,b,c", "a,b,c: expected a file, or two files with a comma between them"),
        ("a.tsv,", "a.tsv,: expected a file, or two files with a comma between them"),
        ("opus:a/b/c/d", "opus:a/b/c/d: expected <corpus>/<version>, such as opus:Europarl/v8"),
        ("opus:Books/v1/fr-de", "opus:Books/v1/fr-de is for de-fr, but languages is en-de"),
    ],
)
@pytest.mark.usefixtures("files")
def test_texts_that_name_no_corpus(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        corpus_of(text, EN_DE, Path())
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("hf:Helsinki-NLP/opus-100/de-en", "opus-100-de-en"),
        ("hf:owner/name@v1.0", "name"),
    ],
)
def test_a_data_set_of_the_hugging_face_hub(tmp_path: Path, text: str, name: str) -> None:
    corpus = corpus_of(text, EN_DE, tmp_path)
    assert (corpus.name, corpus.keys) == (name, {"url": text})


def test_an_id_of_the_hub_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"hf:name: an id on the Hugging Face Hub is hf:<owner>/<name>"):
        corpus_of("hf:name", EN_DE, tmp_path)
