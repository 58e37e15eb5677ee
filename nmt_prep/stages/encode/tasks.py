"""The tasks of the stage encode, and the profile of the encoded text.

Tasks divide shards into buckets, encode parts, and sort and write shards. Those that encode parts also draw samples,
from which the profile follows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np

from nmt_prep.corpora import iter_pairs, strip_lines
from nmt_prep.engines import Tick
from nmt_prep.pipeline.rounds import Round
from nmt_prep.records.dataset_json import PairStats, ShardInfo
from nmt_prep.records.index import index_path
from nmt_prep.records.plan import ShardPlan
from nmt_prep.records.shard_writer import write_shards
from nmt_prep.records.writer import SpillWriter
from nmt_prep.reporting.profile import CorpusProfile, TextProfile, VocabularyUse, corpus_profile, vocabulary_use
from nmt_prep.reporting.sample import CorpusSample, PairSample, SampleCollector
from nmt_prep.sides import SIDES, Side
from nmt_prep.stages.vocab import BuiltVocabulary
from nmt_prep.subwords.frame import Frame

_LARGEST_BUFFER = 32 << 20
_SMALLEST_BUFFER = 1 << 20
_CACHED_BUFFER = 8 << 20
"""Records in a buffer of this size are still in the processor's cache when they are grouped and written."""

_SEGMENT = 64 << 10
"""Bytes of a bucket that should be together in a spill file, so that shards are read quickly."""


_BYTES_PER_RECORD = 128
"""Approximate memory that a record needs in addition to its text while its bucket is sorted: 10 bytes in the spill
file, 55 around its ids in the shard, the rest for its position, its sizes and its entry in the index."""


@dataclass(frozen=True)
class PlanTask:
    """A split whose shards are to be divided into buckets that fit into memory.

    Attributes:
        key: name of the task.
        plan: plan of the split, with one bucket per shard.
        text_bytes: UTF-8 bytes of both sides.
        memory: bytes of memory that a task may use.
    """

    key: str
    plan: ShardPlan
    text_bytes: int
    memory: int


@dataclass(frozen=True)
class BucketCount:
    """The number of buckets of each shard of a split."""

    per_shard: int


@dataclass(frozen=True)
class SpillTask:
    """One part to encode.

    Attributes:
        key: name of the task.
        part: the part.
        corpus: number of its corpus among those of the split.
        first_row: number of its first pair in the split.
        plan: plan of the split: assigns pairs to buckets.
        spill: the file to write.
        vocabularies: vocabulary of each side.
        frames: for each side, the special pieces around the ids of each row.
        memory: bytes of memory that the task may use.
        sample: the choice of the sample of the corpus.
        first_pair: number of the first pair in the corpus.
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
    sample: CorpusSample
    first_pair: int

    @property
    def sampled(self) -> Path:
        """The file for the sample of the part."""
        return self.spill.with_name(f"sample-{self.spill.name}")


@dataclass(frozen=True)
class ShardTask:
    """Consecutive shards of a split to sort and write: one, or several small ones.

    Attributes:
        key: name of the task.
        first: number of the first shard in its split.
        plan: plan that the spill files were written with.
        spills: directory of the spill files.
        parts: number of spill files of the split.
        outputs: the file to write for each shard.
    """

    key: str
    first: int
    plan: ShardPlan
    spills: Path
    parts: int
    outputs: tuple[Path, ...]


@dataclass(frozen=True)
class WrittenShards:
    """The entries of the shards of a task for ``dataset.json``."""

    shards: tuple[ShardInfo, ...]


def spill_name(split: str, part: int) -> str:
    """Returns the file name of the spill file of a part."""
    return f"{split}-{part:05d}"


_GROUP_BYTES = 32 << 20
_GROUP_SHARDS = 8


def shards_per_task(shards: int, text_bytes: int) -> int:
    """Returns how many shards of a split a task writes: several if they are small, to flush and digest them together.

    Args:
        shards: number of shards of the split.
        text_bytes: UTF-8 bytes of both sides of its pairs.
    """
    return min(max(_GROUP_BYTES * shards // max(text_bytes, 1), 1), _GROUP_SHARDS)


def spill_buffer(memory: int, buckets: int | None = None) -> int:
    """Returns the bytes of records that a task may buffer.

    Args:
        memory: memory of the task in bytes.
        buckets: number of buckets; None for any number.
    """
    wanted = _LARGEST_BUFFER if buckets is None else min(max(buckets * _SEGMENT, _CACHED_BUFFER), _LARGEST_BUFFER)
    return min(max(memory // 8, _SMALLEST_BUFFER), wanted)


def bucket_share(memory: int) -> int:
    """Returns the maximum bytes of a bucket, given the memory of a task in bytes."""
    return max(memory // 3, _SMALLEST_BUFFER)


def plan_buckets(task: PlanTask, tick: object) -> BucketCount:
    """Returns the number of buckets for the memory of a task. Any number gives the same shards."""
    del tick
    plan = ShardPlan.within(
        task.plan.shuffle,
        task.plan.shards,
        estimated_bytes=task.text_bytes + _BYTES_PER_RECORD * task.plan.rows,
        bucket_bytes=bucket_share(task.memory),
    )
    return BucketCount(plan.buckets_per_shard)


def encode_part(task: SpillTask, tick: Tick) -> PairStats:
    """Encodes one part into one spill file; returns the counts. Ticks are pairs. Writes the sample of the part too.

    Raises:
        VocabularyError: a vocabulary file is not the one that was trained.
        CorpusError: the part cannot be read.
        OutputError: the spill file cannot be written.
    """
    tokenizers = {side: task.vocabularies[side].load() for side in SIDES}
    row = task.first_row
    sizes = {side: len(tokenizers[side]) for side in SIDES}
    collector = SampleCollector(task.sample, task.first_pair, sizes, task.frames)
    source, target = ((task.frames[side].before, task.frames[side].after) for side in SIDES)
    with SpillWriter(
        task.spill, task.plan, frames=(source, target), buffer_bytes=spill_buffer(task.memory, task.plan.buckets)
    ) as writer:
        for batch in iter_pairs(task.part, columns=SIDES):
            text = {side: strip_lines(batch.column(side)) for side in SIDES}
            ids = {side: tokenizers[side].encode_batch(text[side], threads=1) for side in SIDES}
            stats = writer.add(row, ids["source"], ids["target"], task.corpus)
            collector.add(text, ids, max(stats.max_lengths, default=0))
            row += len(batch)
            tick(len(batch))
        collector.result().save(task.sampled)
        return writer.close()


def order_shards(task: ShardTask, tick: Tick) -> WrittenShards:
    """Writes the shards of a task; returns their entries for ``dataset.json``. Ticks are pairs.

    Raises:
        RecordsError: a spill file is missing or damaged.
        OutputError: a shard cannot be written.
    """
    split = task.plan.shuffle.split
    spills = [task.spills / spill_name(split, part) for part in range(task.parts)]
    shards = write_shards(task.outputs, task.plan, task.first, spills)
    tick(sum(shard.pairs for shard in shards))
    return WrittenShards(tuple(shards))


PLAN = Round("plan", plan_buckets, BucketCount, by_all=True)
ENCODE = Round(
    "encode", encode_part, PairStats, made=lambda task, _: [task.spill, task.sampled], words="encoding pairs"
)
SHUFFLE = Round(
    "shuffle",
    order_shards,
    WrittenShards,
    words="shuffling pairs",
    made=lambda task, _: [path for output in task.outputs for path in (output, index_path(output))],
)


@dataclass(frozen=True)
class EncodedPart:
    """A part after encoding.

    Attributes:
        split: its split.
        corpus: name of its corpus.
        stats: counts of its pairs.
        sample: file with its sample.
        frames: for each side, the frame of its rows.
    """

    split: str
    corpus: str
    stats: PairStats
    sample: Path
    frames: Mapping[Side, Frame]


def profile_of(parts: list[EncodedPart], vocabularies: Mapping[Side, BuiltVocabulary]) -> TextProfile:
    """Returns the profile of all parts; reads the files with their samples.

    Args:
        parts: all parts, those of a corpus in its order.
        vocabularies: vocabulary of each side.
    """
    tokenizers = {side: vocabulary.load() for side, vocabulary in vocabularies.items()}
    words_of = {tokenizer: tokenizer.words() for tokenizer in set(tokenizers.values())}  # one, if the sides share it
    words = {side: words_of[tokenizer] for side, tokenizer in tokenizers.items()}
    corpora: dict[str, dict[str, CorpusProfile]] = {}
    uses: dict[Side, VocabularyUse] = {}
    splits = list(dict.fromkeys(part.split for part in parts))
    told = "train" if "train" in splits else splits[0]
    for split in splits:
        corpora[split] = {}
        ids = {side: np.zeros(len(tokenizers[side]), np.int64) for side in SIDES}
        characters: dict[Side, Counter[int]] = {side: Counter() for side in SIDES}
        for corpus in dict.fromkeys(part.corpus for part in parts if part.split == split):
            own = [part for part in parts if (part.split, part.corpus) == (split, corpus)]
            sample = reduce(add, (PairSample.load(part.sample) for part in own))
            stats = reduce(add, (part.stats for part in own))
            corpora[split][corpus] = corpus_profile(sample, stats, words)
            for side in SIDES:
                for number in (*own[0].frames[side].before, *own[0].frames[side].after):
                    sample.ids[side][number] -= stats.pairs
                ids[side] += sample.ids[side]
                characters[side] += sample.characters[side]
        if split == told:
            uses = {
                side: vocabulary_use(split, tokenizers[side], words[side], ids[side], characters[side])
                for side in SIDES
            }
    return TextProfile(corpora, uses)
