"""Corpora to clean, and the results of the stage."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import nmt_prep
from nmt_prep.config import Config
from nmt_prep.pipeline.drivers import Share
from nmt_prep.runs import runner
from nmt_prep.stages.clean import Clean
from tests.corpus import tree
from tests.stages.runs import config_of, manifest, run

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


def made_in_three_ways(
    directory: Path, *corpora: dict[str, Any], divided: Callable[[], None] = lambda: None, **more: Any
) -> Config:
    """Cleans corpora with one worker, with two after ``divided`` made pieces smaller, and in shares.

    Returns the first config, once all three have the same results.
    """
    configs = [config_of(directory / str(number), *corpora, **more).within(directory) for number in range(3)]
    nmt_prep.run(configs[0], until="clean", workers=1)
    divided()
    nmt_prep.run(configs[1], until="clean", workers=2)
    nmt_prep.run(configs[2], until="compile")
    for each in Clean().rounds_for(configs[2]):
        for number in (1, 0) if each.shareable else ():
            runner.run_share(configs[2], Share(each.name, number, 2), workers=1)
    nmt_prep.run(configs[2], until="clean")
    assert len(list((configs[0].run_dir / "cleaned" / "train").iterdir())) > 2
    first, *others = map(results, configs)
    assert others == [first, first]
    return configs[0]


def results(config: Config) -> dict[str, Any]:
    found = {name: each for name, each in tree(config.run_dir).items() if name.startswith(("cleaned", "rejected"))}
    assert found
    made = manifest(config, "clean")
    return {**found, "observed": json.dumps(made.observed), "overlap": json.dumps(made.details["overlap"])}


def ran(config: Config, **options: Any) -> list[str]:
    return [outcome.stage for outcome in run(config, **options) if outcome.ran]


PAIRS = [("one two", "x"), ("", "y"), ("a b c d", "z"), ("e", "f g h i j"), ("k\u00a0 l", "m"), ("\u200bn\x07", "o")]
