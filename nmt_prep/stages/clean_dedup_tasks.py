"""The tasks of the deduplication rounds of the stage clean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.artefacts import atomic_write, link_or_copy
from nmt_prep.cleaning.counts import CleanCounts
from nmt_prep.cleaning.dedup.deciding import Corpora, decide_range
from nmt_prep.cleaning.dedup.drops import ClusterSizes, Dropped, DropWriter, PartDrops, write_marks
from nmt_prep.cleaning.dedup.records import Comparison, parts_of, places_of, rows_of
from nmt_prep.cleaning.dedup.spill import MOST_BITS, SMALLEST_SHARE, SpilledRange, range_bits, range_bytes
from nmt_prep.corpora import iter_pairs
from nmt_prep.engines import Tick
from nmt_prep.errors import CleaningError
from nmt_prep.stages.clean_tasks import CleanedFile, CorpusTask, PartFiles, PartOutput, PartResult


@dataclass(frozen=True)
class PlanTask:
    """A split to deduplicate.

    Attributes:
        key: name of the task.
        split: name of the split.
        pairs: number of its pairs before they are cleaned.
        comparisons: the comparisons.
        memory: bytes of memory that a task may use.
    """

    key: str
    split: str
    pairs: int
    comparisons: tuple[Comparison, ...]
    memory: int


@dataclass(frozen=True)
class RangeBits:
    """The number of leading bits of a key that are the number of its range."""

    bits: int


@dataclass(frozen=True)
class DecideTask:
    """A range of keys whose pairs are compared.

    Attributes:
        key: name of the task.
        number: number of the range.
        comparison: the comparison.
        bits: number of leading bits of a key that are the number of its range.
        directory: directory of the spill files.
        parts: numbers of the parts that are compared.
        marked: the comparison after which dropped pairs were marked; None if no pairs are dropped yet.
        corpora: the corpora of all parts of the split.
        memory: bytes of memory that the task may use.
        output: file for the pairs to drop.
    """

    key: str
    number: int
    comparison: Comparison
    bits: int
    directory: Path
    parts: tuple[int, ...]
    marked: str | None
    corpora: Corpora
    memory: int
    output: Path


@dataclass(frozen=True)
class Decided:
    """The overlap of the corpora in a range, as a matrix, row by row, and the number of clusters by size."""

    overlap: tuple[int, ...]
    clusters: ClusterSizes


@dataclass(frozen=True)
class MarkTask:
    """A part whose dropped pairs are marked for the next comparison; ``parts`` is the number of parts of the split."""

    key: str
    number: int
    parts: int
    dropped: Dropped
    output: Path


@dataclass(frozen=True)
class Marked:
    """The result of marking the dropped pairs of a part."""


@dataclass(frozen=True)
class DedupPart:
    """A part to deduplicate.

    Attributes:
        stem: stem of the names of the part's files.
        number: number of the part in its split.
        of: the settings that all tasks of the corpus share.
        files: the part, and the files to write.
        made: description of the part.
    """

    stem: str
    number: int
    of: CorpusTask
    files: PartFiles
    made: CleanedFile

    @property
    def has_both_sides(self) -> bool:
        """False for a part of a monolingual corpus."""
        return len(self.of.context.sides) == 2


@dataclass(frozen=True)
class DropTask:
    """A part to write without the dropped pairs; ``corpora`` has the name of the corpus of each part of the split."""

    key: str
    part: DedupPart
    dropped: Dropped
    corpora: tuple[str, ...]


def plan_ranges(task: PlanTask, tick: object) -> RangeBits:
    """Returns the number of ranges of keys, as bits, that fits the memory of a task.

    Raises:
        CleaningError: the memory is too small.
    """
    del tick
    record_bytes = max(each.record_bytes for each in task.comparisons)
    most_kept = max(min(each.kept, task.pairs) for each in task.comparisons)
    # A range takes a quarter of the memory, and at least twice as much as the best pairs of one key.
    needed = max(-(-task.pairs // (1 << MOST_BITS)), 2 * most_kept) * record_bytes
    if needed > max(task.memory // 4, SMALLEST_SHARE):
        raise CleaningError(
            f"clean.dedup: engine.memory gives {task.memory / 1e6:,.0f} MB to each task, but comparing {task.pairs:,} "
            f"pairs of splits.{task.split} takes {4 * needed / 1e6:,.0f} MB; raise engine.memory, or use fewer workers"
        )
    return RangeBits(range_bits(task.pairs, record_bytes, task.memory))


def decide(task: DecideTask, tick: Tick) -> Decided:
    """Writes the pairs to drop in a range of keys. It ticks for each pair.

    Raises:
        OutputError: a spill file cannot be read, or the drops cannot be written.
    """
    found = SpilledRange(task.directory, task.comparison, task.parts, task.bits, task.number, task.marked)
    with DropWriter(task.output, len(task.corpora.of_parts)) as output:
        overlap = decide_range(found, task.comparison, task.corpora, 2 * range_bytes(task.memory), output)
    tick(found.rows)
    return Decided(tuple(overlap.tolist()), output.clusters())


def mark_part(task: MarkTask, tick: Tick) -> Marked:
    """Marks the pairs of a part that are dropped so far. It ticks once.

    Raises:
        OutputError: a file cannot be read or written.
    """
    write_marks(task.output, task.dropped, task.number, task.parts)
    tick(1)
    return Marked()


def drop_pairs(task: DropTask, tick: Tick) -> PartResult:
    """Writes a part without the dropped pairs; links it if there are none. It ticks for each pair.

    Raises:
        CorpusError: the part cannot be read.
        OutputError: a file cannot be read or written.
    """
    part, corpora = task.part, pa.array(task.corpora, pa.string())
    drops = PartDrops(task.dropped, part.number, len(task.corpora))
    counts = np.zeros(len(drops.reasons), np.int64)
    names = pa.array(drops.reasons, pa.string())
    if not len(drops):
        with atomic_write(part.files.kept) as beside:
            link_or_copy(part.files.part, beside)
        tick(part.made.pairs)
        return PartResult(_counts(drops.reasons, counts), part.made, None)
    with PartOutput(part.of, part.files) as output:
        for batch in iter_pairs(part.files.part):
            kept, reasons, survivors = drops.among(places_of(batch, part.number))
            nothing = np.full(len(reasons), np.nan)
            instead = corpora.take(pa.array(parts_of(survivors))), pa.array(rows_of(survivors))
            output.write(batch, kept, names.take(pa.array(reasons)), nothing, nothing, instead)
            counts += np.bincount(reasons, minlength=len(counts))
            tick(len(batch))
    return output.result(_counts(drops.reasons, counts))


def _counts(reasons: Sequence[str], counts: npt.NDArray[np.int64]) -> CleanCounts:
    dropped = dict(zip(reasons, counts.tolist(), strict=True))
    failed = {reason: {reason: count} for reason, count in dropped.items()}
    return CleanCounts(0, -sum(dropped.values()), dropped, failed, {}, {})
