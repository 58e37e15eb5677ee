"""Shuffles pairs as text, for the outputs that hold text, through spill files, by the permutation of the records.

The outputs with the same number of shards share the spill files of a split.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.config import SIDES, Side
from nmt_prep.corpora import iter_pairs, strip_lines
from nmt_prep.engines import Tick
from nmt_prep.outputs.pairs import TextPairs
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.records import GlobalShuffle, ShardPlan, SpillWriter
from nmt_prep.stages.encode_tasks import BucketCount, PlanTask, plan_buckets, spill_buffer, spill_name
from nmt_prep.stages.text import PairPart


@dataclass(frozen=True)
class TextTask:
    """A part whose text goes to a spill file.

    Attributes:
        key: name of the task.
        part: the part.
        corpus: number of its corpus among those of the split.
        first_row: number of its first pair in the split.
        plan: assigns pairs to buckets.
        spill: the file to write.
        tags: for each side with a tag, the tag, which becomes the first word of each line.
        memory: bytes of memory that the task may use.
    """

    key: str
    part: Path
    corpus: int
    first_row: int
    plan: ShardPlan
    spill: Path
    tags: Mapping[Side, str]
    memory: int


@dataclass(frozen=True)
class Spilled:
    """The number of pairs of a spill file."""

    pairs: int


def spill_text(task: TextTask, tick: Tick) -> Spilled:
    """Writes the text of a part to a spill file, stripped as it is encoded. Ticks are pairs.

    Raises:
        CorpusError: the part cannot be read.
        OutputError: the spill file cannot be written.
    """
    row = task.first_row
    with SpillWriter(task.spill, task.plan, buffer_bytes=spill_buffer(task.memory)) as writer:
        for batch in iter_pairs(task.part, columns=SIDES):
            source, target = (_tagged(strip_lines(batch.column(side)), task.tags.get(side)) for side in SIDES)
            writer.add_text(row, source, target, task.corpus)
            row += len(batch)
            tick(len(batch))
        return Spilled(writer.close().pairs)


def _tagged(lines: pa.Array, tag: str | None) -> pa.Array:
    if tag is None:
        return lines
    return pc.binary_join_element_wise(pa.scalar(tag, lines.type), lines, pa.scalar(" ", lines.type))


PLAN_TEXT = Round("plan-text", plan_buckets, BucketCount, by_all=True)
SPILL_TEXT = Round("spill-text", spill_text, Spilled, made=lambda task, _: [task.spill])


def shuffled_text(
    job: Job, parts: Mapping[str, Sequence[PairPart]], wanted: Mapping[str, set[int]]
) -> Rounds[dict[tuple[str, int], list[TextPairs]]]:
    """Yields the rounds that shuffle text; returns the pairs of each shard, by split and number of shards.

    Args:
        job: job of the stage.
        parts: the parts of each split.
        wanted: for each split, the numbers of shards that outputs have.
    """
    config = job.config
    memory = job.task_memory if any(wanted.values()) else 0
    plans = [
        ShardPlan(GlobalShuffle(sum(part.pairs for part in parts[split]), config.seed, split), shards, 1, "text")
        for split, counts in wanted.items()
        for shards in sorted(counts)
    ]
    size = {split: sum(part.bytes for part in listed) for split, listed in parts.items()}
    tasks = [PlanTask(_name(plan), plan, size[plan.shuffle.split], memory) for plan in plans]
    decided = yield from PLAN_TEXT.run(tasks)
    plans = [replace(plan, buckets_per_shard=buckets.per_shard) for plan, buckets in zip(plans, decided, strict=True)]
    spills = [task for plan in plans for task in _spill_tasks(job, plan, parts[plan.shuffle.split])]
    yield from SPILL_TEXT.run(spills, sum(plan.rows for plan in plans))
    return {
        (plan.shuffle.split, plan.shards): [
            TextPairs(plan, shard, tuple(_spill(job, plan, part) for part in range(len(parts[plan.shuffle.split]))))
            for shard in range(plan.shards)
        ]
        for plan in plans
    }


def _spill_tasks(job: Job, plan: ShardPlan, parts: Sequence[PairPart]) -> Iterator[TextTask]:
    split, row = plan.shuffle.split, 0
    tags = {corpus.name: corpus.tags for corpus in job.config.splits[split]}
    numbers: dict[str, int] = {}
    for number, part in enumerate(parts):
        yield TextTask(
            key=f"{_name(plan)}-{number:05d}",
            part=part.path,
            corpus=numbers.setdefault(part.corpus, len(numbers)),
            first_row=row,
            plan=plan,
            spill=_spill(job, plan, number),
            tags=tags[part.corpus],
            memory=job.task_memory,
        )
        row += part.pairs


def _name(plan: ShardPlan) -> str:
    return f"text-{plan.shuffle.split}-{plan.shards}"


def _spill(job: Job, plan: ShardPlan, part: int) -> Path:
    return job.scratch / spill_name(_name(plan), part)
