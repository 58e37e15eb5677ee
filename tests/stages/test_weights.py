"""Weights of pairs, from scores of corpora to records, loaders and outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import nmt_prep
from nmt_prep.base.errors import ConfigError, CorpusError, RecordsError
from nmt_prep.config import Config
from nmt_prep.training.batches import read_records
from nmt_prep.training.records.check import check_records
from tests.corpus import tree
from tests.stages.runs import config_of

OUTPUTS = [{"kind": "text", "pieces": False, "vocab": []}, {"kind": "marian", "shards": {"train": 2}}]
HUGGINGFACE = [{"kind": "huggingface", "name": name, "rows": name} for name in ("translation", "ids")]


def write(directory: Path, scores: str = "") -> None:
    lines = [f"a {n}\tb {n}\t{scores or ('' if n % 5 == 0 else n / 8)}\n" for n in range(600)]
    (directory / "a.tsv").write_text("".join(lines))
    (directory / "b.tsv").write_text("".join(f"c {n}\td {n}\n" for n in range(100)))


def config(directory: Path, run: str = "run", **more: Any) -> Config:
    train = [{"name": "a", "url": "a.tsv", "scores": {"w": 2}}, {"name": "b", "url": "b.tsv"}]
    base = {"vocab": {"kind": "byte_bpe", "size": 300, "shared": True}, "output_dir": str(directory / run)}
    data = {"weight": {"from": "score:w", "default": 0.25}, "records": {"shards": {"train": 3}, "layout": "chunk"}}
    return config_of(directory, *train, **{**base, **data, **more})


def expected(text: str) -> float:
    kind, number = text.split()
    return 0.25 if kind == "c" or int(number) % 5 == 0 else int(number) / 8


@pytest.mark.parametrize("layout", ["example", "chunk"])
def test_batches_have_the_weights_of_their_pairs(tmp_path: Path, layout: str) -> None:
    write(tmp_path)
    nmt_prep.run(config(tmp_path, records={"layout": layout, "shards": {"train": 3}}), until="encode")
    tokenizer = nmt_prep.load_tokenizer(next((tmp_path / "run" / "vocab").glob("*.tokenizer.json")))
    options: tuple[dict[str, Any], ...] = ({}, {"packed": True, "max_length": 32}, {"rank": 1, "world_size": 2})
    counts = []
    for chosen in options:
        counts.append(0)
        for batch in read_records(tmp_path / "run", "train", batch_size=16, epoch=1, **chosen):
            texts = [tokenizer.decode(row[:-1]) for row in batch.source.to_lists()]
            assert batch.weights is not None
            assert batch.weights.dtype == np.float32
            assert batch.weights.tolist() == list(map(expected, texts))
            counts[-1] += len(texts)
    assert counts == [700, 700, 350]
    info = json.loads((tmp_path / "run" / "records" / "dataset.json").read_text())
    assert info["columns"] == ["weight"]
    file = tmp_path / "run" / "records" / "index" / "t-train-00001-of-00003.weight"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(
        RecordsError, match=r"t-train-00001-of-00003\.weight: 931 bytes, expected 932 \(a column of t-tr"
    ):
        check_records(tmp_path / "run" / "records")


def test_outputs_hold_the_weights(tmp_path: Path) -> None:
    write(tmp_path)
    nmt_prep.run(config(tmp_path, outputs=[*OUTPUTS, *HUGGINGFACE]), until="outputs")
    outputs = tmp_path / "run" / "outputs"
    rows = []
    for path in sorted((outputs / "text").glob("*.en")):
        texts, weights = path.read_text().splitlines(), path.with_suffix(".weight").read_text().splitlines()
        rows += zip(texts, map(float, weights), strict=True)
    assert len(rows) == 700
    assert all(weight == expected(text) for text, weight in rows)
    for path in (outputs / "marian").glob("*.tsv"):
        for source, _, weight in (line.split("\t") for line in path.read_text().splitlines()):
            assert float(weight) == expected(source.replace(" ", "").replace("Ġ", " "))
    for path in (outputs / "translation").glob("*.parquet"):
        table = pq.read_table(path)
        assert json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]["weight"]["dtype"] == "float32"
        texts = [row["en"] for row in table["translation"].to_pylist()]
        assert table["weight"].to_pylist() == list(map(expected, texts))
    ids = [pq.read_table(path) for path in sorted((outputs / "ids").glob("*.parquet"))]
    texts = [pq.read_table(path) for path in sorted((outputs / "translation").glob("*.parquet"))]
    assert [table["weight"] for table in ids] == [table["weight"] for table in texts]
    assert "`weight`" in (outputs / "ids" / "README.md").read_text()


def test_bytes_do_not_depend_on_workers_or_memory(tmp_path: Path) -> None:
    write(tmp_path)
    for run, engine in (("one", {"workers": 1}), ("two", {"workers": 2, "memory": "256MB"})):
        nmt_prep.run(config(tmp_path, run, engine={"kind": "local", **engine}, outputs=OUTPUTS), until="outputs")
    assert tree(tmp_path / "one" / "records") == tree(tmp_path / "two" / "records")
    assert tree(tmp_path / "one" / "outputs") == tree(tmp_path / "two" / "outputs")


@pytest.mark.parametrize(("score", "shown"), [("-1", "-1"), ("inf", "inf"), ("1e39", r"1e\+39")])
def test_a_weight_is_a_finite_number_of_at_least_0(tmp_path: Path, score: str, shown: str) -> None:
    write(tmp_path, score)
    message = rf"^splits\.train\.a: a\.tsv, line 1: scores\.w: found {shown}, which cannot be a weight"
    with pytest.raises(CorpusError, match=message):
        nmt_prep.run(config(tmp_path))


def test_a_score_that_no_corpus_has(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"weight\.from: no corpus has the score 'x' \(there is w\); name one of sco"):
        config(tmp_path, weight={"from": "score:x"})
    with pytest.raises(ConfigError, match=r"weight: records of layout packed hold no weights; set records\.layout"):
        config(tmp_path, records={"layout": "packed"})


def test_a_score_that_no_rule_computes(tmp_path: Path) -> None:
    weight = {"from": "score:adequacy"}
    with pytest.raises(ConfigError, match=r"weight\.from: no corpus has the score 'adequacy', and no rule of clean"):
        config(tmp_path, weight=weight, clean={"preset": "light"})
    config(tmp_path, weight=weight, clean={"preset": "strict"})
    config(tmp_path, weight=weight, clean={"overrides": {"b": {"rules": {"adequacy": {}}}}})
