"""The external shuffle. Each task writes its pairs to a spill file; from all spill files, shards are written in order.

A spill file holds groups of spilled records (see ``core/records/spill.h``), each of one bucket, then the index: the
first entry of each bucket (int64, ``[buckets + 1]``), the entries in order of bucket (int64, ``[entries, 2]``: offset
and bytes of a group), and a trailer that identifies the plan. For a shard, each of its buckets is gathered from all
spill files and sorted by position.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO, Literal, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import Bucket, ChunkWriter, SpillBuffer

from nmt_prep.artefacts import atomic_write, writing
from nmt_prep.columns import Ragged, TextColumn
from nmt_prep.errors import RecordsError
from nmt_prep.records.dataset_json import IndexInfo, PairStats, ShardInfo
from nmt_prep.records.index import IndexWriter, index_path
from nmt_prep.records.plan import PAIRS_PER_BLOCK, Layout, ShardPlan

_MAGIC = b"nmtspil2"
_TRAILER = struct.Struct("<8s5q96s")
"""Magic, kind of payload, rows, shards, buckets per shard, entries, keys of the shuffle."""

_PAYLOADS = ("example", "ids", "text")

_COPY_BYTES = 4 << 20


class SpillWriter:
    """Writes the spill file of one task, batch by batch.

    :meth:`close` installs the complete file atomically; leaving the ``with`` block without it leaves no file.

    Args:
        path: the spill file.
        plan: shared by all tasks of the split.
        buffer_bytes: records are buffered up to this size, then grouped and written; a task needs about twice this
            memory plus a batch.

    Raises:
        OutputError: the file cannot be written; here and in all methods.
    """

    def __init__(self, path: str | Path, plan: ShardPlan, *, buffer_bytes: int = 32 << 20) -> None:
        self._path = Path(path)
        self._plan = plan
        self._buffer_bytes = buffer_bytes
        self._buffer = SpillBuffer(plan.shuffle.keys, plan.rows, plan.shards, plan.buckets_per_shard, plan.payload)
        self._grouped = np.empty(0, np.uint8)
        self._segments: list[npt.NDArray[np.int64]] = []
        self._stats = PairStats()
        self._stack = ExitStack()
        beside = self._stack.enter_context(atomic_write(self._path))
        with writing(self._path):
            self._file = self._stack.enter_context(beside.open("wb"))

    def add(self, first_row: int, inputs: Ragged, targets: Ragged, corpus: int = 0) -> PairStats:
        """Adds pairs of consecutive rows of one corpus; returns their counts.

        Args:
            first_row: number of the first pair in the whole split.
            inputs: ids of the source side, EOS included.
            targets: ids of the target side, EOS included, as many rows.
            corpus: number of their corpus in ``dataset.json``'s list for the split.

        Raises:
            ValueError: the sides differ in rows, or rows are outside the split.
        """
        self._buffer.add(first_row, inputs.values, inputs.offsets, targets.values, targets.offsets, corpus)
        stats = PairStats.of(inputs, targets)
        self._stats += stats
        self._flush_if_full()
        return stats

    def add_text(self, first_row: int, inputs: pa.Array, targets: pa.Array, corpus: int = 0) -> None:
        """Adds pairs of consecutive rows of one corpus as text, for a plan of layout ``text``; only pairs are counted.

        Args:
            first_row: number of the first pair in the whole split.
            inputs: lines of the source side, an Arrow array of strings.
            targets: lines of the target side, as many.
            corpus: number of their corpus among those of the split.

        Raises:
            ValueError: as :meth:`add`.
        """
        source, target = TextColumn.from_arrow(inputs), TextColumn.from_arrow(targets)
        self._buffer.add_text(first_row, source.data, source.offsets, target.data, target.offsets, corpus)
        self._stats += PairStats(pairs=len(inputs))
        self._flush_if_full()

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
            self._grouped = np.empty(size, np.uint8)
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
    """Reads one shard's part of one spill file.

    Raises:
        RecordsError: the file is missing, incomplete, or was written under another plan; here and in all methods.
    """

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
    found = np.empty((last - first, 2), "<i8")
    if len(found):
        _read_exactly(file, index + 8 * (plan.buckets + 1) + 16 * first, found.data.cast("B"))
    if (found < 0).any() or (found > index).any():
        raise ValueError("its index is damaged")
    return starts - first, found


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
    buckets = shard_buckets(path, plan, shard, spills)
    return write_buckets(path, buckets, plan.layout, plan.row_length)


def write_buckets(
    path: str | Path, buckets: Iterable[Bucket], layout: Layout | Literal["text"], row_length: int
) -> ShardInfo:
    """Writes the pairs of buckets, in their order, as a shard with its index; see :func:`write_shard`.

    Args:
        path: the shard's final name.
        buckets: buckets of Examples for layout ``example``, of ids for the others.
        layout: format of the records.
        row_length: length of a row on either side, in layout ``packed``.

    Raises:
        OutputError: the shard or its index cannot be written.
    """
    path = Path(path)
    output = _Output()
    with (
        atomic_write(path) as beside,
        beside.open("wb") as file,
        atomic_write(index_path(path)) as beside_index,
        beside_index.open("wb") as index_file,
    ):
        output.open(file, index_file)
        if layout == "example":
            output.write_examples(buckets)
        else:
            output.write_chunks(buckets, row_length if layout == "packed" else 0)
        index_bytes, index_digest = output.index.finish()
    return ShardInfo(
        file=path.name,
        records=output.records,
        pairs=output.pairs,
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
        self.records = self.pairs = self.rows = self.size = self.source_tokens = self.target_tokens = 0

    def open(self, file: BinaryIO, index_file: BinaryIO) -> None:
        self._file = file
        self.index = IndexWriter(index_file)

    def write_examples(self, buckets: Iterable[Bucket]) -> None:
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

    def write_chunks(self, buckets: Iterable[Bucket], row_length: int) -> None:
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
        self.pairs += len(bucket)
        self.source_tokens += bucket.source_tokens
        self.target_tokens += bucket.target_tokens

    def _write(self, data: npt.NDArray[np.uint8]) -> None:
        self.digest.update(data.data)
        self._file.write(data.data)
        self.size += len(data)


def shard_buckets(path: str | Path, plan: ShardPlan, shard: int, spills: Sequence[str | Path]) -> Iterator[Bucket]:
    """Yields a shard's buckets in order; each is overwritten when the next one is requested.

    Args:
        path: the file that is made of them, for messages.
        plan: the plan of the spill files.
        shard: number of the shard.
        spills: the spill files of all tasks of the split, in any order.

    Raises:
        RecordsError: a spill file is missing or damaged, or together they lack or repeat a pair.
    """
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
