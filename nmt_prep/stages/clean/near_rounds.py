"""The rounds of the `clean` stage that find near duplicates, after pairs with equal normalized text are dropped.

1. One task per part writes its pairs' records by hash range (:mod:`nmt_prep.cleaning.dedup.near`).
2. A task per range finds the candidates among its records. It writes them to the file of the worse pair's part, and
   requests for the better pair's text to the file of that pair's part.
3. A task per part reads the requested pairs, and writes their text to the file of the part that needs it.
4. A task per part verifies the candidates of its pairs, and writes the pairs to drop.
5. A few tasks count clusters by size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.dedup.drops import (
    ClusterSizes,
    DropWriter,
    Marks,
    cluster_sizes,
    merged_clusters,
    read_survivors,
)
from nmt_prep.cleaning.dedup.near import (
    BucketCounts,
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
from nmt_prep.cleaning.dedup.records import ALL, Group, GroupedWriter, Records, parts_of, places_of, slices_of
from nmt_prep.cleaning.dedup.spill import Corpora
from nmt_prep.config import DedupSettings
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import PairFile, score_column
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.stages.clean.comparing import ComparedSplit, NearDuplicates, NearFound, Ranges

NEAR = "near_duplicate"  # The reason for dropping near duplicates
CLUSTERS_AT_ONCE = 1 << 22  # Approximate number of dropped pairs that a task that counts clusters holds

REQUESTS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class NearSplit:
    """Settings that a split's tasks have in common."""

    directory: Path  # directory of their files
    plan: Ranges  # how the work is divided
    signatures: Signatures  # the contents of the records
    similarity: float  # the smallest similarity of near duplicates
    corpora: Corpora  # the corpora of all parts in the split
    parts: tuple[int, ...]  # numbers of the parts that still have pairs

    @property
    def ranges(self) -> int:
        """Number of hash ranges."""
        return 1 << self.plan.bits

    @property
    def part_count(self) -> int:
        """Number of all parts."""
        return len(self.corpora.of_parts)

    def file(self, kind: str, number: int) -> Path:
        """Returns a file: a part's ``bands``, ``texts`` or ``drops``, a range's ``edges`` or ``requests``."""
        return self.directory / f"near-{number:05d}.{kind}"

    def pieces(self, kind: str, count: int, group: int, width: int) -> Iterator[Records]:
        """Yields a group's rows in all files of a kind, run by run."""
        for number in range(self.ranges) if kind in ("edges", "requests") else self.parts:
            for piece in slices_of(self.file(kind, number), group, count, width):
                yield piece.read(width)


@dataclass(frozen=True)
class NearTask:
    """A part of a split, one of its hash ranges, or a share of its clusters."""

    key: str
    split: NearSplit
    number: int  # number of the part, range or share
    part: PairFile | None = None  # the part; None for ranges and shares
    shares: int = 1  # how many shares the clusters are divided into
    group: Group = ALL  # the pairs with which the pairs of the part are compared

    def batches(self, columns: Sequence[str] = (*SIDES, "row")) -> Iterator[tuple[pa.RecordBatch, Records]]:
        """Yields the part's batches, with the compared sides and the pairs' indexes."""
        assert self.part is not None
        for batch in iter_pairs(self.part.path, columns=columns):
            yield self.group.sides(batch), places_of(batch, self.number)

    def file(self, kind: str) -> Path:
        return self.split.file(kind, self.number)


# Round 1. A pair gives one record per band: the band's hash, the pair's ranks, its place. Similar pairs share a hash in
# some band with high probability (MinHash with banding: Broder 1997; Leskovec et al., Mining of Massive Datasets,
# chapter 3). The leading bits of the hash choose the range, so all records with the same hash end up in one range,
# whatever their parts.
def write_bands(task: NearTask, tick: Tick) -> int:
    """Writes a part's records; returns their number. Reports progress per pair."""
    split, held, size, rows = task.split, list[Records](), 0, 0
    marks = Marks.read(split.directory, "pair", task.number)
    shift = np.uint64(64 - split.plan.bits)

    def write() -> None:
        records = np.concatenate(held or [np.zeros((0, split.signatures.width), np.uint64)])
        held.clear()
        ranges = records[:, 0] >> shift if split.plan.bits else np.zeros(len(records), np.uint64)
        write_groups(file, records, ranges, split.ranges)

    with GroupedWriter(task.file("bands")) as file:
        for batch, places in task.batches([*SIDES, "row", *map(score_column, split.signatures.scores)]):
            dropped = marks.among(places)
            chosen = batch.filter(pa.array(~dropped)) if dropped.any() else batch
            held.append(split.signatures.records(chosen, task.number, task.group))
            size, rows = size + held[-1].nbytes, rows + len(held[-1])
            if size >= split.plan.buffer:
                write()
                size = 0
            tick(len(batch))
        write()
    return rows


# Round 2. Records with the same hash are a bucket. Each is compared with the best of the bucket only, so that a bucket
# costs linear time, and an edge always leads from the worse pair to the better one. That makes the result independent
# of the part order, and free of cycles. Text is not here, only places: each edge goes to the part of its worse
# pair, where it is verified, and the better pair's part is asked to send the text there.
def find_candidates(task: NearTask, tick: Tick) -> BucketCounts:
    """Writes the candidates in a range of hashes, and requests for text. Reports progress per record."""
    split, counts = task.split, BucketCounts()
    width, parts = split.signatures.width, split.part_count
    records = _joined(split.pieces("bands", split.ranges, task.number, width), width)
    with GroupedWriter(task.file("edges")) as edge_file, GroupedWriter(task.file("requests")) as request_file:
        for edges in edges_of(records, counts):
            write_groups(edge_file, edges, parts_of(edges[:, 0]), parts)
            requests = requests_of(edges)
            write_groups(request_file, requests, parts_of(requests[:, 0]), parts)
    tick(len(records))
    return counts


# Round 3. The requests are sorted by place, and so are the pairs of a part: a batch's requests are one slice. The
# slice is cut again, because many parts may request the same long text, which is then written once for each of them.
def answer_requests(task: NearTask, tick: Tick) -> int:
    """Writes the text of the requested pairs in a part; returns the request count. Reports progress per pair."""
    assert task.part is not None
    split = task.split
    requests = distinct(_joined(split.pieces("requests", split.part_count, task.number, 2), 2))
    with GroupedWriter(task.file("texts")) as file:
        for batch, places in task.batches() if len(requests) else ():
            first, last = np.searchsorted(requests[:, 0], [places[0], places[-1] + np.uint64(1)])
            for begin in range(first, last, REQUESTS_AT_ONCE):
                some = requests[begin : min(begin + REQUESTS_AT_ONCE, last)]
                write_texts(file, batch, places, some, split.part_count)
    tick(task.part.pairs)
    return len(requests)


Matches: TypeAlias = tuple[int, ...]  # The number of pairs that a part loses, by the corpus of their best neighbor


# Round 4. Edges and texts of a part may exceed the memory of a task. So a piece of the edges meets a piece of the texts
# at a time, and the part is read again for each combination. An edge has its text in exactly one piece, and `best_of`
# keeps the best edge of each pair, a minimum: how edges and texts are cut changes the time, never the result.
def verify_part(task: NearTask, tick: Tick) -> Matches:
    """Verifies a part's candidates, and writes the pairs to drop. Reports progress per pair."""
    assert task.part is not None
    split, width = task.split, task.split.signatures.width
    best = np.zeros((0, width), np.uint64)
    for edge_runs in _collected(split.pieces("edges", split.part_count, task.number, width), split.plan.buffer):
        edges = distinct(_joined(edge_runs, width))
        for text_runs in _collected(split.pieces("texts", split.part_count, task.number, 1), split.plan.buffer):
            texts = Texts.of(text_runs)
            verified = (
                verified_edges(batch, places, texts, edges, split.similarity) for batch, places in task.batches()
            )
            best = best_of(np.concatenate([best, *verified]))
    with DropWriter(task.file("drops"), split.part_count) as file:
        file.add(best[:, [0, -1]])
    tick(task.part.pairs)
    corpora = np.array(split.corpora.of_parts, np.int64)[parts_of(best[:, -1])]
    return tuple(np.bincount(corpora, minlength=split.corpora.count).tolist())


def _collected(pieces: Iterator[Records], size: int) -> Iterator[list[Records]]:
    """Yields pieces in lists of about ``size`` bytes."""
    held: list[Records] = []
    for piece in pieces:
        held.append(piece)
        if sum(records.nbytes for records in held) >= size:
            yield held
            held = []
    if held:
        yield held


def _joined(pieces: Iterator[Records] | list[Records], width: int) -> Records:
    return np.concatenate([np.zeros((0, width), np.uint64), *pieces])


# Round 5. The dropped pairs of a kept pair may be in any part. Kept pairs are divided by their places, so each cluster
# is counted as a whole in one share.
def count_clusters(task: NearTask, tick: Tick) -> ClusterSizes:
    """Counts a share of the clusters by size. Reports progress per part."""
    split, survivors = task.split, [np.zeros(0, np.uint64)]
    for part in split.parts:
        places = read_survivors(split.file("drops", part), part, split.part_count)
        survivors.append(places[places % np.uint64(task.shares) == task.number])
        tick(1)
    return cluster_sizes(np.unique(np.concatenate(survivors), return_counts=True)[1])


BANDS = Round(
    "clean-near-bands", write_bands, int, made=lambda task, _: [task.file("bands")], words="computing signatures"
)
BUCKETS = Round(
    "clean-near-buckets",
    find_candidates,
    BucketCounts,
    unit="records",
    words="comparing signatures",
    made=lambda task, _: [task.file("edges"), task.file("requests")],
)
TEXTS = Round(
    "clean-near-texts",
    answer_requests,
    int,
    made=lambda task, _: [task.file("texts")],
    words="gathering candidates",
)
VERIFY = Round(
    "clean-near", verify_part, Matches, made=lambda task, _: [task.file("drops")], words="comparing similar pairs"
)
CLUSTERS = Round("clean-near-clusters", count_clusters, ClusterSizes, unit="parts", words="counting similar pairs")
NEAR_ROUNDS = (BANDS, BUCKETS, TEXTS, VERIFY, CLUSTERS)


def find_near(
    splits: Sequence[ComparedSplit], settings: DedupSettings, plans: Mapping[str, Ranges]
) -> Rounds[dict[str, NearFound]]:
    """Yields the rounds that find near duplicates; returns the near duplicates of each split."""
    common = {
        split.name: NearSplit(
            split.directory,
            plans[split.name],
            Signatures.of(settings),
            settings.near.similarity,
            split.numbers,
            tuple(part.number for part in split.parts),
        )
        for split in splits
    }
    pairs = sum(split.pairs for split in splits)
    written = yield from BANDS.run_groups(_part_tasks(BANDS.name, splits, common), pairs)
    records = sum(map(sum, written.values()))
    ranges = {name: split.ranges for name, split in common.items()}
    bucketed = yield from BUCKETS.run_groups(_numbered_tasks(BUCKETS.name, common, ranges), records)
    yield from TEXTS.run_groups(_part_tasks(TEXTS.name, splits, common), pairs)
    verified = yield from VERIFY.run_groups(_part_tasks(VERIFY.name, splits, common), pairs)
    shares = {name: 1 + sum(map(sum, results)) // CLUSTERS_AT_ONCE for name, results in verified.items()}
    counting = _numbered_tasks(CLUSTERS.name, common, shares)
    total = sum(len(task.split.parts) for tasks in counting.values() for task in tasks)
    counted = yield from CLUSTERS.run_groups(counting, total)
    near = {}
    for split in splits:
        of_parts, count = split.numbers.of_parts, split.numbers.count
        matches = np.zeros((count, count), np.int64)
        for part, result in zip(split.parts, verified[split.name], strict=True):
            matches[of_parts[part.number]] += result
        numbers = NearDuplicates(
            split.by_corpus(matches),
            sum(result.comparisons for result in bucketed[split.name]),
            sum(result.full_buckets for result in bucketed[split.name]),
        )
        drops = tuple(common[split.name].file("drops", part.number) for part in split.parts)
        near[split.name] = NearFound(drops, merged_clusters(counted[split.name]), numbers)
    return near


def _part_tasks(
    which: str, splits: Sequence[ComparedSplit], common: Mapping[str, NearSplit]
) -> dict[str, list[NearTask]]:
    return {
        split.name: [
            NearTask(
                f"{which}-{part.task.stem}",
                common[split.name],
                part.number,
                part.file,
                group=part.task.of.group,
            )
            for part in split.parts
        ]
        for split in splits
    }


def _numbered_tasks(
    which: str, splits: Mapping[str, NearSplit], counts: Mapping[str, int]
) -> dict[str, list[NearTask]]:
    """Returns the task count for each split that ``counts`` gives; none if no pairs are left."""
    return {
        name: [
            NearTask(f"{which}-{name}-{number:04d}", split, number, shares=counts[name])
            for number in range(counts[name] if split.parts else 0)
        ]
        for name, split in splits.items()
    }
