from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_prep.base.errors import OutputError, RecordsError
from nmt_prep.training.records.dataset_json import (
    CorpusInfo,
    DatasetInfo,
    IndexInfo,
    InputInfo,
    LanguageCodes,
    PairStats,
    ShardInfo,
    SplitInfo,
    Vocabularies,
    VocabularyInfo,
    load_dataset_info,
    write_dataset_info,
)
from tests.training.records.conftest import lengths_of

VOCABULARY = VocabularyInfo(
    file="../vocab/vocab.toy.99.subwords", kind="t2t", size=99, sha256="0" * 64, fingerprint="f", pad_id=0, eos_id=1
)
STATS = PairStats.of(*lengths_of([([5, 1], [6, 7, 1]), ([8, 1], [1])]))
SHARD = ShardInfo(
    file="toy-dev-00000-of-00001",
    records=2,
    pairs=2,
    source_tokens=4,
    target_tokens=4,
    bytes=104,
    sha256="1" * 64,
    index=IndexInfo(bytes=28, sha256="2" * 64),
)


def make_dataset(split: SplitInfo | None = None) -> DatasetInfo:
    return DatasetInfo(
        name="toy",
        config_fingerprint="abc",
        seed=1,
        languages=LanguageCodes(source="en", target="zh"),
        vocab=Vocabularies(source=VOCABULARY, target=VOCABULARY),
        input=InputInfo(batch_tokens=60, max_length=12),
        corpora={"dev": (CorpusInfo(name="ä", pairs=2),)},
        splits={"dev": split or SplitInfo.of(STATS, [SHARD])},
    )


EXPECTED = """{
  "config_fingerprint": "abc",
  "corpora": {
    "dev": [
      {
        "name": "ä",
        "pairs": 2
      }
    ]
  },
  "format": 1,
  "input": {
    "batch_tokens": 60,
    "max_length": 12
  },
  "languages": {
    "source": "en",
    "target": "zh"
  },
  "layout": "example",
  "name": "toy",
  "row_length": null,
  "seed": 1,
  "splits": {
    "dev": {
      "max_lengths": [
        [
          2,
          1
        ],
        [
          3,
          1
        ]
      ],
      "pairs": 2,
      "shards": [
        {
          "bytes": 104,
          "file": "toy-dev-00000-of-00001",
          "index": {
            "bytes": 28,
            "sha256": "2222222222222222222222222222222222222222222222222222222222222222"
          },
          "pairs": 2,
          "records": 2,
          "rows": 0,
          "sha256": "1111111111111111111111111111111111111111111111111111111111111111",
          "source_tokens": 4,
"""


def test_bytes_are_deterministic_and_read_back(tmp_path: Path) -> None:
    path = write_dataset_info(tmp_path, make_dataset())
    content = path.read_bytes().decode()
    assert content.startswith(EXPECTED)
    assert content.endswith("}\n")
    assert load_dataset_info(tmp_path) == make_dataset()
    assert [entry.name for entry in tmp_path.iterdir()] == ["dataset.json"]


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match=r"dataset\.json: cannot be read: No such file .*run the encode stage"):
        load_dataset_info(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"cannot write .*/file"):
        write_dataset_info(tmp_path / "file", make_dataset())


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b"[]", b"null", b"1"])
def test_not_a_json_object(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "dataset.json").write_bytes(content)
    known = content in (b"[]", b"null", b"1")
    problem = r"the file: Input should be an object\. D" if known else "not JSON: .*; d"
    with pytest.raises(RecordsError, match=rf"dataset\.json: {problem}elete it and run the encode stage again"):
        load_dataset_info(tmp_path)


def change(*path: str | int, to: Any) -> Callable[[Any], None]:
    def edit(tree: Any) -> None:
        for key in path[:-1]:
            tree = tree[key]
        tree[path[-1]] = to

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (change("format", to=2), "format 2, this version reads up to 1; install a later nmt_prep"),
        (change("format", to="1"), "format: Input should be 1"),
        (change("seed", to="1"), "seed: Input should be a valid integer"),
        (change("input", to={"batch_tokens": 0, "max_length": 2**63}), "input.max_length: Input should be less than"),
        (change("splits", "dev", "max_lengths", to=[[2**63, 2]]), "max_lengths.0.0: Input should be less than"),
        (change("more", to=1), "more: Extra inputs are not permitted"),
        (change("splits", "dev", "pairs", to=3), "pairs of all shards add up to 2, but pairs is 3"),
        (
            change("splits", "dev", "source_tokens", to=5),
            "source_tokens of all shards add up to 4, but source_tokens is 5",
        ),
        (
            change("splits", "dev", "max_lengths", to=[[2, 1]]),
            "pairs in max_lengths add up to 1, but pairs is 2",
        ),
        (
            change("splits", "dev", "source_lengths", to=[[3, 2]]),
            "tokens in source_lengths add up to 6, but source_tokens is 4",
        ),
        (
            change("splits", "dev", "max_lengths", to=[[3, 1], [2, 1]]),
            "max_lengths is not in ascending order of length",
        ),
        (change("corpora", "dev", 0, "pairs", to=1), "pairs of all corpora of dev add up to 1, but pairs is 2"),
        (change("corpora", to={}), r"corpora has splits \[\], splits has \['dev'\]"),
        (change("splits", "dev", "shards", 0, "file", to="../x"), "splits.dev.shards.0.file: String should match"),
        (change("splits", "dev", "shards", 0, "sha256", to="0"), "splits.dev.shards.0.sha256: String should match"),
        (
            change("splits", "dev", "shards", 0, "records", to=1),
            "a record is a pair, but toy-dev-.* has 1 records and 2 pairs",
        ),
    ],
)
def test_inconsistent(tmp_path: Path, edit: Callable[[Any], None], message: str) -> None:
    path = write_dataset_info(tmp_path, make_dataset())
    tree = json.loads(path.read_bytes())
    edit(tree)
    path.write_text(json.dumps(tree))
    with pytest.raises(RecordsError, match=message):
        load_dataset_info(tmp_path)


def test_counts_and_shards_of_different_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="pairs of all shards add up to 4, but pairs is 2"):
        SplitInfo.of(STATS, [SHARD, SHARD])


def test_counts_of_a_batch() -> None:
    stats = PairStats.of(np.array([2, 1, 3]), np.array([1, 1, 4]))
    assert stats == PairStats(3, 6, 6, Counter({2: 1, 1: 1, 3: 1}), Counter({1: 2, 4: 1}), Counter({2: 1, 1: 1, 4: 1}))


def test_counts_add_up() -> None:
    one = PairStats.of(np.array([2]), np.array([1]))
    assert one + one + PairStats() == PairStats(2, 4, 2, Counter({2: 2}), Counter({1: 2}), Counter({2: 2}))
    assert PairStats.of(*lengths_of([])) == PairStats()
