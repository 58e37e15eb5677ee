from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import nmt_prep
from nmt_prep.errors import ConfigError
from nmt_prep.records import PairBatch, read_records

Pair = tuple[list[int], list[int]]
PAIRS: list[Pair] = [([100 + i, *[2] * (i * 7 % 20), 1], [100 + i, *[3] * (i * 5 % 19), 1]) for i in range(1200)]


def pairs_in(batches: list[PairBatch]) -> list[Pair]:
    return [pair for batch in batches for pair in zip(batch.source.to_lists(), batch.target.to_lists(), strict=True)]


def same(batches: list[PairBatch], others: list[PairBatch]) -> bool:
    return list(map(pairs_in, ([b] for b in batches))) == list(map(pairs_in, ([b] for b in others)))


@pytest.mark.parametrize(("layout", "workers"), [("example", 1), ("chunk", 3), ("packed", 8)])
def test_workers_share_every_pair(encode_run: Callable[..., Path], layout: str, workers: int) -> None:
    run = encode_run({"a": PAIRS}, layout)
    parts = [
        list(nmt_prep.read_records(run, "train", batch_tokens=300, num_shards=workers, shard_index=worker, seed=3))
        for worker in range(workers)
    ]
    assert sorted(pair for part in parts for pair in pairs_in(part)) == sorted(PAIRS)
    for batch in (batch for part in parts for batch in part):
        assert len(batch.source) * max(*batch.source.lengths, *batch.target.lengths) <= 300


def test_an_epoch_goes_on_at_any_batch(encode_run: Callable[..., Path]) -> None:
    run = encode_run({"a": PAIRS})
    whole = list(read_records(run, "train", batch_size=7, seed=1, epoch=2))
    for step in (0, 1, 50, len(whole) - 1, len(whole)):
        assert same(list(read_records(run, "train", batch_size=7, seed=1, epoch=2, skip_batches=step)), whole[step:])
    assert not same(whole, list(read_records(run, "train", batch_size=7, seed=1, epoch=3)))


def test_too_long_pairs_and_equal_numbers(encode_run: Callable[..., Path]) -> None:
    run = encode_run({"a": PAIRS})
    short = [pair for pair in PAIRS if max(map(len, pair)) <= 10]
    assert sorted(pairs_in(list(read_records(run, "train", max_length=10)))) == sorted(short)
    cut = [(source[:10], target[:10]) for source, target in PAIRS]
    assert sorted(pairs_in(list(read_records(run, "train", max_length=10, too_long="truncate")))) == sorted(cut)
    sizes = {
        len(list(read_records(run, "train", batch_tokens=200, num_shards=5, shard_index=w, equal_batches=True)))
        for w in range(5)
    }
    assert len(sizes) == 1


def test_numbers_out_of_range(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="batch_size is 0; it must be at least 1"):
        read_records(tmp_path, "train", batch_size=0)
    with pytest.raises(ConfigError, match="it must be from 0 to 1"):
        read_records(tmp_path, "train", num_shards=2, shard_index=2)
