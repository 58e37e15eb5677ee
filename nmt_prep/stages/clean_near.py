"""The rounds of the stage clean that find near duplicates, among the pairs that normalized comparison has left."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nmt_prep.cleaning.dedup.deciding import Corpora
from nmt_prep.cleaning.dedup.drops import ClusterSizes, merged_clusters
from nmt_prep.cleaning.dedup.near import Signatures
from nmt_prep.config import DedupSettings
from nmt_prep.engines.engine import R, T
from nmt_prep.pipeline.rounds import Round, Rounds, RoundTasks
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.clean_dedup_tasks import DedupPart
from nmt_prep.stages.clean_near_tasks import (
    Bucketed,
    Clusters,
    ClustersTask,
    NearPlan,
    NearPlanTask,
    NearSplit,
    PartTask,
    RangeTask,
    Verified,
    Written,
    answer_requests,
    count_clusters,
    find_candidates,
    plan_near,
    verify_part,
    write_bands,
)

NEAR = "near_duplicate"
"""The reason for dropping near duplicates."""

CLUSTERS_AT_ONCE = 1 << 22
"""About how many dropped pairs a task that counts clusters holds."""

NEAR_PLAN = Round("clean-near-ranges", plan_near, NearPlan, by_all=True)
BANDS = Round("clean-near-bands", write_bands, Written, made=lambda task, _: [_file(task, "bands")])
BUCKETS = Round(
    "clean-near-buckets",
    find_candidates,
    Bucketed,
    unit="records",
    made=lambda task, _: [_file(task, "edges"), _file(task, "requests")],
)
TEXTS = Round("clean-near-texts", answer_requests, Written, made=lambda task, _: [_file(task, "texts")])
VERIFY = Round("clean-near", verify_part, Verified, made=lambda task, _: [_file(task, "drops")])
CLUSTERS = Round("clean-near-clusters", count_clusters, Clusters, unit="parts")
NEAR_ROUNDS = (BANDS, BUCKETS, TEXTS, VERIFY, CLUSTERS)


@dataclass(frozen=True)
class NearFound:
    """The near duplicates of a split.

    Attributes:
        drops: files with the pairs to drop.
        clusters: number of clusters by size.
        matches: ``matches[a][b]`` is the number of pairs of corpus ``a`` that are dropped because of a pair of ``b``.
        candidates: number of comparisons; the same pairs may be compared in several bands.
        full_buckets: number of buckets with more pairs than are compared with one another.
    """

    drops: tuple[Path, ...]
    clusters: ClusterSizes
    matches: tuple[tuple[int, ...], ...]
    candidates: int
    full_buckets: int


def plan_near_splits(job: Job, settings: DedupSettings, pairs: Mapping[str, int]) -> Rounds[dict[str, NearPlan]]:
    """Yields the round that divides the hashes of splits, given the numbers of their pairs; returns the plans."""
    if settings.pair != "near":
        return {}
    signatures = Signatures.of(settings)
    tasks = [
        NearPlanTask(f"near-ranges-{split}", split, number, signatures, job.task_memory)
        for split, number in pairs.items()
    ]
    plans = yield from NEAR_PLAN.run(tasks)
    return {task.split: plan for task, plan in zip(tasks, plans, strict=True)}


@dataclass(frozen=True)
class NearWork:
    """The tasks of a split.

    Attributes:
        name: name of the split.
        split: what the tasks have in common.
        parts: the parts of which pairs are left.
    """

    name: str
    split: NearSplit
    parts: Sequence[DedupPart]

    @classmethod
    def of(
        cls,
        name: str,
        directory: Path,
        settings: DedupSettings,
        plan: NearPlan,
        corpora: Corpora,
        parts: Sequence[DedupPart],
    ) -> NearWork:
        """Returns the work on a split.

        Args:
            name: name of the split.
            directory: directory of the marks of dropped pairs, and for the files of the tasks.
            settings: what the config says about duplicates.
            plan: how the work is divided.
            corpora: the corpora of all parts of the split.
            parts: the parts of which pairs are left.
        """
        numbers = tuple(part.number for part in parts)
        similarity = settings.near.similarity
        return cls(name, NearSplit(directory, plan, Signatures.of(settings), similarity, corpora, numbers), parts)

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return sum(part.made.pairs for part in self.parts)

    def part_tasks(self, round_name: str) -> list[PartTask]:
        """Returns a task for each part."""
        return [
            PartTask(
                f"{round_name}-{part.stem}",
                self.split,
                part.number,
                part.files.part,
                part.made.pairs,
                (part.of.context.sides[0], part.of.context.sides[-1]),
            )
            for part in self.parts
        ]

    def range_tasks(self, round_name: str) -> list[RangeTask]:
        """Returns a task for each range of hashes."""
        return [
            RangeTask(f"{round_name}-{self.name}-{number:04d}", self.split, number)
            for number in range(self.split.ranges if self.parts else 0)
        ]

    def cluster_tasks(self, round_name: str, verified: Sequence[Verified]) -> list[ClustersTask]:
        """Returns as many tasks as there must be so that each share of the clusters fits into memory."""
        shares = 1 + sum(sum(each.matches) for each in verified) // CLUSTERS_AT_ONCE
        return [
            ClustersTask(f"{round_name}-{self.name}-{share:04d}", self.split, share, shares)
            for share in range(shares if self.parts else 0)
        ]

    def found(
        self, bucketed: Sequence[Bucketed], verified: Sequence[Verified], counted: Sequence[Clusters]
    ) -> NearFound:
        """Returns the near duplicates, from the results of the tasks."""
        of_parts, count = self.split.corpora.of_parts, self.split.corpora.count
        matches = np.zeros((count, count), np.int64)
        for part, each in zip(self.parts, verified, strict=True):
            matches[of_parts[part.number]] += each.matches
        return NearFound(
            tuple(self.split.file("drops", part.number) for part in self.parts),
            merged_clusters([each.sizes for each in counted]),
            tuple(map(tuple, matches.tolist())),
            sum(each.comparisons for each in bucketed),
            sum(each.full_buckets for each in bucketed),
        )


def find_near(works: Sequence[NearWork]) -> Rounds[list[NearFound]]:
    """Yields the rounds that find near duplicates; returns those of each split."""
    pairs = sum(each.pairs for each in works)
    written = yield from _run(BANDS, [each.part_tasks(BANDS.name) for each in works], pairs)
    records = sum(each.rows for own in written for each in own)
    bucketed = yield from _run(BUCKETS, [each.range_tasks(BUCKETS.name) for each in works], records)
    yield from _run(TEXTS, [each.part_tasks(TEXTS.name) for each in works], pairs)
    verified = yield from _run(VERIFY, [each.part_tasks(VERIFY.name) for each in works], pairs)
    shares = [each.cluster_tasks(CLUSTERS.name, own) for each, own in zip(works, verified, strict=True)]
    counted = yield from _run(CLUSTERS, shares, sum(len(task.split.parts) for own in shares for task in own))
    return [
        each.found(found, lost, sizes)
        for each, found, lost, sizes in zip(works, bucketed, verified, counted, strict=True)
    ]


def _run(
    which: Round[T, R], tasks: Sequence[Sequence[T]], total: int
) -> Generator[RoundTasks[T, R], list[R], list[list[R]]]:
    """Yields the tasks of all splits as one round; returns the results by split."""
    results = iter((yield from which.run([task for own in tasks for task in own], total)))
    return [[next(results) for _ in own] for own in tasks]


def _file(task: PartTask | RangeTask, kind: str) -> Path:
    return task.split.file(kind, task.number)
