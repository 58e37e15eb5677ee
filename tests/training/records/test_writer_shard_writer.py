from __future__ import annotations

import errno
import hashlib
import os
import resource
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.errors import OutputError, RecordsError
from nmt_prep.training.records import writer
from nmt_prep.training.records.dataset_json import IndexInfo, ShardInfo
from nmt_prep.training.records.shard_reader import read_shard
from nmt_prep.training.records.shuffle_plan import GlobalShuffle, ShardPlan
from nmt_prep.training.records.writer import SpillWriter, write_shards
from tests.conftest import examples
from tests.reference.shuffle import shard_contents
from tests.training.records.conftest import SEED, Pairs, columns, make_pairs, write_split


def test_the_bytes_never_change(tmp_path: Path) -> None:
    done = write_split(tmp_path / "records", [([5, 300, 1], [70_000, 1]), ([1], [-1, 2**31 - 1, 1])], shards=1)
    assert done.contents == [
        bytes.fromhex(
            "34000000000000005e33175c0a320a0f0a06696e7075747312051a030a01010a1f0a077461726765747312141a120a10"
            "ffffffffffffffffff01ffffffff0701ec4bc0792b00000000000000861bc34b0a290a120a06696e7075747312081a06"
            "0a0405ac02010a130a077461726765747312081a060a04f0a2040172a6fbfa"
        )
    ]
    index = (tmp_path / "records" / "index" / "toy-train-00000-of-00001.index").read_bytes()
    assert index == struct.pack("<6H4q8s2q", 1, 3, 0, 3, 2, 0, 0, 2, 2, 0, b"nmtindx1", 2, 1)
    assert done.shards == [
        ShardInfo(
            file="toy-train-00000-of-00001",
            records=2,
            pairs=2,
            source_tokens=4,
            target_tokens=5,
            bytes=len(done.contents[0]),
            sha256=hashlib.sha256(done.contents[0]).hexdigest(),
            index=IndexInfo(bytes=len(index), sha256=hashlib.sha256(index).hexdigest()),
        )
    ]


IDS = st.lists(st.one_of(st.integers(0, 300), st.integers(-(2**31), 2**31 - 1)), max_size=20)


@settings(max_examples=examples(40))
@given(
    st.lists(st.tuples(IDS, IDS), max_size=30),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(4, 12),
    st.integers(4, 12),
    st.sampled_from([1, 500, 1 << 20]),
)
def test_equals_the_reference_however_the_work_is_divided(
    new_directory: Callable[[], Path],
    pairs: Pairs,
    shards: int,
    buckets: int,
    task_pairs: int,
    batch: int,
    buffer_bytes: int,
) -> None:
    done = write_split(
        new_directory(),
        pairs,
        shards=shards,
        buckets=buckets,
        task_pairs=task_pairs,
        batch=batch,
        buffer_bytes=buffer_bytes,
    )
    assert done.contents == shard_contents(pairs, shards, SEED, "train")
    assert done.stats.pairs == len(pairs) == sum(shard.pairs for shard in done.shards)
    assert done.stats.source_tokens == sum(shard.source_tokens for shard in done.shards)
    assert done.stats.target_tokens == sum(shard.target_tokens for shard in done.shards)


def test_a_record_larger_than_a_chunk(tmp_path: Path) -> None:
    pairs = [([300] * 3_000_000 + [1], [1]), ([2, 1], [3, 1])]
    write_split(tmp_path / "records", pairs, shards=1)
    inputs, targets = read_shard(tmp_path / "records" / "toy-train-00000-of-00001")
    assert sorted(inputs.lengths.tolist()) == [2, 3_000_001]
    assert sorted(targets.to_lists()) == [[1], [3, 1]]


def make_spill(path: Path, plan: ShardPlan, pairs: Pairs, first: int = 0) -> Path:
    with SpillWriter(path, plan) as spill:
        spill.add(first, *columns(pairs))
        spill.close()
    return path


def test_a_missing_or_repeated_spill_file_is_found(tmp_path: Path) -> None:
    pairs = make_pairs(20)
    plan = ShardPlan(GlobalShuffle(20, SEED, "train"), 1)
    spills = [make_spill(tmp_path / "a", plan, pairs[:12]), make_spill(tmp_path / "b", plan, pairs[12:], 12)]
    with pytest.raises(RecordsError, match="do not cover positions 0 to 20 once: 8 of 20 records are missing"):
        write_shards([tmp_path / "shard"], plan, 0, spills[:1])
    with pytest.raises(RecordsError, match="two records have position"):
        write_shards([tmp_path / "shard"], plan, 0, [*spills, spills[1]])
    assert sorted(entry.name for entry in tmp_path.rglob("*") if entry.is_file()) == ["a", "b"]


def test_a_failing_write_is_an_output_error(tmp_path: Path) -> None:
    plan = ShardPlan(GlobalShuffle(20, SEED, "train"), 1)
    spill = make_spill(tmp_path / "spill", plan, make_pairs(20))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        with pytest.raises(OutputError, match=r"cannot write .*/shard: File too large"):
            write_shards([tmp_path / "shard"], plan, 0, [spill])
        with pytest.raises(OutputError, match=r"cannot write .*/again: File too large"):
            make_spill(tmp_path / "again", plan, make_pairs(20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [entry for entry in tmp_path.iterdir() if entry.is_file()] == [spill]
    assert list(tmp_path.rglob(".*")) == []


class Failing:
    """Makes the nth step of an atomic write fail."""

    def __init__(self, step: int, error: Callable[[], BaseException]) -> None:
        self.left = step
        self.error = error

    def wrap(self, monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
        original = getattr(owner, name)

        def call(*arguments: object, **options: object) -> object:
            self.left -= 1
            if self.left == 0:
                raise self.error()
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, call)


def no_space() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("error", [no_space, KeyboardInterrupt])
def test_a_failure_at_any_step_leaves_no_partial_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Callable[[], BaseException]
) -> None:
    pairs = make_pairs(20)
    plan = ShardPlan(GlobalShuffle(20, SEED, "train"), 1, 3)
    spill = make_spill(tmp_path / "spill", plan, pairs)
    expected = shard_contents(pairs, 1, SEED, "train")[0]
    shard = tmp_path / "shard"
    outcomes = []
    for step in range(1, 20):
        with monkeypatch.context() as patch:
            failing = Failing(step, error)
            for owner, name in [(writer, "Bucket"), (os, "open"), (os, "fsync"), (Path, "replace")]:
                failing.wrap(patch, owner, name)
            with suppress(KeyboardInterrupt, OutputError):
                write_shards([shard], plan, 0, [spill])
        outcomes.append(shard.exists())
        assert not shard.exists() or shard.read_bytes() == expected
        assert list(tmp_path.rglob(".*")) == []
        shard.unlink(missing_ok=True)
        if failing.left > 0:
            break
    # Three buckets, open and fsync of both files, two renames; then open and fsync of both directories, and no failure.
    assert outcomes == [False] * 9 + [True] * 5
