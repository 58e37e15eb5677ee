"""The two rounds of tasks of the encode stage: compiled parts to spill files, spill files to shards.

Both kinds of tasks are plain data and find what they work on by its path, so that any process that sees the same files
can do them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_prep.config import SIDES, Side
from nmt_prep.corpora import iter_pairs, strip_lines
from nmt_prep.engines import Tick
from nmt_prep.records import ShardPlan, SpillWriter, write_shard
from nmt_prep.stages.vocab import BuiltVocabulary
from nmt_prep.subwords.frame import Frame

_LARGEST_BUFFER = 32 << 20
_SMALLEST_BUFFER = 1 << 20


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
    """File name of the spill file of a compiled part."""
    return f"{split}-{part:05d}"


def spill_buffer(memory: int) -> int:
    """Bytes of records that a task holds back, where it may use so much memory."""
    return min(max(memory // 8, _SMALLEST_BUFFER), _LARGEST_BUFFER)


def bucket_share(memory: int) -> int:
    """Bytes that a bucket may have, where a task may use so much memory."""
    return max(memory // 3, _SMALLEST_BUFFER)


def encode_part(task: SpillTask, tick: Tick) -> dict[str, Any]:
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
        stats = writer.close()
    return {name: dict(value) if isinstance(value, Counter) else value for name, value in vars(stats).items()}


def order_shard(task: ShardTask, tick: Tick) -> dict[str, Any]:
    """Writes one shard; returns its entry for ``dataset.json``. Ticks are pairs.

    Raises:
        RecordsError: a spill file is missing or damaged.
        OutputError: the shard cannot be written.
    """
    split = task.plan.shuffle.split
    spills = [task.spills / spill_name(split, part) for part in range(task.parts)]
    shard = write_shard(task.output, task.plan, task.shard, spills)
    tick(shard.pairs)
    return shard.model_dump(mode="json")
