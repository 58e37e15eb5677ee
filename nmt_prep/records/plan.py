"""Assigns positions to shards, and divides shards into buckets that can be sorted within a memory limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from nmt_prep.records.shuffle import GlobalShuffle

Layout: TypeAlias = Literal["example", "chunk", "packed"]
"""Content of a record: one pair as a ``tf.train.Example``, about 256 pairs, or about 256 pairs packed into rows."""

PAIRS_PER_BLOCK = 256
"""Pairs of a chunk, and of each entry of a shard's index."""

MAX_SHARDS = 99_999
MAX_BUCKETS = 1 << 20

_SLACK = 1.1  # buckets hold equal numbers of records, not of bytes


def shard_name(name: str, split: str, shard: int, shards: int) -> str:
    """Returns the file name of a shard, as in Tensor2Tensor: ``<name>-<split>-00000-of-00100``."""
    return f"{name}-{split}-{shard:05d}-of-{shards:05d}"


@dataclass(frozen=True)
class ShardPlan:
    """Shard s owns the positions ``[s * rows // shards, (s + 1) * rows // shards)``.

    A shard is divided likewise into ``buckets_per_shard`` ranges of positions, each sorted in memory by itself. The
    number of buckets limits memory and does not change the shards' bytes.

    Attributes:
        shuffle: maps rows to positions.
        shards: number of shards, at least 1; some are empty if there are fewer rows.
        buckets_per_shard: at least 1.
        layout: format of the records.
        row_length: length of a row on either side, 1 to 1024, in layout ``packed``.

    Raises:
        ValueError: more than 99,999 shards or 2**20 buckets, or fewer than one.
    """

    shuffle: GlobalShuffle
    shards: int
    buckets_per_shard: int = 1
    layout: Layout = "example"
    row_length: int = 256

    def __post_init__(self) -> None:
        if not 1 <= self.shards <= MAX_SHARDS:
            raise ValueError(f"a split has 1 to {MAX_SHARDS} shards, got {self.shards}")
        if not 1 <= self.buckets_per_shard <= MAX_BUCKETS // self.shards:
            raise ValueError(
                f"{self.shards} shards of {self.buckets_per_shard} buckets; allowed are 1 to {MAX_BUCKETS} in all"
            )

    @classmethod
    def within(
        cls,
        shuffle: GlobalShuffle,
        shards: int,
        *,
        estimated_bytes: int,
        bucket_bytes: int,
        layout: Layout = "example",
        row_length: int = 256,
    ) -> ShardPlan:
        """Chooses the number of buckets for a memory limit per bucket.

        Args:
            shuffle: maps rows to positions.
            shards: number of shards.
            estimated_bytes: expected size of all shards together; a wrong estimate only costs memory or speed.
            bucket_bytes: memory for one bucket, in bytes.
            layout: as for the class.
            row_length: as for the class.

        Raises:
            ValueError: as for the class, or ``bucket_bytes`` is not positive.
        """
        if bucket_bytes < 1:
            raise ValueError(f"a bucket needs memory, got {bucket_bytes} bytes")
        buckets = -(-int(estimated_bytes * _SLACK) // (shards * bucket_bytes)) if shards > 0 else 1
        return cls(shuffle, shards, min(max(buckets, 1), max(MAX_BUCKETS // max(shards, 1), 1)), layout, row_length)

    @property
    def rows(self) -> int:
        """Pairs in the split."""
        return self.shuffle.rows

    @property
    def buckets(self) -> int:
        """Buckets of all shards; those of shard s are ``s * buckets_per_shard`` and the following."""
        return self.shards * self.buckets_per_shard

    def shard_range(self, shard: int) -> range:
        """Returns the positions that a shard owns."""
        return range(shard * self.rows // self.shards, (shard + 1) * self.rows // self.shards)

    def bucket_range(self, bucket: int) -> range:
        """Returns the positions that a bucket owns."""
        shard, part = divmod(bucket, self.buckets_per_shard)
        owned = self.shard_range(shard)
        cuts = self.buckets_per_shard
        return owned[part * len(owned) // cuts : (part + 1) * len(owned) // cuts]
