"""Samples of distinct pairs from parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_prep.cleaning.pair_sample import ALL, PairSample, sample_limits
from nmt_prep.corpora.parts import PairFile
from nmt_prep.stages.pair_sample import DrawnFiles, draw_samples, reader_of, select_round


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


def _sample(parts: Sequence[PairFile], most: int, seed: int, directory: Path) -> dict[str, DrawnFiles]:
    rounds = draw_samples(select_round("x"), {"train": parts}, {"train": most}, seed, directory)
    pending = next(rounds)
    with pytest.raises(StopIteration) as end:
        rounds.send([pending.round.work(task, lambda _: None) for task in pending.tasks])
    made: dict[str, dict[str, DrawnFiles]] = end.value.value
    return made["train"]


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


def _pairs(sample: dict[str, DrawnFiles]) -> list[tuple[str, str]]:
    distinct = PairSample.of(reader_of([*sample.values()]))
    assert distinct.keys.tolist() == sorted({*distinct.keys.tolist()})
    rows = [row for batch in distinct.batches() for row in batch.to_pylist()]
    pairs = [(row["source"], row["target"]) for row in rows]
    assert len(pairs) == len(distinct.keys)
    return pairs


PAIRS = [(f"source {chr(97 + n % 26)}{chr(97 + n // 26)}", f"target {chr(97 + n // 26)}") for n in range(300)]


def test_everything_once(tmp_path: Path) -> None:
    """Equal pairs, also those that differ only in case, are in the sample once, however they are divided into parts."""
    texts = {"a": [PAIRS[:200], PAIRS[100:]], "b": [[(source.upper(), target) for source, target in PAIRS]]}
    drawn = _sample(_parts(tmp_path, texts), 10_000, 7, tmp_path)
    assert sorted(_pairs(drawn)) == sorted(PAIRS)
    assert [(name, len(of.files), of.drawn, of.pairs, of.limit) for name, of in drawn.items()] == [
        ("a", 2, 400, 400, ALL),
        ("b", 1, 300, 300, ALL),
    ]


def test_same_for_any_parts(tmp_path: Path) -> None:
    one = _parts(tmp_path / "one", {"a": [PAIRS]})
    many = _parts(tmp_path / "many", {"a": [PAIRS[:1], PAIRS[1:150], PAIRS[150:]]})
    first, second, other = (
        sorted(_pairs(_sample(parts, 60, seed, parts[0].path.parent)))
        for parts, seed in ((one, 7), (many, 7), (one, 8))
    )
    assert first == second
    assert 40 <= len(first) <= 80
    assert other != first


def test_nothing(tmp_path: Path) -> None:
    assert _sample([], 10, 7, tmp_path) == {}
    drawn = _sample(_parts(tmp_path, {"a": [PAIRS[:20]]}), 0, 7, tmp_path)
    assert drawn == {"a": DrawnFiles((), 0, 20, 0)}
    assert _pairs(drawn) == []
