"""The rounds of tasks of encode: a plan of buckets, compiled parts to spill files, spill files to shards.

Tasks are plain data and find their files by path, so that any process that sees the same files can do them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nmt_prep.config import SIDES, Side
from nmt_prep.corpora import iter_pairs, strip_lines
from nmt_prep.engines import Tick
from nmt_prep.pipeline.rounds import Round
from nmt_prep.records import PairStats, ShardInfo, ShardPlan, SpillWriter, index_path, write_shard
from nmt_prep.stages.vocab import BuiltVocabulary
from nmt_prep.subwords.frame import Frame

_LARGEST_BUFFER = 32 << 20
_SMALLEST_BUFFER = 1 << 20


_BYTES_PER_RECORD = 128
"""Memory that a record takes beside its text while its bucket is put in order, roughly: 75 bytes in the spill file, the
rest for its place, its size and its entry in the index."""


@dataclass(frozen=True)
class PlanTask:
    """A split whose shards are to be cut into buckets that fit into memory.

    Attributes:
        key: names the task.
        plan: of the split, with one bucket a shard.
        text_bytes: UTF-8 bytes of both sides.
        memory: bytes that a task may use.
    """

    key: str
    plan: ShardPlan
    text_bytes: int
    memory: int


@dataclass(frozen=True)
class Buckets:
    """The number of buckets that each shard of a split is cut into."""

    per_shard: int


@dataclass(frozen=True)
class SpillTask:
    """One compiled part to encode.

    Attributes:
        key: names the task.
        part: the compiled part.
        corpus: number of its corpus among those of the split.
        first_row: number of its first pair in the split.
        plan: where pairs go.
        spill: the file to write.
        vocabularies: of either side.
        frames: of either side, what is put round the ids of each row.
        memory: bytes that the task may use.
    """

    key: str
    part: Path
    corpus: int
    first_row: int
    plan: ShardPlan
    spill: Path
    vocabularies: dict[Side, BuiltVocabulary]
    frames: dict[Side, Frame]
    memory: int


@dataclass(frozen=True)
class ShardTask:
    """One shard to put in order.

    Attributes:
        key: names the task.
        shard: number of the shard in its split.
        plan: as the spill files were written with.
        spills: directory of the spill files.
        parts: how many there are of the split.
        output: the shard.
    """

    key: str
    shard: int
    plan: ShardPlan
    spills: Path
    parts: int
    output: Path


def spill_name(split: str, part: int) -> str:
    """Returns the file name of the spill file of a compiled part."""
    return f"{split}-{part:05d}"


def spill_buffer(memory: int) -> int:
    """Returns how many bytes of records a task may buffer, for its memory in bytes."""
    return min(max(memory // 8, _SMALLEST_BUFFER), _LARGEST_BUFFER)


def bucket_share(memory: int) -> int:
    """Returns how many bytes a bucket may have, for the memory of a task in bytes."""
    return max(memory // 3, _SMALLEST_BUFFER)


def plan_buckets(task: PlanTask, tick: object) -> Buckets:
    """Returns the number of buckets for the memory of this process. Any number gives the same shards."""
    del tick
    return Buckets(with_buckets(task.plan, task.text_bytes, task.memory).buckets_per_shard)


def with_buckets(plan: ShardPlan, text_bytes: int, memory: int) -> ShardPlan:
    """Returns a plan whose shards are cut into buckets that fit into memory.

    Args:
        plan: of a split.
        text_bytes: UTF-8 bytes of both sides of the split.
        memory: bytes that a task may use.
    """
    return ShardPlan.within(
        plan.shuffle,
        plan.shards,
        estimated_bytes=text_bytes + _BYTES_PER_RECORD * plan.rows,
        bucket_bytes=bucket_share(memory),
        layout=plan.layout,
        row_length=plan.row_length,
    )


def encode_part(task: SpillTask, tick: Tick) -> PairStats:
    """Encodes one compiled part into one spill file; returns the counts. Ticks are pairs.

    Raises:
        VocabularyError: a vocabulary does not read back as it was built.
        CorpusError: the part cannot be read.
        OutputError: the spill file cannot be written.
    """
    tokenizers = {side: task.vocabularies[side].load() for side in SIDES}
    row = task.first_row
    with SpillWriter(task.spill, task.plan, buffer_bytes=spill_buffer(task.memory)) as writer:
        for batch in iter_pairs(task.part):
            inputs, targets = (
                task.frames[side].around(tokenizers[side].encode_batch(strip_lines(batch.column(side)), threads=1))
                for side in SIDES
            )
            writer.add(row, inputs, targets, task.corpus)
            row += len(inputs)
            tick(len(inputs))
        return writer.close()


def order_shard(task: ShardTask, tick: Tick) -> ShardInfo:
    """Writes one shard; returns its entry for ``dataset.json``. Ticks are pairs.

    Raises:
        RecordsError: a spill file is missing or damaged.
        OutputError: the shard cannot be written.
    """
    split = task.plan.shuffle.split
    spills = [task.spills / spill_name(split, part) for part in range(task.parts)]
    shard = write_shard(task.output, task.plan, task.shard, spills)
    tick(shard.pairs)
    return shard


PLAN = Round("plan", plan_buckets, Buckets, by_all=True)
ENCODE = Round("encode", encode_part, PairStats, made=lambda task, _: [task.spill])
SHUFFLE = Round("shuffle", order_shard, ShardInfo, made=lambda task, _: [task.output, index_path(task.output)])
