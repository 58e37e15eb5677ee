"""The passes of the `clean` stage that drop duplicates.

Pairs are compared on both sides, then by source, then by target. Each comparison ignores pairs that an earlier
comparison dropped. The previous pass's tasks write records of their pairs to spill files, divided by key range. For
each comparison, the tasks of a round each read one range from all spill files, and write the pairs to drop; if another
comparison follows, a round marks the dropped pairs of each part for it. In the end the parts are written without these
pairs. The number of ranges is chosen to fit a task's memory; it does not affect the result.

The pass ``dedup`` makes all comparisons. But if the pairs are ranked by a score that a later rule computes, the pass
``limits`` after that rule applies the limits for pairs with the same source or target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from nmt_prep.base.artefacts import atomic_write, link_or_copy
from nmt_prep.cleaning.corpus_rules import COMPUTED_SCORES
from nmt_prep.cleaning.dedup.drops import (
    ClusterSizes,
    Dropped,
    DropWriter,
    PartDrops,
    mark_path,
    merged_clusters,
    with_repeated,
    write_marks,
)
from nmt_prep.cleaning.dedup.near import Signatures
from nmt_prep.cleaning.dedup.records import Compared, Comparison, comparisons_of, parts_of, places_of, rows_of
from nmt_prep.cleaning.dedup.spill import Corpora, SpilledRange, decide_range, range_bytes
from nmt_prep.cleaning.presets import effective_dedup
from nmt_prep.cleaning.rejects import Verdict, dropped_counts
from nmt_prep.config import Config, DedupSettings
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.reader import DOCUMENT
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.clean.cleaned_corpora import (
    CorpusWork,
    cleaned_corpora,
    is_deduplicated,
    rewrite_parts,
    section_of,
    spill_directory,
)
from nmt_prep.stages.clean.comparing import PLAN, ComparedPart, ComparedSplit, PlanTask, Ranges
from nmt_prep.stages.clean.near_rounds import NEAR, NEAR_ROUNDS, find_near
from nmt_prep.stages.clean.parts import PartOutput, PartResult, PartTask, part_round
from nmt_prep.stages.compile import Compile

DedupPass: TypeAlias = Literal["dedup", "limits"]
PASSES: tuple[DedupPass, ...] = ("dedup", "limits")


@dataclass(frozen=True)
class DecideTask:
    """A range of keys whose pairs are compared."""

    key: str
    records: SpilledRange  # the records of the range
    corpora: Corpora  # the corpora of all parts in the split
    memory: int  # bytes of memory that the task may use
    output: Path  # file for the pairs to drop


@dataclass(frozen=True)
class Decided:
    """The corpora's overlap in a range, as a matrix, row by row, and cluster counts by size."""

    overlap: tuple[int, ...]
    clusters: ClusterSizes


def decide(task: DecideTask, tick: Tick) -> Decided:
    """Writes the pairs to drop in a range of keys. Reports progress per pair."""
    with DropWriter(task.output, len(task.corpora.of_parts)) as output:
        overlap = decide_range(task.records, task.corpora, 2 * range_bytes(task.memory), output)
    tick(task.records.rows)
    return Decided(tuple(overlap.tolist()), output.clusters())


@dataclass(frozen=True)
class MarkTask:
    """A part whose dropped pairs are marked for the next comparison; ``parts`` is the split's part count."""

    key: str
    number: int
    parts: int
    dropped: Dropped
    output: Path


def mark_part(task: MarkTask, tick: Tick) -> int:
    """Marks the pairs of a part that are dropped so far; returns their number."""
    tick(1)
    return write_marks(task.output, task.dropped, task.number, task.parts)


@dataclass(frozen=True)
class DropTask(PartTask):
    """A part to write without the dropped pairs."""

    number: int  # number of the part in its split
    dropped: Dropped  # the files with the dropped pairs, by reason
    corpora: tuple[str, ...]  # corpus name of each part in the split
    documents: bool = False  # True if duplicates in documents stay as context


def drop_pairs(task: DropTask, tick: Tick) -> PartResult:
    """Writes a part without the dropped pairs; hard-links it if there are none. Reports progress per pair."""
    part, corpora = task.part, pa.array(task.corpora, pa.string())
    drops = PartDrops(task.dropped, task.number, len(task.corpora))
    counts = np.zeros(len(drops.reasons), np.int64)
    names = pa.array(drops.reasons, pa.string())
    # The last pass must write its own files: only these are compressed and have digests.
    if not len(drops) and not task.last:
        with atomic_write(task.kept) as beside:
            link_or_copy(part.path, beside)
        tick(part.pairs)
        kept = replace(part, file=f"{task.kept.parent.name}/{task.kept.name}")
        return PartResult(dropped_counts(dict.fromkeys(drops.reasons, 0)), kept, None)
    with PartOutput(task) as output:
        for batch in iter_pairs(part.path):
            passing, reasons, survivors = drops.among(places_of(batch, task.number))
            nothing = np.full(len(reasons), np.nan)
            instead = corpora.take(pa.array(parts_of(survivors))), pa.array(rows_of(survivors))
            columns = pa.nulls(len(reasons), pa.string())
            repeats = task.documents and len(drops) and DOCUMENT in batch.schema.names
            written = with_repeated(batch, passing) if repeats else batch
            output.write(written, Verdict(passing, names.take(pa.array(reasons)), columns, nothing, nothing, instead))
            counts += np.bincount(reasons, minlength=len(counts))
            tick(len(batch))
    return output.result(dropped_counts(dict(zip(drops.reasons, counts.tolist(), strict=True))))


@dataclass(frozen=True)
class Step:
    """One comparison: the reason for dropping pairs, the round that decides, and the round that marks dropped pairs."""

    reason: str
    decide: Round[DecideTask, Decided]
    mark: Round[MarkTask, int]


def _mark_round(name: str, words: str) -> Round[MarkTask, int]:
    return Round(f"{name}-dropped", mark_part, int, unit="parts", words=f"marking {words}")


def _step(name: str, reason: str, words: str) -> Step:
    made = Round(name, decide, Decided, words=f"comparing {words}")
    return Step(reason, made, _mark_round(name, f"equal {words}"))


STEPS: Mapping[Compared, Step] = {
    "pair": _step("clean-pairs", "duplicate_pair", "pairs"),
    "source": _step("clean-sources", "too_many_targets", "sources"),
    "target": _step("clean-targets", "too_many_sources", "targets"),
}
NEAR_MARK = _mark_round("clean-near", "similar pairs")
DROP: Mapping[DedupPass, Round[DropTask, PartResult]] = {
    "dedup": part_round("clean-dedup", drop_pairs, "dropping duplicates"),
    "limits": part_round("clean-limits", drop_pairs, "dropping duplicates"),
}
DEDUP_ROUNDS: tuple[Round[Any, Any], ...] = (
    *(STEPS["pair"].decide, STEPS["pair"].mark),
    *(*NEAR_ROUNDS, NEAR_MARK),
    *(STEPS["source"].decide, STEPS["source"].mark),
    *(STEPS["target"].decide, DROP["dedup"]),
)


def comparisons_in(settings: DedupSettings, this: DedupPass) -> tuple[Comparison, ...]:
    """Returns the comparisons of a pass. Scores that are computed between the passes rank pairs in the later one."""
    comparisons = comparisons_of(settings)
    if COMPUTED_SCORES.isdisjoint(settings.keep):
        return comparisons if this == "dedup" else ()
    if this == "limits":
        return tuple(comparison for comparison in comparisons if comparison.compared != "pair")
    known = tuple(score for score in settings.keep[:-1] if score not in COMPUTED_SCORES)
    return tuple(replace(each, scores=known) for each in comparisons if each.compared == "pair")


def dedup_rounds(config: Config, this: DedupPass) -> tuple[Round[Any, Any], ...]:
    """Returns the rounds of a pass that a config needs."""
    settings = effective_dedup(section_of(config))
    rounds: list[Round[Any, Any]] = []
    for comparison in comparisons_in(settings, this):
        step = STEPS[comparison.compared]
        rounds += [step.decide, step.mark]
        if comparison.compared == "pair" and settings.pair == "near":
            rounds += [*NEAR_ROUNDS, NEAR_MARK]
    return (*rounds[:-1], DROP[this]) if rounds else ()  # no later comparison reads the last marks


@dataclass(frozen=True)
class DedupPlan:
    """How each split is divided for deduplication: key ranges, and hash ranges for near duplicates."""

    keys: Mapping[str, Ranges]
    near: Mapping[str, Ranges]


def plan_splits(job: Job) -> Rounds[DedupPlan]:
    """Yields the rounds that divide the work; returns the result."""
    settings, compiled = effective_dedup(section_of(job.config)), job.read(Compile).parts
    pairs: dict[str, int] = {}
    for corpus in cleaned_corpora(job.config):
        if is_deduplicated(job.config, corpus.corpus):
            size = sum(part.pairs for part in compiled[corpus.split] if part.corpus == corpus.corpus.name)
            pairs[corpus.split] = pairs.get(corpus.split, 0) + size
    comparisons, memory = comparisons_of(settings), job.task_memory if pairs else 0
    width = max((each.record_bytes for each in comparisons), default=0)
    kept = max((each.kept for each in comparisons), default=0)
    # A range holds at least twice as many records as the best pairs of one key.
    tasks = [
        PlanTask(f"ranges-{split}", split, "clean.dedup", size, size, 2 * min(kept, size), width, memory)
        for split, size in pairs.items()
    ]
    if settings.pair == "near":
        bands, width = Signatures.of(settings).bands.bands, Signatures.of(settings).record_bytes
        tasks += [
            PlanTask(f"near-ranges-{split}", split, "clean.dedup.near", size, size * bands, 0, width, memory)
            for split, size in pairs.items()
        ]
    ranges = yield from PLAN.run(tasks)
    return DedupPlan(dict(zip(pairs, ranges, strict=False)), dict(zip(pairs, ranges[len(pairs) :], strict=False)))


def deduplicate(
    job: Job, corpora: Sequence[CorpusWork], plan: DedupPlan, this: DedupPass
) -> Rounds[list[ComparedSplit]]:
    """Yields the rounds of a pass, and adds the results to the corpora; returns the splits with their results."""
    splits = [_split(job, name, ranges.bits, corpora, this) for name, ranges in plan.keys.items()]
    settings, rounds = effective_dedup(section_of(job.config)), dedup_rounds(job.config, this)
    # A dropped pair must not count in later comparisons: if a line occurs twice with the same translation, it has one
    # translation. The drops are stored per range of keys, and a range of the next comparison would need all of them. So
    # a round writes them again per part, as marks; they replace the marks of the previous comparison.
    marked: str | None = None
    for comparison in comparisons_in(settings, this):
        step = STEPS[comparison.compared]
        yield from _compare(job, comparison, splits, marked)
        if step.mark in rounds:
            marked = comparison.compared
            yield from _mark(step.mark, marked, splits)
        if comparison.compared == "pair" and settings.pair == "near":
            near = yield from find_near(splits, settings, plan.near)
            for split in splits:
                split.near = near[split.name]
                split.dropped[NEAR] = near[split.name].drops
            if NEAR_MARK in rounds:
                marked = "near"
                yield from _mark(NEAR_MARK, marked, splits)
    documents = job.config.documents is not None
    compared = {part.task.key: (split, part.number) for split in splits for part in split.parts}

    def task_of(_: CorpusWork, task: PartTask) -> DropTask:
        split, number = compared[task.key]
        return DropTask(**vars(task), number=number, dropped=split.dropped, corpora=split.corpora, documents=documents)

    yield from rewrite_parts(job, this, DROP[this], [work for work in corpora if this in work.passes], task_of)
    return splits


def _split(job: Job, name: str, bits: int, corpora: Sequence[CorpusWork], this: DedupPass) -> ComparedSplit:
    # Parts are numbered over all compared corpora of a split, as in the records, even if the pass takes only some.
    works = [work for work in corpora if work.split == name and work.comparisons]
    names = tuple(work.of.corpus for work in works for _ in work.compiled)
    parts = [
        ComparedPart(task, spill.part)
        for work in works
        if this in work.passes
        for (_, spill), task in zip(work.parts, work.tasks(job, this), strict=True)
        if spill is not None
    ]
    return ComparedSplit(name, spill_directory(job, name), names, parts, bits)


def _compare(job: Job, comparison: Comparison, splits: Sequence[ComparedSplit], marked: str | None) -> Rounds[None]:
    step = STEPS[comparison.compared]
    tasks = {
        split.name: decide_tasks(job, step.decide, split, comparison, [part.number for part in split.parts], marked)
        for split in splits
    }
    total = sum(part.file.pairs for split in splits for part in split.parts)
    results = yield from step.decide.run_groups(tasks, total)
    for split in splits:
        decided = results[split.name]
        split.dropped[step.reason] = tuple(task.output for task in tasks[split.name])
        if comparison.compared == "pair":
            nothing = np.zeros(split.numbers.count**2, np.int64)
            split.overlap = split.by_corpus(sum((np.array(part.overlap) for part in decided), nothing))
            split.clusters = merged_clusters([part.clusters for part in decided])


def decide_tasks(
    job: Job,
    which: Round[DecideTask, Decided],
    split: ComparedSplit,
    comparison: Comparison,
    parts: Sequence[int],
    marked: str | None = None,
) -> list[DecideTask]:
    """Returns the tasks that compare the pairs of parts in a split; ``marked`` as in :class:`SpilledRange`."""
    return [
        DecideTask(
            f"{which.name}-{split.name}-{number:04d}",
            SpilledRange(split.directory, comparison, tuple(parts), split.bits, number, marked),
            split.numbers,
            job.task_memory,
            split.directory / f"{comparison.compared}-{number:04d}.drops",
        )
        for number in range(1 << split.bits if parts else 0)
    ]


def _mark(which: Round[MarkTask, int], comparison: str, splits: Sequence[ComparedSplit]) -> Rounds[None]:
    """Yields the round that marks the pairs that are dropped up to and including a comparison."""
    tasks = [
        MarkTask(
            f"{which.name}-{part.task.stem}",
            part.number,
            len(split.corpora),
            dict(split.dropped),
            mark_path(split.directory, comparison, part.number),
        )
        for split in splits
        for part in split.parts
    ]
    yield from which.run(tasks, len(tasks))
