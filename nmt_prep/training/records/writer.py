"""The external shuffle. Each task writes its pairs to a spill file; from all spill files, shards are gathered in order.

A spill file holds groups of spilled records (see ``core/records/spill.h``), each for one bucket. Then come the index
and a trailer that identifies the plan. The index holds the first entry's index per bucket (int64, ``[buckets + 1]``)
and the entries in bucket order (int64, ``[entries, 2]``: offset and byte count of a group). For a shard, each of its
buckets is gathered from all spill files and sorted by position.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import Bucket, ChunkWriter, SpillBuffer

from nmt_prep.base.artefacts import FlushingWriter, atomic_write, atomic_writes, writing
from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.base.digests import HashedFile
from nmt_prep.base.errors import RecordsError
from nmt_prep.training.records.dataset_json import IndexInfo, PairStats, ShardInfo
from nmt_prep.training.records.record_columns import SATURATED, IndexWriter, index_path
from nmt_prep.training.records.shuffle_plan import PAIRS_PER_BLOCK, GlobalShuffle, ShardPlan
from nmt_prep.training.records.text_records import Columns, blocks_of, text_schema

_MAGIC = b"nmtspil3"
_TRAILER = struct.Struct("<8s5q96s")
"""Magic, payload kind, rows, shards, buckets per shard, entries, keys of the shuffle."""

FrameIds: TypeAlias = "tuple[Sequence[int], Sequence[int]]"  # The IDs that a frame puts before and after a row

_PAYLOADS = ("example", "ids", "text")


# A shuffle of more pairs than fit in memory, in two passes over the disk and without random access (as in MapReduce).
# Pass 1: each task sends every pair to the bucket of its position; a full buffer is written as one group per bucket.
# Pass 2: a bucket is read from all spill files, sorted by position, and written. So memory is one buffer per task, then
# one bucket per shard. Spilled records carry their position and a checksum, and a bucket checks that it has each of its
# positions once: a lost, repeated or foreign spill file is found instead of shifting pairs.
class SpillWriter:
    """Writes the spill file of one task, batch by batch.

    :meth:`close` installs the complete file atomically; leaving the ``with`` block without it leaves no file.

    Args:
        path: the spill file.
        frames: for each side, the IDs before and after every row; source first.
        buffer_bytes: records are buffered up to this size, then grouped and written; a task needs about twice this
            memory plus a batch.
    """

    def __init__(
        self,
        path: str | Path,
        plan: ShardPlan,
        *,
        frames: tuple[FrameIds, FrameIds] = (((), ()), ((), ())),
        buffer_bytes: int = 32 << 20,
    ) -> None:
        self._path = Path(path)
        self._plan = plan
        self._buffer_bytes = buffer_bytes
        self._expected = buffer_bytes + buffer_bytes // 8  # a buffer is flushed when it is full, after a batch
        self._buffer = SpillBuffer(
            plan.shuffle.keys, plan.rows, plan.shards, plan.buckets_per_shard, plan.payload, self._expected, *frames
        )
        self._frame_sizes = [sum(map(len, frame)) for frame in frames]
        self._grouped = np.empty(0, np.uint8)
        self._segments: list[npt.NDArray[np.int64]] = []
        self._stats = PairStats()
        self._stack = ExitStack()
        beside = self._stack.enter_context(atomic_write(self._path))
        with writing(self._path):
            file = self._stack.enter_context(beside.open("wb"))
        self._file = self._stack.enter_context(FlushingWriter(file))

    def add(self, first_row: int, inputs: Ragged, targets: Ragged, corpus: int = 0) -> PairStats:
        """Adds pairs from consecutive rows in one corpus; returns their counts, frames included."""
        columns = inputs.values, inputs.offsets, targets.values, targets.offsets
        self._buffer.add(first_row, *columns, corpus, self._positions(first_row, inputs))
        source, target = self._frame_sizes
        stats = PairStats.of(inputs.lengths + source, targets.lengths + target)
        self._stats += stats
        self._flush_if_full()
        return stats

    def add_text(
        self, first_row: int, inputs: pa.Array, targets: pa.Array, corpus: int = 0, stats: PairStats | None = None
    ) -> None:
        """Adds pairs as text, for layout ``text``; ``stats`` are their counts, None counts only pairs."""
        source, target = TextColumn.from_arrow(inputs), TextColumn.from_arrow(targets)
        columns = source.data, source.offsets, target.data, target.offsets
        self._buffer.add_text(first_row, *columns, corpus, self._positions(first_row, inputs))
        self._stats += PairStats(pairs=len(inputs)) if stats is None else stats
        self._flush_if_full()

    def _positions(self, first_row: int, rows: Sized) -> npt.NDArray[np.int64] | None:
        """Returns the positions of rows, or None for the shuffle of pairs, which the buffer computes itself."""
        shuffle = self._plan.shuffle
        return None if isinstance(shuffle, GlobalShuffle) else shuffle.positions(first_row, len(rows))

    def _flush_if_full(self) -> None:
        if self._buffer.held >= self._buffer_bytes:
            with writing(self._path):
                self._flush()

    def close(self) -> PairStats:
        """Completes and installs the file; returns the counts of all added pairs."""
        with self._stack:
            self._flush()
            segments = np.concatenate([np.empty((0, 3), np.int64), *self._segments])
            segments = segments[np.argsort(segments[:, 0], kind="stable")]
            starts = np.searchsorted(segments[:, 0], np.arange(self._plan.buckets + 1))
            self._file.write(starts.astype("<i8").tobytes())
            self._file.write(segments[:, 1:].astype("<i8").tobytes())
            self._file.write(_trailer(self._plan, len(segments)))
        return self._stats

    def _flush(self) -> None:
        size = self._buffer.bytes
        if len(self._grouped) < size:
            self._grouped = np.empty(max(size, self._expected), np.uint8)
        segments = self._buffer.drain(self._grouped).reshape(-1, 3)
        segments[:, 1] += self._file.tell()
        self._segments.append(segments)
        self._file.write(self._grouped[:size].data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(_DiscardError), self._stack:  # empty after close
            raise _DiscardError


class _DiscardError(Exception):
    """Raised into :func:`atomic_write` to remove an unfinished file."""


class SpillReader:
    """Reads one shard's part of one spill file."""

    def __init__(self, path: str | Path, plan: ShardPlan, shard: int) -> None:
        self._path = Path(path)
        self._first_bucket = shard * plan.buckets_per_shard
        try:
            with self._path.open("rb", buffering=0) as file:
                self._starts, self._entries = _read_index(file, plan, self._first_bucket)
        except (OSError, EOFError, ValueError) as error:
            raise _damaged(self._path, error) from error

    def bucket_bytes(self, bucket: int) -> int:
        return int(self._of(bucket)[:, 1].sum())

    def read_bucket(self, bucket: int, out: memoryview) -> None:
        """Fills ``out``, which has :meth:`bucket_bytes` bytes, with the spilled records of a bucket."""
        try:
            with self._path.open("rb", buffering=0) as file:
                for offset, size in self._of(bucket).tolist():
                    _read_exactly(file, offset, out[:size])
                    out = out[size:]
        except (OSError, EOFError) as error:
            raise _damaged(self._path, error) from error

    def _of(self, bucket: int) -> npt.NDArray[np.int64]:
        at = bucket - self._first_bucket
        return self._entries[self._starts[at] : self._starts[at + 1]]


def _trailer(plan: ShardPlan, entries: int) -> bytes:
    keys = plan.shuffle.keys.astype("<u8").tobytes()
    payload = _PAYLOADS.index(plan.payload)
    return _TRAILER.pack(_MAGIC, payload, plan.rows, plan.shards, plan.buckets_per_shard, entries, keys)


def _read_index(
    file: BinaryIO, plan: ShardPlan, first_bucket: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns starts and entries of a shard's buckets; starts are relative to the shard's first entry."""
    size = file.seek(0, 2)
    trailer = bytearray(_TRAILER.size)
    _read_exactly(file, size - len(trailer), memoryview(trailer))
    # The trailer that this plan gives must be there to the byte. Then the offsets of the index follow from the file's
    # size alone; every number read there is still bounded, as the file may be damaged or hostile.
    entries = _TRAILER.unpack(trailer)[5]
    if entries < 0 or trailer != _trailer(plan, entries):
        raise ValueError("it was not written under this plan")
    index = size - len(trailer) - 16 * entries - 8 * (plan.buckets + 1)
    starts = np.empty(plan.buckets_per_shard + 1, "<i8")
    _read_exactly(file, index + 8 * first_bucket, starts.data.cast("B"))
    first, last = int(starts[0]), int(starts[-1])
    if not 0 <= first <= last <= entries or (np.diff(starts) < 0).any():
        raise ValueError("its index is damaged")
    entries = np.empty((last - first, 2), "<i8")
    if len(entries):
        _read_exactly(file, index + 8 * (plan.buckets + 1) + 16 * first, entries.data.cast("B"))
    if (entries < 0).any() or (entries > index).any():
        raise ValueError("its index is damaged")
    return starts - first, entries


def _read_exactly(file: BinaryIO, offset: int, out: memoryview) -> None:
    if offset < 0:
        raise EOFError("it is cut short")
    file.seek(offset)
    while out:
        count = file.readinto(out)  # type: ignore[attr-defined]
        if not count:
            raise EOFError("it is cut short")
        out = out[count:]


def _damaged(path: Path, error: Exception) -> RecordsError:
    return RecordsError(f"{path}: not a usable spill file: {error}; delete it and run again")


def shard_buckets(path: str | Path, plan: ShardPlan, shard: int, spills: Sequence[str | Path]) -> Iterator[Bucket]:
    """Yields a shard's buckets in order; each is overwritten when the next one is requested."""
    readers = [SpillReader(spill, plan, shard) for spill in spills]
    numbers = range(shard * plan.buckets_per_shard, (shard + 1) * plan.buckets_per_shard)
    space = np.empty(max(sum(reader.bucket_bytes(number) for reader in readers) for number in numbers), np.uint8)
    for number in numbers:
        yield _gather(Path(path), plan, number, readers, space)


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
        return Bucket(space[:end], positions.start, positions.stop, plan.payload)
    except RuntimeError as error:
        raise RecordsError(
            f"{path}: the spill files do not cover positions {positions.start} to {positions.stop} once: {error}; "
            "pass every task's spill file once, or delete them and run the encode stage again"
        ) from error


_COPY_BYTES = 4 << 20


def write_shards(paths: Sequence[Path], plan: ShardPlan, first: int, spills: Sequence[str | Path]) -> list[ShardInfo]:
    """Writes consecutive shards, each with the pairs at its positions as records of the plan's layout, and its index.

    The pairs are in order of position; in layout ``packed`` each group of 16,384 pairs is in the order of its rows. The
    bytes only depend on the pairs, the shuffle, the number of shards and the layout. Needs memory for one bucket and
    some MiB. All files are written atomically and flushed together, the shards last.
    """
    shards = [shard_buckets(path, plan, shard, spills) for shard, path in enumerate(paths, first)]
    outputs = [_Output() for _ in paths]
    # Indexes come first and shards last: a shard that exists has its index, whenever the program was killed.
    with atomic_writes([*map(index_path, paths), *paths]) as unfinished:
        indexes, files = unfinished[: len(paths)], unfinished[len(paths) :]
        for output, buckets, path, index, file in zip(outputs, shards, paths, indexes, files, strict=True):
            with (
                writing(path),
                index.open("wb") as index_file,
                file.open("wb") as shard_file,
                FlushingWriter(shard_file) as flushing,
            ):
                output.open(flushing, index_file)
                if plan.layout == "example":
                    output.write_examples(buckets)
                elif plan.layout == "text":
                    output.write_text(buckets, plan.text_columns)
                else:
                    output.write_chunks(buckets, plan.row_length if plan.layout == "packed" else 0)
                output.index.finish()
    return [output.info(path) for output, path in zip(outputs, paths, strict=True)]


class _Output:
    """A shard and its index while they are written, and the counts for ``dataset.json``."""

    def __init__(self) -> None:
        self.records = self.pairs = self.rows = self.source_tokens = self.target_tokens = 0

    def open(self, file: FlushingWriter, index_file: BinaryIO) -> None:
        self._file = HashedFile(file)
        self.index = IndexWriter(index_file)

    def info(self, path: Path) -> ShardInfo:
        return ShardInfo(
            file=path.name,
            records=self.records,
            pairs=self.pairs,
            rows=self.rows,
            source_tokens=self.source_tokens,
            target_tokens=self.target_tokens,
            bytes=self._file.size,
            sha256=self._file.sha256,
            index=IndexInfo.of(self.index.file),
        )

    def write_examples(self, buckets: Iterable[Bucket]) -> None:
        """Writes a record per pair, as in the spill files; 256 records are a block of the index."""
        starts = [np.empty(0, np.int64)]
        for bucket in buckets:
            sizes, pairs = bucket.index()
            begins = self._file.size + np.cumsum(sizes) - sizes
            starts.append(begins[-self.records % PAIRS_PER_BLOCK :: PAIRS_PER_BLOCK])
            self.index.add_pairs(pairs)
            self.records += len(sizes)
            space = np.empty(max(bucket.largest, _COPY_BYTES), np.uint8)
            while copied := bucket.copy(space):
                self._file.write(space[:copied].data)
            self._count(bucket)
        first = np.concatenate(starts)
        pairs_of = np.minimum(PAIRS_PER_BLOCK, self.records - PAIRS_PER_BLOCK * np.arange(len(first)))
        self.index.add_blocks(np.stack([first, pairs_of, pairs_of, np.zeros_like(first)], axis=1))

    def write_chunks(self, buckets: Iterable[Bucket], row_length: int) -> None:
        """Writes records of about 256 pairs, in rows unless ``row_length`` is 0; each is a block of the index."""
        writer = ChunkWriter(PAIRS_PER_BLOCK, row_length)
        for bucket in buckets:
            writer.add(bucket)
            self._count(bucket)
            self._take(writer)
        writer.finish()
        self._take(writer)

    def write_text(self, buckets: Iterable[Bucket], columns: Columns) -> None:
        """Writes an Arrow IPC file, whose record batches of 256 pairs are the index's blocks."""
        with pa.ipc.new_file(pa.PythonFile(self._file, mode="w"), text_schema(columns)) as writer:
            for block, pairs in blocks_of(buckets, columns):
                self.index.add_pairs(np.minimum(pairs, SATURATED).astype(np.uint16).ravel())
                self.index.add_blocks(np.array([[self._file.size, 1, len(block), 0]], np.int64))
                writer.write_batch(block)
                self.records += 1
                self.pairs += len(block)
                self.source_tokens += int(pairs[:, 0].sum())
                self.target_tokens += int(pairs[:, 1].sum())

    def _take(self, writer: ChunkWriter) -> None:
        frames, flat, pairs = writer.take()
        sizes, pairs_of, rows_of = flat.reshape(-1, 3).T
        first = self._file.size + np.cumsum(sizes) - sizes
        self.index.add_pairs(pairs)
        self.index.add_blocks(np.stack([first, np.ones_like(first), pairs_of, rows_of], axis=1))
        self.records += len(sizes)
        self.rows += int(rows_of.sum())
        self._file.write(frames.data)

    def _count(self, bucket: Bucket) -> None:
        self.pairs += len(bucket)
        self.source_tokens += bucket.source_tokens
        self.target_tokens += bucket.target_tokens
