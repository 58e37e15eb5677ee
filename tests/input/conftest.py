from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import pytest
import tensorflow as tf

from nmt_prep.columns import Ragged
from nmt_prep.records import (
    CorpusInfo,
    DatasetInfo,
    LanguageCodes,
    PairStats,
    ShardInfo,
    SplitInfo,
    Vocabularies,
    VocabularyInfo,
    shard_name,
    write_dataset_info,
)
from tests.records.runs import encode_run  # noqa: F401 - a fixture

Pair = tuple[list[int], list[int]]

VOCABULARY = b"'<pad>_'\n'<EOS>_'\n'a'\n'b_'\n'_'\n"


def example(pair: Pair) -> bytes:
    def feature(ids: list[int]) -> Any:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=ids))

    features = tf.train.Features(feature={"inputs": feature(pair[0]), "targets": feature(pair[1])})
    return bytes(tf.train.Example(features=features).SerializeToString())


def write_shard(path: Path, pairs: list[Pair]) -> ShardInfo:
    with tf.io.TFRecordWriter(str(path)) as writer:
        for pair in pairs:
            writer.write(example(pair))
    content = path.read_bytes()
    return ShardInfo(
        file=path.name,
        records=len(pairs),
        pairs=len(pairs),
        source_tokens=sum(len(source) for source, _ in pairs),
        target_tokens=sum(len(target) for _, target in pairs),
        bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., Path]:
    """Writes the files of a run that make_dataset reads: shards of ``train``, ``dataset.json`` and the vocabulary."""

    def write(shards: list[list[Pair]], **vocabulary_ids: int) -> Path:
        records, vocab = tmp_path / "records", tmp_path / "vocab"
        records.mkdir()
        vocab.mkdir()
        (vocab / "vocab.toy.5.subwords").write_bytes(VOCABULARY)
        vocabulary = VocabularyInfo(
            file="../vocab/vocab.toy.5.subwords",
            kind="t2t",
            size=5,
            sha256=hashlib.sha256(VOCABULARY).hexdigest(),
            fingerprint="",
            **({"pad_id": 0, "eos_id": 1} | vocabulary_ids),
        )
        infos = [
            write_shard(records / shard_name("toy", "train", number, len(shards)), pairs)
            for number, pairs in enumerate(shards)
        ]
        pairs = [pair for shard in shards for pair in shard]
        sources, targets = (Ragged.from_lists([pair[side] for pair in pairs]) for side in (0, 1))
        dataset = DatasetInfo(
            name="toy",
            config_fingerprint="",
            seed=1,
            languages=LanguageCodes(source="en", target="de"),
            vocab=Vocabularies(source=vocabulary, target=vocabulary),
            corpora={"train": (CorpusInfo(name="toy", pairs=len(pairs)),)},
            splits={"train": SplitInfo.of(PairStats.of(sources, targets), infos)},
        )
        write_dataset_info(records, dataset)
        return tmp_path

    return write
