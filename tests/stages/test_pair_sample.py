"""Samples of distinct pairs from parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_prep.corpora.parts import PairFile
from nmt_prep.pipeline.rounds import Rounds
from nmt_prep.stages.pair_sample import PairSample, SampleRounds, sample_limits

ALL = 1 << 64


@pytest.mark.parametrize(
    ("pairs", "most", "limits"),
    [
        ({}, 10, {}),
        ({"a": 5, "b": 3}, 8, {"a": ALL, "b": ALL}),
        ({"a": 100}, 25, {"a": ALL // 4}),
        ({"a": 1000, "b": 10, "c": 1000}, 110, {"a": ALL // 20, "b": ALL, "c": ALL // 20}),
        ({"a": 10, "b": 20}, 1, {"a": 0, "b": 0}),
    ],
)
def test_limits(pairs: dict[str, int], most: int, limits: dict[str, int]) -> None:
    assert sample_limits(pairs, most) == limits


def _drive(rounds: Rounds[dict[str, PairSample]]) -> dict[str, PairSample]:
    results: list[Any] | None = None
    try:
        pending = next(rounds)
        while True:
            results = [pending.round.work(task, lambda _: None) for task in pending.tasks]
            pending = rounds.send(results)
    except StopIteration as end:
        made: dict[str, PairSample] = end.value
        return made


def _parts(directory: Path, corpora: dict[str, Sequence[Sequence[tuple[str, str]]]]) -> list[PairFile]:
    parts = []
    for corpus, texts in corpora.items():
        for number, pairs in enumerate(texts):
            path = directory / f"{corpus}-{number}.parquet"
            path.parent.mkdir(exist_ok=True)
            columns = {"source": [pair[0] for pair in pairs], "target": [pair[1] for pair in pairs]}
            pq.write_table(pa.table(columns), path)
            parts.append(PairFile(str(path), len(pairs), corpus))
    return parts


def _drawn(sample: PairSample) -> list[list[tuple[str, str]]]:
    tables = [pq.read_table(path).to_pydict() for path in sample.shards]
    return [list(zip(table["source"], table["target"], strict=True)) for table in tables]


PAIRS = [(f"source {chr(97 + n % 26)}{chr(97 + n // 26)}", f"target {chr(97 + n // 26)}") for n in range(300)]


def test_everything_once(tmp_path: Path) -> None:
    """Equal pairs, also those that differ only in case, are in the sample once, however they are divided into parts."""
    texts = {"a": [PAIRS[:200], PAIRS[100:]], "b": [[(source.upper(), target) for source, target in PAIRS]]}
    drawn = _drive(
        SampleRounds("x").draw({"train": _parts(tmp_path, texts)}, {"train": 10_000}, lambda _: 1, 7, tmp_path)
    )["train"]
    assert drawn.pairs == (300,)
    assert sorted(_drawn(drawn)[0]) == sorted(PAIRS)
    assert drawn.limits == {"a": ALL, "b": ALL}
    assert {name: len(files) for name, files in drawn.selected.items()} == {"a": 2, "b": 1}


def test_same_for_any_parts(tmp_path: Path) -> None:
    one = _parts(tmp_path / "one", {"a": [PAIRS]})
    many = _parts(tmp_path / "many", {"a": [PAIRS[:1], PAIRS[1:150], PAIRS[150:]]})
    first, second, other = (
        _drawn(
            _drive(SampleRounds("x").draw({"train": parts}, {"train": 60}, lambda _: 2, seed, parts[0].path.parent))[
                "train"
            ]
        )
        for parts, seed in ((one, 7), (many, 7), (one, 8))
    )
    assert first == second
    assert 40 <= sum(map(len, first)) <= 80
    assert other != first


def test_shards(tmp_path: Path) -> None:
    parts = _parts(tmp_path, {"a": [PAIRS[:170], PAIRS[130:]]})
    drawn = _drive(SampleRounds("x").draw({"train": parts}, {"train": 10_000}, lambda _: 4, 7, tmp_path))["train"]
    assert len(drawn.shards) == 4
    assert all(50 <= pairs <= 100 for pairs in drawn.pairs)
    assert sum(drawn.pairs) == 300
    assert sorted(pair for shard in _drawn(drawn) for pair in shard) == sorted(PAIRS)
    for path in drawn.shards:
        orders = pq.read_table(path)["order"].to_numpy()
        assert (np.diff(orders.astype(np.float64)) > 0).all()


def test_nothing(tmp_path: Path) -> None:
    assert _drive(SampleRounds("x").draw({"train": []}, {"train": 10}, lambda _: 1, 7, tmp_path))[
        "train"
    ] == PairSample((), (), {}, {})
