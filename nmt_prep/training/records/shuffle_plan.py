"""The global shuffle of a split, and the plan that assigns its positions to shards.

The shuffle is a uniform permutation of all pairs that can be computed for any row by itself. Shards are divided into
buckets that can be sorted within a memory limit.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import shuffle_positions, shuffle_rows_at

MAX_ROWS = 1 << 40
ROUNDS = 12

_VERSION = "nmt_prep global shuffle 1"


# A Feistel network (`core/records/shuffle.h`): rows are cells of a grid of at least `rows` cells, and each round adds a
# keyed hash of one coordinate to the other, which can be undone. A cell beyond the rows is moved again until it is
# inside ("cycle walking", Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002): still a bijection. So a
# shard can compute which rows it owns, and a task where its rows go, without a table or another task's work.
@dataclass(frozen=True)
class GlobalShuffle:
    """A bijection of ``[0, rows)`` from row indexes to positions, fixed by rows, seed and split.

    It needs no array of the split's size, and any worker can compute any part in any order. The values are part of the
    format: they never change for a given version of the shuffle.
    """

    rows: int  # pairs in the split, 0 to 2**40
    seed: int  # the config's seed
    split: str  # so that splits with the same seed differ

    def __post_init__(self) -> None:
        if not 0 <= self.rows <= MAX_ROWS:
            raise ValueError(f"a split has 0 to 2**40 pairs, got {self.rows}")

    @cached_property
    def keys(self) -> npt.NDArray[np.uint64]:
        """The round keys, uint64, shape ``[12]``: SHA-256 of version, seed, split and a block number."""
        stem = f"{_VERSION}\n{self.seed}\n{self.split}\n"
        blocks = [hashlib.sha256(f"{stem}{block}".encode()).digest() for block in range(ROUNDS // 4)]
        return np.frombuffer(b"".join(blocks), "<u8").astype(np.uint64)

    def positions(self, first_row: int, count: int) -> npt.NDArray[np.int64]:
        """Returns the positions of ``count`` consecutive rows, int64, shape ``[count]``."""
        return shuffle_positions(self.keys, self.rows, first_row, count)

    def rows_at(self, positions: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Returns the rows that were moved to the given positions, int64: the inverse of :meth:`positions`."""
        return shuffle_rows_at(self.keys, self.rows, np.ascontiguousarray(positions, np.int64))


@dataclass(frozen=True)
class CorpusOrder:
    """The shuffle that leaves all rows in place."""

    rows: int  # pairs in the split
    split: str  # name of the split

    @property
    def keys(self) -> npt.NDArray[np.uint64]:
        return np.zeros(ROUNDS, np.uint64)

    def positions(self, first_row: int, count: int) -> npt.NDArray[np.int64]:
        """Returns the positions of consecutive rows."""
        return np.arange(first_row, first_row + count)

    def rows_at(self, positions: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Returns the rows at some positions."""
        return np.asarray(positions, np.int64)


class Shuffle(Protocol):
    """A bijection from row numbers to positions, as :class:`GlobalShuffle` or one of whole documents."""

    @property
    def rows(self) -> int:
        """Pairs in the split."""

    @property
    def split(self) -> str:
        """Name of the split."""

    @property
    def keys(self) -> npt.NDArray[np.uint64]:
        """Keys that identify the shuffle."""

    def positions(self, first_row: int, count: int) -> npt.NDArray[np.int64]:
        """Returns the positions of consecutive rows."""

    def rows_at(self, positions: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Returns the rows at some positions."""


Layout: TypeAlias = Literal["example", "chunk", "packed", "text", "causal"]
"""Content of a record: one pair as a ``tf.train.Example``, about 256 pairs, about 256 pairs packed into rows, the
text of 256 pairs, or about 256 causal language model rows: their IDs, and the bounds of what counts for the loss.
"""

Payload: TypeAlias = Literal["example", "ids", "text"]
"""Content of a spilled record on both sides: the IDs as in an Example, the IDs, or the text as UTF-8."""

PAIRS_PER_BLOCK = 256  # Pairs per chunk, and per entry in a shard's index

MAX_SHARDS = 99_999
MAX_BUCKETS = 1 << 20

_SLACK = 1.1  # buckets hold equal numbers of records, not bytes


def shard_name(name: str, split: str, shard: int, shards: int) -> str:
    """Returns the file name of a shard, as in Tensor2Tensor: ``<name>-<split>-00000-of-00100``."""
    return f"{name}-{split}-{shard:05d}-of-{shards:05d}"


@dataclass(frozen=True)
class ShardPlan:
    """Shard s owns the positions ``[s * rows // shards, (s + 1) * rows // shards)``.

    A shard is divided in the same way into ``buckets_per_shard`` position ranges, each of which is sorted in memory.
    The number of buckets limits memory and does not change the shards' bytes: buckets are written in order.
    """

    shuffle: Shuffle  # maps rows to positions
    shards: int  # number of shards, at least 1; some are empty if there are fewer rows
    buckets_per_shard: int = 1  # at least 1
    layout: Layout = "example"  # format of the records; `text` if pairs are shuffled as text
    row_length: int = 256  # length of a row on either side, 1 to 1024, in layout `packed`
    columns: tuple[str, ...] = ()  # names of the columns beside the IDs, see `columns`
    # names and Arrow types of the other columns in records with layout `text`
    text_columns: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.shards <= MAX_SHARDS:
            raise ValueError(f"a split has 1 to {MAX_SHARDS} shards, got {self.shards}")
        if not 1 <= self.buckets_per_shard <= MAX_BUCKETS // self.shards:
            raise ValueError(
                f"{self.shards} shards of {self.buckets_per_shard} buckets; allowed are 1 to {MAX_BUCKETS} in all"
            )

    def divided(self, estimated_bytes: int, bucket_bytes: int) -> ShardPlan:
        """Returns the plan with as many buckets as the memory per bucket, ``bucket_bytes``, requires."""
        buckets = -(-int(estimated_bytes * _SLACK) // (self.shards * bucket_bytes))
        return replace(self, buckets_per_shard=min(max(buckets, 1), MAX_BUCKETS // self.shards))

    @property
    def rows(self) -> int:
        """Pairs in the split."""
        return self.shuffle.rows

    @property
    def payload(self) -> Payload:
        return self.layout if self.layout in ("example", "text") else "ids"

    @property
    def buckets(self) -> int:
        """The bucket count of all shards; shard s has the buckets from ``s * buckets_per_shard`` on."""
        return self.shards * self.buckets_per_shard

    def shard_range(self, shard: int) -> range:
        return range(shard * self.rows // self.shards, (shard + 1) * self.rows // self.shards)

    def bucket_range(self, bucket: int) -> range:
        shard, part = divmod(bucket, self.buckets_per_shard)
        owned = self.shard_range(shard)
        cuts = self.buckets_per_shard
        return owned[part * len(owned) // cuts : (part + 1) * len(owned) // cuts]
