"""Corpora to clean, and what the stage makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from nmt_prep.config import Config
from tests.stages.runs import run

COLUMNS = ("source", "target", "corpus", "row")
NONE = {"preset": "none"}
SHORT = {**NONE, "rules": {"length": {"unit": "token", "max": 3}}, "rejects": "all"}


def write(directory: Path, name: str, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Writes a corpus of two plain files; returns its entry in a config."""
    for side, lines in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        (directory / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))
    return {"name": name, "url": {"source": f"{name}.source", "target": f"{name}.target"}}


def numbered(count: int, prefix: str = "") -> list[tuple[str, str]]:
    """Pairs of one to five words."""
    return [(f"{prefix}{n} " + "w " * (n % 5), f"{prefix}{n}") for n in range(count)]


def cleaned(config: Config, split: str = "train") -> list[tuple[str, str]]:
    return pairs_below(config, "cleaned", split, "source", "target")


def rejected(config: Config, split: str = "train") -> list[tuple[Any, ...]]:
    return pairs_below(config, "rejected", split, "source", "corpus", "row", "rule", "value", "threshold")


def pairs_below(config: Config, directory: str, split: str, *columns: str) -> list[tuple[Any, ...]]:
    paths = sorted((config.run_dir / directory / split).glob("part-*.parquet"))
    return [tuple(row[name] for name in columns) for path in paths for row in pq.read_table(path).to_pylist()]


def ran(config: Config, **options: Any) -> list[str]:
    return [outcome.stage for outcome in run(config, **options) if outcome.ran]


PAIRS = [("one two", "x"), ("", "y"), ("a b c d", "z"), ("e", "f g h i j"), ("k\u00a0 l", "m"), ("\u200bn\x07", "o")]
