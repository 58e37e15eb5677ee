"""The external shuffle. Each task writes its pairs to a spill file; from all spill files, shards are gathered in order.

A spill file holds groups of spilled records (see ``core/records/spill.h``), each for one bucket, then the index: the
number of the first entry of each bucket (int64, ``[buckets + 1]``), the entries in order of bucket (int64, ``[entries,
2]``: offset and bytes of a group), and a trailer that identifies the plan. For a shard, each of its buckets is gathered
from all spill files and sorted by position.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence, Sized
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import Bucket, SpillBuffer

from nmt_prep.base.artefacts import FlushingWriter, atomic_write, writing
from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.base.errors import RecordsError
from nmt_prep.training.records.dataset_json import PairStats
from nmt_prep.training.records.shuffle_plan import GlobalShuffle, ShardPlan

_MAGIC = b"nmtspil3"
_TRAILER = struct.Struct("<8s5q96s")
"""Magic, kind of payload, rows, shards, buckets per shard, entries, keys of the shuffle."""

FrameIds: TypeAlias = "tuple[Sequence[int], Sequence[int]]"  # The ids that a frame puts before and after a row

_PAYLOADS = ("example", "ids", "text")


class SpillWriter:
    """Writes the spill file of one task, batch by batch.

    :meth:`close` installs the complete file atomically; leaving the ``with`` block without it leaves no file.

    Args:
        path: the spill file.
        plan: shared by all tasks of the split.
        frames: for each side, the ids before and after every row; source first.
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
        """Adds pairs of consecutive rows of one corpus; returns their counts, frames included."""
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
        """Adds pairs of consecutive rows of one corpus as text, for a plan of layout ``text``.

        Args:
            stats: their counts; None counts only pairs.
        """
        source, target = TextColumn.from_arrow(inputs), TextColumn.from_arrow(targets)
        columns = source.data, source.offsets, target.data, target.offsets
        self._buffer.add_text(first_row, *columns, corpus, self._positions(first_row, inputs))
        self._stats += PairStats(pairs=len(inputs)) if stats is None else stats
        self._flush_if_full()

    def _positions(self, first_row: int, rows: Sized) -> npt.NDArray[np.int64] | None:
        """Returns the positions of rows; None for the shuffle of pairs, which the buffer computes itself."""
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
        """Returns the number of bytes of a bucket in the file."""
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
