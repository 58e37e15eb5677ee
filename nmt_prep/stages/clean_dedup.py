"""The deduplication rounds of the stage clean.

Pairs are compared on both sides, then by source, then by target. Each comparison ignores the pairs that an earlier one
has dropped. It takes two rounds: the first writes the records of each part to a spill file, divided by range of the
key; the second sorts one range from all spill files, and writes the pairs to drop. In the end the parts are written
without these pairs. The number of ranges is chosen to fit the memory of a task; it does not affect the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import rank_records

from nmt_prep.artefacts import atomic_write, link_or_copy
from nmt_prep.cleaning.counts import CleanCounts
from nmt_prep.cleaning.dedup.keys import Compared, KeyKind
from nmt_prep.cleaning.dedup.records import (
    Comparison,
    PartDrops,
    Records,
    partition_bits,
    parts_and_rows,
    places_of,
    read_partition,
    write_drops,
    write_spill,
)
from nmt_prep.config import DedupSettings
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import score_column
from nmt_prep.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.clean_tasks import CleanedFile, CorpusTask, PartFiles, PartOutput, PartResult

DUPLICATE, TARGETS, SOURCES = "duplicate_pair", "too_many_targets", "too_many_sources"

Dropped: TypeAlias = "dict[str, tuple[Path, ...]]"
"""Files with the pairs to drop, by reason."""


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
class PlanTask:
    """The number of pairs, the width of their records, and the bytes of memory that a task may use."""

    key: str
    pairs: int
    width: int
    memory: int


@dataclass(frozen=True)
class RangeBits:
    """The number of leading bits of a key that are the number of its range."""

    bits: int


@dataclass(frozen=True)
class SpillTask:
    """A part whose records are written to a spill file, except those of pairs that are dropped already."""

    key: str
    part: Path
    number: int
    comparison: Comparison
    bits: int
    dropped: Dropped
    spill: Path


@dataclass(frozen=True)
class Spilled:
    """The number of records in a spill file."""

    pairs: int


@dataclass(frozen=True)
class DecideTask:
    """A range of keys whose pairs are compared.

    Attributes:
        key: name of the task.
        partition: number of the range.
        comparison: the contents of the records.
        bits: number of leading bits of a key that are the number of its range.
        spills: all spill files.
        kept: number of pairs to keep for each key.
        corpora: number of the corpus of each part.
        corpus_count: number of corpora.
        output: file for the pairs to drop.
    """

    key: str
    partition: int
    comparison: Comparison
    bits: int
    spills: tuple[Path, ...]
    kept: int
    corpora: tuple[int, ...]
    corpus_count: int
    output: Path


@dataclass(frozen=True)
class Decided:
    """The number of pairs to drop in a range, and the overlap of the corpora as a matrix, row by row."""

    dropped: int
    overlap: tuple[int, ...]


@dataclass(frozen=True)
class DropTask:
    """A part to write without the dropped pairs; ``corpora`` has the name of the corpus of each part."""

    key: str
    part: DedupPart
    dropped: Dropped
    corpora: tuple[str, ...]


def plan_ranges(task: PlanTask, tick: object) -> RangeBits:
    """Returns the number of ranges of keys, as bits, that fits the memory of a task."""
    del tick
    return RangeBits(partition_bits(task.pairs, task.width, task.memory))


def spill_part(task: SpillTask, tick: Tick) -> Spilled:
    """Writes the records of a part. It ticks for each pair.

    Raises:
        CorpusError: the part cannot be read.
        OutputError: the spill file cannot be written, or a file of drops cannot be read.
    """
    drops = PartDrops(task.dropped, task.number)
    columns = ["source", "target", "row", *map(score_column, task.comparison.scores)]
    records: list[Records] = []
    for batch in iter_pairs(task.part, columns=columns):
        kept, _, _ = drops.among(places_of(batch, task.number))
        found = task.comparison.records(batch, task.number)
        records.append(found if kept.all() else found[kept])
        tick(len(batch))
    write_spill(task.spill, records, task.comparison.width, task.bits)
    return Spilled(sum(map(len, records)))


def decide(task: DecideTask, tick: Tick) -> Decided:
    """Writes the pairs to drop in a range of keys. It ticks for each pair.

    Raises:
        OutputError: a spill file cannot be read, or the drops cannot be written.
    """
    records = read_partition(task.spills, task.partition, task.comparison.width, task.bits)
    drops, overlap = rank_records(records, task.kept, list(task.corpora), task.corpus_count)
    write_drops(task.output, drops)
    tick(len(records))
    return Decided(len(drops), tuple(overlap.tolist()))


def drop_pairs(task: DropTask, tick: Tick) -> PartResult:
    """Writes a part without the dropped pairs. It ticks for each pair.

    Raises:
        CorpusError: the part cannot be read.
        OutputError: a file cannot be read or written.
    """
    part, corpora = task.part, pa.array(task.corpora, pa.string())
    drops = PartDrops(task.dropped, part.number)
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
            parts, rows = parts_and_rows(survivors)
            instead = corpora.take(pa.array(parts)), pa.array(rows)
            output.write(batch, kept, names.take(pa.array(reasons)), nothing, nothing, instead)
            counts += np.bincount(reasons, minlength=len(counts))
            tick(len(batch))
    return output.result(_counts(drops.reasons, counts))


def _counts(reasons: Sequence[str], counts: npt.NDArray[np.int64]) -> CleanCounts:
    dropped = dict(zip(reasons, counts.tolist(), strict=True))
    failed = {reason: {reason: count} for reason, count in dropped.items()}
    return CleanCounts(0, -sum(dropped.values()), dropped, failed, {}, {})


def _made(task: DropTask, result: PartResult) -> Iterator[Path]:
    if result.kept is not None:
        yield task.part.files.kept
    if result.rejected is not None:
        yield task.part.files.rejected


@dataclass(frozen=True)
class Step:
    """One comparison: the reason for dropping pairs, the sides that are compared, and the two rounds."""

    reason: str
    compared: Compared
    spill: Round[SpillTask, Spilled]
    decide: Round[DecideTask, Decided]

    @classmethod
    def of(cls, name: str, reason: str, compared: Compared) -> Step:
        """Returns a step whose rounds have the given name."""
        return cls(
            reason,
            compared,
            Round(f"{name}-spill", spill_part, Spilled, made=lambda task, _: [task.spill]),
            Round(name, decide, Decided, made=lambda task, _: [task.output]),
        )

    def kept(self, settings: DedupSettings) -> int | None:
        """Returns the number of pairs to keep for each key; None if the step is left out."""
        if self.compared == "pair":
            return None if settings.pair == "off" else 1
        return settings.max_targets_per_source if self.compared == "source" else settings.max_sources_per_target


PLAN = Round("clean-ranges", plan_ranges, RangeBits, by_all=True)
STEPS = (
    Step.of("clean-pairs", DUPLICATE, "pair"),
    Step.of("clean-sources", TARGETS, "source"),
    Step.of("clean-targets", SOURCES, "target"),
)
DROP = Round("clean-dedup", drop_pairs, PartResult, made=_made)
DEDUP_ROUNDS = (PLAN, *(each for step in STEPS for each in (step.spill, step.decide)), DROP)


Overlap: TypeAlias = "dict[str, dict[str, int]]"
"""``overlap[a][b]`` is the number of pairs of the corpus ``a`` that are also in ``b``; ``overlap[a][a]`` counts all."""


@dataclass
class DedupSplit:
    """A split to deduplicate.

    Attributes:
        name: name of the split.
        parts: parts of the split, in order.
        overlap: overlap of the corpora; None until it is computed, or if pairs are not compared.
    """

    name: str
    parts: list[DedupPart]
    overlap: Overlap | None = None

    @property
    def corpora(self) -> list[str]:
        """Names of the corpora, in order."""
        return list(dict.fromkeys(part.of.corpus for part in self.parts))


def deduplicate(job: Job, settings: DedupSettings, splits: Sequence[DedupSplit]) -> Rounds[list[PartResult]]:
    """Yields the rounds that deduplicate splits; returns the results of all parts, in order."""
    kind: KeyKind = "normalized" if settings.pair == "normalized" else "exact"
    scores = settings.keep[:-1]
    width = Comparison("pair", kind, scores).width
    plans = [
        PlanTask(f"ranges-{split.name}", sum(part.made.pairs for part in split.parts), width, job.task_memory)
        for split in splits
    ]
    planned = yield from PLAN.run(plans)
    dropped: dict[str, Dropped] = {split.name: {} for split in splits}
    for step in STEPS:
        kept = step.kept(settings)
        chosen = [] if kept is None else list(zip(splits, planned, strict=True))
        comparison = Comparison(step.compared, kind, scores)
        spills = [_spills(job, step, comparison, split, bits.bits, dropped[split.name]) for split, bits in chosen]
        yield from step.spill.run(
            [task for own in spills for task in own],
            sum(part.made.pairs for split, _ in chosen for part in _compared(step, split)),
        )
        decisions = [
            _decisions(job, step, split, own, bits.bits, comparison, kept or 1)
            for (split, bits), own in zip(chosen, spills, strict=True)
        ]
        results = iter((yield from step.decide.run([task for own in decisions for task in own])))
        for (split, _), own in zip(chosen, decisions, strict=True):
            decided = [next(results) for _ in own]
            dropped[split.name][step.reason] = tuple(task.output for task in own)
            if step.compared == "pair":
                split.overlap = _overlap(split.corpora, decided)
    tasks = [
        DropTask(f"dedup-{part.stem}", part, dropped[split.name], tuple(each.of.corpus for each in split.parts))
        for split in splits
        for part in split.parts
    ]
    return (yield from DROP.run(tasks, sum(part.made.pairs for split in splits for part in split.parts)))


def _compared(step: Step, split: DedupSplit) -> list[DedupPart]:
    """Returns the parts that a step compares. Limits do not apply to monolingual corpora."""
    return [part for part in split.parts if step.compared == "pair" or part.has_both_sides]


def _spills(
    job: Job, step: Step, comparison: Comparison, split: DedupSplit, bits: int, dropped: Dropped
) -> list[SpillTask]:
    directory = job.scratch / "dedup" / split.name
    return [
        SpillTask(
            f"{step.spill.name}-{part.stem}",
            part.files.part,
            part.number,
            comparison,
            bits,
            dict(dropped),
            directory / f"{step.compared}-{part.number:05d}.spill",
        )
        for part in _compared(step, split)
    ]


def _decisions(
    job: Job, step: Step, split: DedupSplit, spills: Sequence[SpillTask], bits: int, comparison: Comparison, kept: int
) -> list[DecideTask]:
    names = split.corpora
    return [
        DecideTask(
            f"{step.decide.name}-{split.name}-{partition:04d}",
            partition,
            comparison,
            bits,
            tuple(task.spill for task in spills),
            kept,
            tuple(names.index(part.of.corpus) for part in split.parts),
            len(names),
            job.scratch / "dedup" / split.name / f"{step.compared}-{partition:04d}.drops",
        )
        for partition in range(1 << bits if spills else 0)
    ]


def _overlap(names: Sequence[str], decided: Sequence[Decided]) -> Overlap:
    total = np.zeros(len(names) ** 2, np.int64)
    for each in decided:
        total += np.array(each.overlap, np.int64)
    rows = total.reshape(len(names), len(names)).tolist()
    return {name: dict(zip(names, row, strict=True)) for name, row in zip(names, rows, strict=True)}
