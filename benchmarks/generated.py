"""Generated parallel text of any size, and a config over it, for benchmarks that run the whole pipeline."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from toy_corpus.grammar import Grammar

SIDES = ("source", "target")


def write_generated(directory: Path, size: int) -> tuple[int, int]:
    """Writes about ``size`` bytes of text to the files ``source`` and ``target``; returns their pairs and bytes."""
    pairs = written = 0
    with (directory / "source").open("wb") as source, (directory / "target").open("wb") as target:
        for lines in Grammar(1).pairs():
            written += sum(file.write(f"{line}\n".encode()) for file, line in zip((source, target), lines, strict=True))
            pairs += 1
            if written >= size:
                return pairs, written
    raise AssertionError("the grammar has no end")


def settings(root: Path, kind: str) -> dict[str, Any]:
    """Returns a config with one corpus and a realistic number of shards."""
    return {
        "name": "benchmark",
        "languages": {"source": "en", "target": "zh"},
        "output_dir": str(root / "run"),
        "seed": 1,
        "splits": {"train": [{"name": "x", "format": "plain", "url": {side: str(root / side) for side in SIDES}}]},
        "vocab": {"kind": kind},
        "records": {"shards": {"train": 20}},
    }
