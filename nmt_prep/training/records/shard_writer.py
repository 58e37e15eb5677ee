"""Writes shards and their indexes, from the buckets of the shuffle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from _nmt_prep_core import Bucket, ChunkWriter

from nmt_prep.base.artefacts import FlushingWriter, atomic_writes, writing
from nmt_prep.base.digests import HashedFile
from nmt_prep.training.records.dataset_json import IndexInfo, ShardInfo
from nmt_prep.training.records.index import SATURATED, IndexWriter, index_path
from nmt_prep.training.records.shuffle_plan import PAIRS_PER_BLOCK, Layout, ShardPlan
from nmt_prep.training.records.text_records import Columns, blocks_of, text_schema
from nmt_prep.training.records.writer import shard_buckets

_COPY_BYTES = 4 << 20


def write_shards(
    paths: Sequence[str | Path], plan: ShardPlan, first: int, spills: Sequence[str | Path]
) -> list[ShardInfo]:
    """Writes consecutive shards, each with the pairs at its positions as records of the plan's layout, and its index.

    The pairs are in order of position; in layout ``packed`` each group of 16,384 pairs is in the order of its rows. The
    bytes only depend on the pairs, the shuffle, the number of shards and the layout. Needs memory for one bucket and
    some MiB. All files are written atomically and flushed together, the shards last.

    Returns:
        The entries of the shards in ``dataset.json``.
    """
    buckets = [shard_buckets(path, plan, shard, spills) for shard, path in enumerate(paths, first)]
    return _write_all(list(map(Path, paths)), buckets, plan.layout, plan.row_length, plan.text_columns)


def write_buckets(path: str | Path, buckets: Iterable[Bucket], layout: Layout, row_length: int) -> ShardInfo:
    """Writes the pairs of buckets, in their order, as a shard with its index; see :func:`write_shards`."""
    return _write_all([Path(path)], [buckets], layout, row_length)[0]


def _write_all(
    paths: Sequence[Path],
    shards: Sequence[Iterable[Bucket]],
    layout: Layout,
    row_length: int,
    columns: Columns = (),
) -> list[ShardInfo]:
    outputs = [_Output() for _ in paths]
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
                if layout == "example":
                    output.write_examples(buckets)
                elif layout == "text":
                    output.write_text(buckets, columns)
                else:
                    output.write_chunks(buckets, row_length if layout == "packed" else 0)
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
        """Returns the entry of the shard."""
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
        """Writes an Arrow IPC file, whose record batches of 256 pairs are the blocks of the index."""
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
