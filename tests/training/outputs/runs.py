"""Runs with outputs over the small corpus, and what their files must hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nmt_prep
from nmt_prep.config import Config
from nmt_prep.training.records.dataset_json import load_dataset_info
from nmt_prep.training.records.shard_reader import read_shard
from tests.corpus import corpus_config, write_corpus

SENTENCEPIECE = {"kind": "sentencepiece", "size": 120, "model_type": "bpe"}


def output_config(place: Path, *outputs: dict[str, Any], run: str = "run", **changes: Any) -> Config:
    """Returns a config with outputs; its records have 3 shards for train and 1 for dev."""
    config = corpus_config(place / run, outputs=list(outputs), **{"vocab": {"size": 200}, **changes})
    return config.within(place)


def run_outputs(place: Path, *outputs: dict[str, Any], pairs: int = 60, **changes: Any) -> Path:
    """Runs such a config; returns the directory ``outputs``."""
    write_corpus(place, pairs)
    nmt_prep.run(output_config(place, *outputs, **changes), workers=2, until="outputs")
    return place / str(changes.get("run", "run")) / "outputs"


def recorded_ids(run: Path, split: str = "train") -> tuple[list[list[int]], list[list[int]]]:
    """Returns the IDs of both sides in the order of the records."""
    info = load_dataset_info(run / "records")
    sides: tuple[list[list[int]], list[list[int]]] = ([], [])
    for shard in info.splits[split].shards:
        for side, rows in zip(sides, read_shard(run / "records" / shard.file, info.layout), strict=True):
            side.extend(rows.to_lists())
    return sides
