"""The tasks of the stage clean that find near duplicates, in five rounds.

1. A task per part writes the records of its pairs by range of the hash (:mod:`nmt_prep.cleaning.dedup.near`).
2. A task per range finds the candidates among its records. It writes them by the part of the worse pair, and requests
   for the text of the better pairs by the part that these are in.
3. A task per part reads the requested pairs, and writes their text by the part that needs it.
4. A task per part verifies the candidates of its pairs, and writes the pairs to drop.
5. A few tasks count clusters by size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from nmt_prep.cleaning.dedup.deciding import Corpora
from nmt_prep.cleaning.dedup.drops import ClusterSizes, DropWriter, Marks, cluster_sizes, read_survivors
from nmt_prep.cleaning.dedup.grouped import GroupedWriter, slices_of
from nmt_prep.cleaning.dedup.near import (
    Found,
    Signatures,
    Texts,
    best_of,
    distinct,
    edges_of,
    requests_of,
    verified_edges,
    write_groups,
    write_texts,
)
from nmt_prep.cleaning.dedup.records import Records, parts_of, places_of
from nmt_prep.cleaning.dedup.spill import MOST_BITS, SMALLEST_SHARE, range_bits
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import score_column
from nmt_prep.engines import Tick
from nmt_prep.errors import CleaningError
from nmt_prep.sides import SIDES, Side

LARGEST_BUFFER = 32 << 20
"""Bytes of records, of candidates, and of text that a task collects before it writes or compares them."""

REQUESTS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class NearPlanTask:
    """A split whose hashes are divided.

    Attributes:
        key: name of the task.
        split: name of the split.
        pairs: number of its pairs before they are cleaned.
        signatures: the contents of the records.
        memory: bytes of memory that a task may use.
    """

    key: str
    split: str
    pairs: int
    signatures: Signatures
    memory: int


@dataclass(frozen=True)
class NearPlan:
    """The number of leading bits of a hash that are the number of its range, and the bytes of a task's buffers."""

    bits: int
    buffer: int


@dataclass(frozen=True)
class NearSplit:
    """Settings that the tasks of a split have in common.

    Attributes:
        directory: directory of their files.
        plan: how the work is divided.
        signatures: the contents of the records.
        similarity: the smallest similarity of near duplicates.
        corpora: the corpora of all parts of the split.
        parts: numbers of the parts of which pairs are left.
    """

    directory: Path
    plan: NearPlan
    signatures: Signatures
    similarity: float
    corpora: Corpora
    parts: tuple[int, ...]

    @property
    def ranges(self) -> int:
        """Number of ranges of hashes."""
        return 1 << self.plan.bits

    @property
    def part_count(self) -> int:
        """Number of all parts."""
        return len(self.corpora.of_parts)

    def file(self, kind: str, number: int) -> Path:
        """Returns a file: ``bands``, ``texts`` or ``drops`` of a part, ``edges`` or ``requests`` of a range."""
        return self.directory / f"near-{number:05d}.{kind}"

    def pieces(self, kind: str, count: int, group: int, width: int) -> Iterator[Records]:
        """Yields what the first files of a kind contain for a group, run by run.

        Args:
            kind: kind of the files, one for each part or range.
            count: number of groups in each file.
            group: number of the group.
            width: columns of the rows in the files.

        Raises:
            OutputError: a file cannot be read.
        """
        numbers = range(self.ranges) if kind in ("edges", "requests") else self.parts
        for number in numbers:
            for piece in slices_of(self.file(kind, number), group, count, width):
                yield piece.read(width)


@dataclass(frozen=True)
class PartTask:
    """A part of a split.

    Attributes:
        key: name of the task.
        split: the split.
        number: number of the part.
        path: the part.
        pairs: number of its pairs.
        hashed: the two sides that are hashed; the same one twice for a part of a corpus of one side.
    """

    key: str
    split: NearSplit
    number: int
    path: Path
    pairs: int
    hashed: tuple[Side, Side]


@dataclass(frozen=True)
class Written:
    """The number of rows that a task wrote."""

    rows: int


@dataclass(frozen=True)
class RangeTask:
    """A range of hashes of a split."""

    key: str
    split: NearSplit
    number: int


@dataclass(frozen=True)
class Bucketed:
    """The number of comparisons in a range, and of buckets with more pairs than are compared with one another."""

    comparisons: int
    full_buckets: int


@dataclass(frozen=True)
class Verified:
    """The number of pairs that a part loses, by the corpus of their best neighbour."""

    matches: tuple[int, ...]


@dataclass(frozen=True)
class ClustersTask:
    """A share of the clusters of a split, of which the sizes are counted."""

    key: str
    split: NearSplit
    share: int
    shares: int


@dataclass(frozen=True)
class Clusters:
    """The number of clusters by size."""

    sizes: ClusterSizes


def plan_near(task: NearPlanTask, tick: object) -> NearPlan:
    """Returns the number of ranges of hashes, and the size of buffers, that fit the memory of a task.

    Raises:
        CleaningError: the memory is too small.
    """
    del tick
    records, record_bytes = task.pairs * task.signatures.bands.bands, task.signatures.record_bytes
    needed = -(-records // (1 << MOST_BITS)) * record_bytes
    if needed > max(task.memory // 4, SMALLEST_SHARE):
        raise CleaningError(
            f"clean.dedup.near: engine.memory gives {task.memory / 1e6:,.0f} MB to each task, but comparing "
            f"{task.pairs:,} pairs of splits.{task.split} takes {4 * needed / 1e6:,.0f} MB; raise engine.memory, or "
            "use fewer workers"
        )
    return NearPlan(range_bits(records, record_bytes, task.memory), min(task.memory // 8, LARGEST_BUFFER))


def write_bands(task: PartTask, tick: Tick) -> Written:
    """Writes the records of a part. It ticks for each pair.

    Raises:
        CorpusError: the part cannot be read.
        OutputError: a file cannot be read or written.
    """
    split, held, size, rows = task.split, list[Records](), 0, 0
    marks = Marks.read(split.directory, "pair", task.number)
    columns = [*SIDES, "row", *map(score_column, split.signatures.scores)]

    def write() -> None:
        records = np.concatenate(held or [np.zeros((0, split.signatures.width), np.uint64)])
        held.clear()
        shift = np.uint64(64 - split.plan.bits)
        ranges = records[:, 0] >> shift if split.plan.bits else np.zeros(len(records), np.uint64)
        write_groups(file, records, ranges, split.ranges)

    with GroupedWriter(split.file("bands", task.number)) as file:
        for batch in iter_pairs(task.path, columns=columns):
            dropped = marks.among(places_of(batch, task.number))
            chosen = batch.filter(pa.array(~dropped)) if dropped.any() else batch
            held.append(split.signatures.records(chosen, task.number, task.hashed))
            size, rows = size + held[-1].nbytes, rows + len(held[-1])
            if size >= split.plan.buffer:
                write()
                size = 0
            tick(len(batch))
        write()
    return Written(rows)


def find_candidates(task: RangeTask, tick: Tick) -> Bucketed:
    """Writes the candidates in a range of hashes, and requests for text. It ticks for each record.

    Raises:
        OutputError: a file cannot be read or written.
    """
    split, found = task.split, Found()
    width, parts = split.signatures.width, split.part_count
    records = _joined(split.pieces("bands", split.ranges, task.number, width), width)
    with (
        GroupedWriter(split.file("edges", task.number)) as edge_file,
        GroupedWriter(split.file("requests", task.number)) as request_file,
    ):
        for edges in edges_of(records, found):
            write_groups(edge_file, edges, parts_of(edges[:, 0]), parts)
            requests = requests_of(edges)
            write_groups(request_file, requests, parts_of(requests[:, 0]), parts)
    tick(len(records))
    return Bucketed(found.comparisons, found.full_buckets)


def answer_requests(task: PartTask, tick: Tick) -> Written:
    """Writes the text of requested pairs of a part. It ticks for each pair.

    Raises:
        CorpusError: the part cannot be read.
        OutputError: a file cannot be read or written.
    """
    split = task.split
    requests = distinct(_joined(split.pieces("requests", split.part_count, task.number, 2), 2))
    with GroupedWriter(split.file("texts", task.number)) as file:
        for batch in iter_pairs(task.path, columns=[*SIDES, "row"]) if len(requests) else ():
            places = places_of(batch, task.number)
            first, last = np.searchsorted(requests[:, 0], [places[0], places[-1] + np.uint64(1)])
            for begin in range(first, last, REQUESTS_AT_ONCE):
                some = requests[begin : min(begin + REQUESTS_AT_ONCE, last)]
                write_texts(file, batch, places, some, split.part_count)
    tick(task.pairs)
    return Written(len(requests))


def verify_part(task: PartTask, tick: Tick) -> Verified:
    """Verifies the candidates of a part, and writes the pairs to drop. It ticks for each pair.

    Raises:
        CorpusError: the part cannot be read.
        OutputError: a file cannot be read or written.
    """
    split, width = task.split, task.split.signatures.width
    best = np.zeros((0, width), np.uint64)
    for edge_runs in _collected(split.pieces("edges", split.part_count, task.number, width), split.plan.buffer):
        edges = distinct(_joined(edge_runs, width))
        for text_runs in _collected(split.pieces("texts", split.part_count, task.number, 1), split.plan.buffer):
            best = best_of(np.concatenate([best, *_verified(task, edges, Texts.of(text_runs))]))
    with DropWriter(split.file("drops", task.number), split.part_count) as file:
        file.add(best[:, [0, -1]])
    tick(task.pairs)
    corpora = np.array(split.corpora.of_parts, np.int64)[parts_of(best[:, -1])]
    return Verified(tuple(np.bincount(corpora, minlength=split.corpora.count).tolist()))


def _verified(task: PartTask, edges: Records, texts: Texts) -> Iterator[Records]:
    """Yields the verified edges to some of the better pairs."""
    for batch in iter_pairs(task.path, columns=[*SIDES, "row"]):
        yield verified_edges(batch, places_of(batch, task.number), texts, edges, task.split.similarity)


def _collected(pieces: Iterator[Records], size: int) -> Iterator[list[Records]]:
    """Yields pieces in lists of about ``size`` bytes."""
    held: list[Records] = []
    for piece in pieces:
        held.append(piece)
        if sum(each.nbytes for each in held) >= size:
            yield held
            held = []
    if held:
        yield held


def _joined(pieces: Iterator[Records] | list[Records], width: int) -> Records:
    return np.concatenate([np.zeros((0, width), np.uint64), *pieces])


def count_clusters(task: ClustersTask, tick: Tick) -> Clusters:
    """Counts a share of the clusters by size. It ticks for each part.

    Raises:
        OutputError: a file cannot be read.
    """
    split, survivors = task.split, [np.zeros(0, np.uint64)]
    for part in split.parts:
        found = read_survivors(split.file("drops", part), part, split.part_count)
        survivors.append(found[found % np.uint64(task.shares) == task.share])
        tick(1)
    return Clusters(cluster_sizes(np.unique(np.concatenate(survivors), return_counts=True)[1]))
