"""The deduplication rounds of the stage clean.

Pairs are compared on both sides, then by source, then by target. Each comparison ignores the pairs that an earlier one
has dropped. The tasks that clean parts write records of their pairs to spill files, divided by range of the key. For
each comparison, the tasks of a round each read one range from all spill files, and write the pairs to drop; if another
comparison follows, a round marks the dropped pairs of each part for it. In the end the parts are written without these
pairs. The number of ranges is chosen to fit the memory of a task; it does not affect the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.cleaning.dedup.deciding import Corpora
from nmt_prep.cleaning.dedup.drops import ClusterSizes, mark_path, merged_clusters
from nmt_prep.cleaning.dedup.keys import Compared
from nmt_prep.cleaning.dedup.records import Comparison, comparisons_of
from nmt_prep.cleaning.presets import effective_dedup
from nmt_prep.config import Config, DedupSettings
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.clean_corpora import cleaned_corpora, is_deduplicated, section_of
from nmt_prep.stages.clean_dedup_tasks import (
    Decided,
    DecideTask,
    DedupPart,
    DropTask,
    Marked,
    MarkTask,
    PlanTask,
    RangeBits,
    decide,
    drop_pairs,
    mark_part,
    plan_ranges,
)
from nmt_prep.stages.clean_near import NEAR, NEAR_ROUNDS, NearFound, NearWork, find_near, plan_near_splits
from nmt_prep.stages.clean_near_tasks import NearPlan
from nmt_prep.stages.clean_tasks import PartResult, made_files
from nmt_prep.stages.clean_work import CorpusWork, comparisons_by_pass, spill_directory
from nmt_prep.stages.compile import Compile


@dataclass(frozen=True)
class Step:
    """One comparison: the reason for dropping pairs, the round that decides, and the one that marks dropped pairs."""

    reason: str
    decide: Round[DecideTask, Decided]
    mark: Round[MarkTask, Marked]

    @classmethod
    def of(cls, name: str, reason: str) -> Step:
        """Returns a step whose rounds have the given name."""
        return cls(
            reason,
            Round(name, decide, Decided, made=lambda task, _: [task.output]),
            Round(f"{name}-dropped", mark_part, Marked, unit="parts", made=lambda task, _: [task.output]),
        )


PLAN = Round("clean-ranges", plan_ranges, RangeBits, by_all=True)
STEPS: Mapping[Compared, Step] = {
    "pair": Step.of("clean-pairs", "duplicate_pair"),
    "source": Step.of("clean-sources", "too_many_targets"),
    "target": Step.of("clean-targets", "too_many_sources"),
}
DROP, LIMIT = (
    Round(name, drop_pairs, PartResult, made=lambda task, result: made_files(task.part.files, result))
    for name in ("clean-dedup", "clean-limits")
)
NEAR_MARK = Round("clean-near-dropped", mark_part, Marked, unit="parts", made=lambda task, _: [task.output])
DEDUP_ROUNDS: tuple[Round[Any, Any], ...] = (
    *(STEPS["pair"].decide, STEPS["pair"].mark),
    *(*NEAR_ROUNDS, NEAR_MARK),
    *(STEPS["source"].decide, STEPS["source"].mark),
    *(STEPS["target"].decide, DROP),
)

Overlap: TypeAlias = "dict[str, dict[str, int]]"
"""``overlap[a][b]`` is the number of pairs of the corpus ``a`` that are also in ``b``; ``overlap[a][a]`` counts all."""


@dataclass
class DedupSplit:
    """A split to deduplicate.

    Attributes:
        name: name of the split.
        bits: number of leading bits of a key that are the number of its range.
        corpora: name of the corpus of each part, also of those of which no pair is left.
        parts: the parts of which pairs are left, in order.
        dropped: the files with dropped pairs, by reason.
        overlap: overlap of the corpora; None until it is computed, or if pairs are not compared.
        clusters: number of clusters of equal pairs, by size.
        near: the near duplicates; None until they are found, or if they are not searched for.
    """

    name: str
    bits: int
    corpora: tuple[str, ...]
    parts: list[DedupPart]
    dropped: dict[str, tuple[Path, ...]]
    overlap: Overlap | None = None
    clusters: ClusterSizes = ()
    near: NearFound | None = None

    @property
    def numbers(self) -> Corpora:
        """The number of the corpus of each part."""
        names = list(dict.fromkeys(self.corpora))
        return Corpora(tuple(names.index(name) for name in self.corpora), len(names))

    def by_corpus(self, matrix: npt.ArrayLike) -> Overlap:
        """Returns a matrix of corpora, given row by row, with the names of the corpora."""
        names = list(dict.fromkeys(self.corpora))
        rows = np.reshape(matrix, (len(names), len(names))).tolist()
        return {name: dict(zip(names, row, strict=True)) for name, row in zip(names, rows, strict=True)}

    def compared(self, comparison: Comparison) -> list[DedupPart]:
        """Returns the parts to compare. Limits do not apply to monolingual corpora."""
        return [part for part in self.parts if comparison.compared == "pair" or part.has_both_sides]


def dedup_rounds(config: Config) -> tuple[tuple[Round[Any, Any], ...], tuple[Round[Any, Any], ...]]:
    """Returns the rounds of the comparisons that a config asks for: of the pass ``dedup``, and of ``limits``."""
    settings = effective_dedup(section_of(config))
    early, late = comparisons_by_pass(settings)
    return _rounds_of(settings, early, DROP), _rounds_of(settings, late, LIMIT)


def _rounds_of(
    settings: DedupSettings, comparisons: Sequence[Comparison], drop: Round[Any, Any]
) -> tuple[Round[Any, Any], ...]:
    rounds: list[Round[Any, Any]] = []
    for comparison in comparisons:
        step = STEPS[comparison.compared]
        rounds += [step.decide, step.mark]
        if comparison.compared == "pair" and settings.pair == "near":
            rounds += [*NEAR_ROUNDS, NEAR_MARK]
    return (*rounds[:-1], drop) if rounds else ()  # no comparison needs the marks of the last one


@dataclass(frozen=True)
class DedupPlan:
    """Division of the work on each split to deduplicate.

    Attributes:
        bits: number of leading bits of a key that are the number of its range.
        near: how the search for near duplicates is divided; empty if there is none.
    """

    bits: Mapping[str, int]
    near: Mapping[str, NearPlan]


def plan_splits(job: Job) -> Rounds[DedupPlan]:
    """Yields the rounds that divide the work; returns the result."""
    settings, compiled = effective_dedup(section_of(job.config)), job.read(Compile).parts
    pairs: dict[str, int] = {}
    for split, _, corpus in cleaned_corpora(job.config):
        if is_deduplicated(settings, corpus):
            own = sum(part.pairs for part in compiled[split] if part.corpus == corpus.name)
            pairs[split] = pairs.get(split, 0) + own
    comparisons = comparisons_of(settings)
    tasks = [
        PlanTask(f"ranges-{split}", split, number, comparisons, job.task_memory) for split, number in pairs.items()
    ]
    planned = yield from PLAN.run(tasks)
    near = yield from plan_near_splits(job, settings, pairs)
    return DedupPlan({task.split: ranges.bits for task, ranges in zip(tasks, planned, strict=True)}, near)


def deduplicate(
    job: Job, corpora: Sequence[CorpusWork], plan: DedupPlan, this: Literal["dedup", "limits"]
) -> Rounds[list[DedupSplit]]:
    """Yields the rounds of a pass that compares pairs, and gives the corpora the results.

    Args:
        job: the job.
        corpora: all corpora.
        plan: how the work is divided.
        this: the pass.

    Returns:
        The splits, with the results of the comparisons.
    """
    chosen = [each for each in corpora if this in each.passes]
    splits = [
        _split(job, name, number, [each for each in corpora if each.split == name and each.comparisons], this)
        for name, number in plan.bits.items()
    ]
    settings, number = effective_dedup(section_of(job.config)), 0 if this == "dedup" else 1
    rounds = dedup_rounds(job.config)[number]
    marked: str | None = None
    for comparison in comparisons_by_pass(settings)[number]:
        step = STEPS[comparison.compared]
        yield from _compare(job, comparison, splits, marked)
        if step.mark in rounds:
            marked = comparison.compared
            yield from _mark(job, step.mark, marked, splits)
        if comparison.compared == "pair" and settings.pair == "near":
            yield from _compare_near(job, settings, plan, splits)
            if NEAR_MARK in rounds:
                marked = "near"
                yield from _mark(job, NEAR_MARK, marked, splits)
    tasks = [
        DropTask(f"{this}-{part.stem}", part, split.dropped, split.corpora) for split in splits for part in split.parts
    ]
    drop = DROP if this == "dedup" else LIMIT
    results = iter((yield from drop.run(tasks, sum(task.part.made.pairs for task in tasks))))
    for each in chosen:
        each.passed([next(results) for _ in each.kept()])
    return splits


def _split(
    job: Job, name: str, bits: int, corpora: Sequence[CorpusWork], this: Literal["dedup", "limits"]
) -> DedupSplit:
    names = tuple(each.of.corpus for each in corpora for _ in each.tasks)
    split = DedupSplit(name, bits, names, [], {})
    for each in corpora:
        if this not in each.passes:
            continue
        for (spill, kept), files in zip(each.kept(), each.kept_files(job, this), strict=True):
            assert spill is not None
            split.parts.append(DedupPart(f"{name}-{Path(kept.file).stem}", spill.part, each.of, files, kept))
    return split


def _compare(job: Job, comparison: Comparison, splits: Sequence[DedupSplit], marked: str | None) -> Rounds[None]:
    """Yields the round of a comparison, and adds the files that it writes to the splits."""
    step = STEPS[comparison.compared]
    decisions = [_decisions(job, step, split, comparison, marked) for split in splits]
    total = sum(part.made.pairs for split in splits for part in split.compared(comparison))
    results = iter((yield from step.decide.run([task for own in decisions for task in own], total)))
    for split, own in zip(splits, decisions, strict=True):
        decided = [next(results) for _ in own]
        split.dropped[step.reason] = tuple(task.output for task in own)
        if comparison.compared == "pair":
            nothing = np.zeros(split.numbers.count**2, np.int64)
            split.overlap = split.by_corpus(sum((np.array(each.overlap) for each in decided), nothing))
            split.clusters = merged_clusters([each.clusters for each in decided])


def _decisions(job: Job, step: Step, split: DedupSplit, comparison: Comparison, marked: str | None) -> list[DecideTask]:
    directory, parts = spill_directory(job, split.name), tuple(part.number for part in split.compared(comparison))
    return [
        DecideTask(
            f"{step.decide.name}-{split.name}-{number:04d}",
            number,
            comparison,
            split.bits,
            directory,
            parts,
            marked,
            split.numbers,
            job.task_memory,
            directory / f"{comparison.compared}-{number:04d}.drops",
        )
        for number in range(1 << split.bits if parts else 0)
    ]


def _compare_near(job: Job, settings: DedupSettings, plan: DedupPlan, splits: Sequence[DedupSplit]) -> Rounds[None]:
    """Yields the rounds that find near duplicates, and adds the files that they write to the splits."""
    works = [
        NearWork.of(
            split.name, spill_directory(job, split.name), settings, plan.near[split.name], split.numbers, split.parts
        )
        for split in splits
    ]
    for split, found in zip(splits, (yield from find_near(works)), strict=True):
        split.dropped[NEAR] = found.drops
        split.near = found


def _mark(job: Job, which: Round[MarkTask, Marked], comparison: str, splits: Sequence[DedupSplit]) -> Rounds[None]:
    """Yields the round that marks the pairs that are dropped up to and including a comparison."""
    yield from which.run(
        [
            MarkTask(
                f"{which.name}-{part.stem}",
                part.number,
                len(split.corpora),
                dict(split.dropped),
                mark_path(spill_directory(job, split.name), comparison, part.number),
            )
            for split in splits
            for part in split.parts
        ],
        sum(len(split.parts) for split in splits),
    )
