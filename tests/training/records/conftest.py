"""Fixtures that write a small split."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from nmt_prep.base.columns import Ragged
from nmt_prep.training.records.dataset_json import PairStats, ShardInfo
from nmt_prep.training.records.shuffle_plan import GlobalShuffle, ShardPlan, shard_name
from nmt_prep.training.records.writer import SpillWriter, write_shards

Pairs = list[tuple[list[int], list[int]]]

SEED = 1


def make_pairs(count: int) -> Pairs:
    """Returns distinct pairs of rows of IDs, which take one to three bytes; each row ends in 1."""
    return [([2 + i, 130 + i, *range(7 * (i % 5)), 1], [20_000 + i, *[i] * (i % 4), 1]) for i in range(count)]


def columns(pairs: Pairs) -> tuple[Ragged, Ragged]:
    return Ragged.from_lists([a for a, _ in pairs]), Ragged.from_lists([b for _, b in pairs])


def lengths_of(pairs: Pairs) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    return np.array([len(a) for a, _ in pairs], np.int64), np.array([len(b) for _, b in pairs], np.int64)


@dataclass(frozen=True)
class Written:
    stats: PairStats
    shards: list[ShardInfo]
    contents: list[bytes]


def write_split(
    directory: Path,
    pairs: Pairs,
    *,
    shards: int = 3,
    buckets: int = 1,
    task_pairs: int = 1_000,
    batch: int = 1_000,
    buffer_bytes: int = 1 << 20,
) -> Written:
    """Runs both phases with the work divided as given; tasks run in descending order."""
    directory.mkdir(exist_ok=True)
    plan = ShardPlan(GlobalShuffle(len(pairs), SEED, "train"), shards, buckets)
    stats, spills = PairStats(), []
    for start in reversed(range(0, max(len(pairs), 1), task_pairs)):
        spills.append(directory / f"spill-{start}")
        with SpillWriter(spills[-1], plan, buffer_bytes=buffer_bytes) as spill:
            end = min(start + task_pairs, len(pairs))
            for first in range(start, end, batch):
                spill.add(first, *columns(pairs[first : min(first + batch, end)]))
            stats += spill.close()
    paths = [directory / shard_name("toy", "train", shard, shards) for shard in range(shards)]
    infos = write_shards(paths, plan, 0, spills)
    for spill_path in spills:
        spill_path.unlink()
    return Written(stats, infos, [path.read_bytes() for path in paths])


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return write_split(tmp_path / "records", make_pairs(50))
