"""Second half of the external shuffle: gathers a shard's buckets from all spill files and sorts them by position."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import Bucket, ChunkWriter

from nmt_prep.artefacts import atomic_write
from nmt_prep.errors import RecordsError
from nmt_prep.records.dataset_json import IndexInfo, ShardInfo
from nmt_prep.records.index import IndexWriter, index_path
from nmt_prep.records.plan import PAIRS_PER_BLOCK, ShardPlan
from nmt_prep.records.spill import SpillReader

_COPY_BYTES = 4 << 20


def write_shard(path: str | Path, plan: ShardPlan, shard: int, spills: Sequence[str | Path]) -> ShardInfo:
    """Writes one shard, the pairs at its positions as records of the plan's layout, and its index.

    The pairs are in order of position; in layout ``packed`` each 16,384 of them are in the order of their rows. The
    bytes only depend on the pairs, the shuffle, the number of shards and the layout. Needs memory for one bucket and
    some MiB. Both files are written atomically, the shard last.

    Args:
        path: the shard's final name, see :func:`~nmt_prep.records.plan.shard_name`.
        plan: the plan of the spill files.
        shard: number of the shard.
        spills: the spill files of all tasks of the split, in any order.

    Returns:
        The entry of the shard in ``dataset.json``.

    Raises:
        RecordsError: a spill file is missing or damaged, or together they lack or repeat a pair.
        OutputError: the shard or its index cannot be written.
    """
    path = Path(path)
    buckets = _buckets(path, plan, shard, [SpillReader(spill, plan, shard) for spill in spills])
    output = _Output()
    with (
        atomic_write(path) as beside,
        beside.open("wb") as file,
        atomic_write(index_path(path)) as beside_index,
        beside_index.open("wb") as index_file,
    ):
        output.open(file, index_file)
        if plan.layout == "example":
            output.write_examples(buckets)
        else:
            output.write_chunks(buckets, plan.row_length if plan.layout == "packed" else 0)
        index_bytes, index_digest = output.index.finish()
    return ShardInfo(
        file=path.name,
        records=output.records,
        pairs=len(plan.shard_range(shard)),
        rows=output.rows,
        source_tokens=output.source_tokens,
        target_tokens=output.target_tokens,
        bytes=output.size,
        sha256=output.digest.hexdigest(),
        index=IndexInfo(bytes=index_bytes, sha256=index_digest),
    )


class _Output:
    """A shard and its index while they are written, and the counts for ``dataset.json``."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.records = self.rows = self.size = self.source_tokens = self.target_tokens = 0

    def open(self, file: BinaryIO, index_file: BinaryIO) -> None:
        self._file = file
        self.index = IndexWriter(index_file)

    def write_examples(self, buckets: Iterator[Bucket]) -> None:
        """Writes a record per pair, as in the spill files; 256 records are a block of the index."""
        space = np.empty(_COPY_BYTES, np.uint8)
        starts = [np.empty(0, np.int64)]
        for bucket in buckets:
            if len(space) < bucket.largest:
                space = np.empty(bucket.largest, np.uint8)
            sizes, pairs = bucket.index()
            starts.append((self.size + np.cumsum(sizes) - sizes)[-self.records % PAIRS_PER_BLOCK :: PAIRS_PER_BLOCK])
            self.index.add_pairs(pairs)
            self.records += len(sizes)
            while copied := bucket.copy(space):
                self._write(space[:copied])
            self._count(bucket)
        first = np.concatenate(starts)
        pairs_of = np.minimum(PAIRS_PER_BLOCK, self.records - PAIRS_PER_BLOCK * np.arange(len(first)))
        self.index.add_blocks(np.stack([first, pairs_of, pairs_of, np.zeros_like(first)], axis=1))

    def write_chunks(self, buckets: Iterator[Bucket], row_length: int) -> None:
        """Writes records of about 256 pairs, in rows unless ``row_length`` is 0; each is a block of the index."""
        writer = ChunkWriter(PAIRS_PER_BLOCK, row_length)
        for bucket in buckets:
            writer.add(bucket)
            self._count(bucket)
            self._take(writer)
        writer.finish()
        self._take(writer)

    def _take(self, writer: ChunkWriter) -> None:
        frames, flat, pairs = writer.take()
        sizes, pairs_of, rows_of = flat.reshape(-1, 3).T
        first = self.size + np.cumsum(sizes) - sizes
        self.index.add_pairs(pairs)
        self.index.add_blocks(np.stack([first, np.ones_like(first), pairs_of, rows_of], axis=1))
        self.records += len(sizes)
        self.rows += int(rows_of.sum())
        self._write(frames)

    def _count(self, bucket: Bucket) -> None:
        self.source_tokens += bucket.source_tokens
        self.target_tokens += bucket.target_tokens

    def _write(self, data: npt.NDArray[np.uint8]) -> None:
        self.digest.update(data.data)
        self._file.write(data.data)
        self.size += len(data)


def _buckets(path: Path, plan: ShardPlan, shard: int, readers: Sequence[SpillReader]) -> Iterator[Bucket]:
    """Yields a shard's buckets in order; each is overwritten when the next one is requested."""
    numbers = range(shard * plan.buckets_per_shard, (shard + 1) * plan.buckets_per_shard)
    space = np.empty(max(sum(reader.bucket_bytes(number) for reader in readers) for number in numbers), np.uint8)
    for number in numbers:
        yield _gather(path, plan, number, readers, space)


def _gather(
    path: Path, plan: ShardPlan, number: int, readers: Sequence[SpillReader], space: npt.NDArray[np.uint8]
) -> Bucket:
    """Reads one bucket's records from all spill files into ``space``, which is reused for the next."""
    end = 0
    for reader in readers:
        start, end = end, end + reader.bucket_bytes(number)
        reader.read_bucket(number, space[start:end].data)
    positions = plan.bucket_range(number)
    try:
        return Bucket(space[:end], positions.start, positions.stop, plan.layout != "example")
    except RuntimeError as error:
        raise RecordsError(
            f"{path}: the spill files do not cover positions {positions.start} to {positions.stop} once: {error}; "
            "pass every task's spill file once, or delete them and run the encode stage again"
        ) from error
