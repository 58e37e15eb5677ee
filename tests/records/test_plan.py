from __future__ import annotations

import pytest

from nmt_prep.records import GlobalShuffle, ShardPlan, shard_name


def plan(rows: int, shards: int, buckets: int = 1) -> ShardPlan:
    return ShardPlan(GlobalShuffle(rows, 1, "train"), shards, buckets)


def test_names_are_those_of_tensor2tensor() -> None:
    assert shard_name("enzh_wmt18", "train", 7, 100) == "enzh_wmt18-train-00007-of-00100"


def test_shards_and_buckets_share_the_rows_evenly() -> None:
    cut = plan(10, 3, 2)
    assert [cut.shard_range(shard) for shard in range(3)] == [range(3), range(3, 6), range(6, 10)]
    assert [cut.bucket_range(bucket) for bucket in range(6)] == [
        range(1),
        range(1, 3),
        range(3, 4),
        range(4, 6),
        range(6, 8),
        range(8, 10),
    ]


def test_fewer_rows_than_shards_leave_some_empty() -> None:
    assert [len(plan(2, 5).shard_range(shard)) for shard in range(5)] == [0, 0, 1, 0, 1]


def test_buckets_follow_the_memory_share() -> None:
    shuffle = GlobalShuffle(1_000, 1, "train")
    assert ShardPlan.within(shuffle, 10, estimated_bytes=10_000, bucket_bytes=100).buckets_per_shard == 11
    assert ShardPlan.within(shuffle, 10, estimated_bytes=0, bucket_bytes=100).buckets_per_shard == 1
    assert ShardPlan.within(shuffle, 10, estimated_bytes=1 << 60, bucket_bytes=1).buckets_per_shard == 104_857


@pytest.mark.parametrize(("shards", "buckets"), [(0, 1), (100_000, 1), (1, 0), (1_024, 1_025)])
def test_refuses_impossible_numbers(shards: int, buckets: int) -> None:
    with pytest.raises(ValueError, match="shards"):
        plan(10, shards, buckets)


def test_refuses_no_memory() -> None:
    with pytest.raises(ValueError, match="a bucket needs memory, got 0 bytes"):
        ShardPlan.within(GlobalShuffle(10, 1, "train"), 1, estimated_bytes=1, bucket_bytes=0)
