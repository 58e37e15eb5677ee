"""encode: turns pairs, cleaned if the config asks for it, into shuffled shards of ids, out of core.

There are three rounds of tasks. The first computes the number of buckets from the available memory. The second encodes
parts: it writes each pair as its final record to the bucket of its position in the global shuffle, in a spill
file. The third writes shards: it collects the records of a bucket from all spill files and sorts them, one bucket after
another. The bytes do not depend on where or when a task runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from nmt_prep.artefacts import link_or_copy, writing
from nmt_prep.config import SIDES, Config, Corpus, Side
from nmt_prep.corpora import iter_pairs, strip_lines
from nmt_prep.engines import Tick
from nmt_prep.pipeline.manifest import Counts, Manifest, differences
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, Result, Stage
from nmt_prep.records import (
    CorpusInfo,
    DatasetInfo,
    GlobalShuffle,
    InputInfo,
    LanguageCodes,
    PairStats,
    ShardInfo,
    ShardPlan,
    SpillWriter,
    SplitInfo,
    Vocabularies,
    VocabularyInfo,
    index_path,
    load_dataset_info,
    shard_name,
    write_dataset_info,
    write_shard,
)
from nmt_prep.records.dataset_json import DATASET_FILE
from nmt_prep.sources.lockfile import LockFile
from nmt_prep.stages.frames import corpus_frames, tag_settings
from nmt_prep.stages.text import PairPart, pair_parts, pair_stages
from nmt_prep.stages.vocab import BuiltVocabulary, Vocabulary, built_vocabularies
from nmt_prep.subwords.frame import Frame

_LARGEST_BUFFER = 32 << 20
_SMALLEST_BUFFER = 1 << 20


_BYTES_PER_RECORD = 128
"""Approximate memory that a record needs in addition to its text while its bucket is sorted: 75 bytes in the spill
file, the rest for its position, its size and its entry in the index."""


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
    """One shard to sort and write.

    Attributes:
        key: name of the task.
        shard: number of the shard in its split.
        plan: plan that the spill files were written with.
        spills: directory of the spill files.
        parts: number of spill files of the split.
        output: the file to write.
    """

    key: str
    shard: int
    plan: ShardPlan
    spills: Path
    parts: int
    output: Path


def spill_name(split: str, part: int) -> str:
    """Returns the file name of the spill file of a part."""
    return f"{split}-{part:05d}"


def spill_buffer(memory: int) -> int:
    """Returns the bytes of records that a task may buffer, given its memory in bytes."""
    return min(max(memory // 8, _SMALLEST_BUFFER), _LARGEST_BUFFER)


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
    """Encodes one part into one spill file; returns the counts. Ticks are pairs.

    Raises:
        VocabularyError: a vocabulary file is not the one that was trained.
        CorpusError: the part cannot be read.
        OutputError: the spill file cannot be written.
    """
    tokenizers = {side: task.vocabularies[side].load() for side in SIDES}
    row = task.first_row
    with SpillWriter(task.spill, task.plan, buffer_bytes=spill_buffer(task.memory)) as writer:
        for batch in iter_pairs(task.part, columns=SIDES):
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


PLAN = Round("plan", plan_buckets, BucketCount, by_all=True)
ENCODE = Round("encode", encode_part, PairStats, made=lambda task, _: [task.spill])
SHUFFLE = Round("shuffle", order_shard, ShardInfo, made=lambda task, _: [task.output, index_path(task.output)])


Parts: TypeAlias = "Mapping[str, Sequence[PairPart]]"
"""Parts of pairs by split, in order."""


@dataclass(frozen=True)
class Encoded:
    """The results of the rounds: counts of each split, and its shards in order."""

    stats: dict[str, PairStats]
    shards: dict[str, tuple[ShardInfo, ...]]


@dataclass(frozen=True)
class EncodeOutput:
    """The settings that only ``dataset.json`` records, by dotted key: the ``input`` section and the licences."""

    input: dict[str, Any]


class Encode(Stage[EncodeOutput, Encoded]):
    """Writes ``<name>-<split>-00000-of-00100`` and ``dataset.json``."""

    name = "encode"
    directory = "records"
    output = EncodeOutput
    rounds = (PLAN, ENCODE, SHUFFLE)
    version = 2

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        return (*pair_stages(config), Vocabulary)

    def settings(self, config: Config) -> dict[str, object]:
        return {
            "name": config.name,
            "seed": config.seed,
            "languages.source": config.languages.source,
            "languages.target": config.languages.target,
            "records.layout": config.records.layout,
            "records.row_length": _row_length(config),
            "records.shards": {split: config.shards(split) for split in config.splits},
            **tag_settings(config),
        }

    def outdated(self, manifest: Manifest, config: Config, lock: LockFile) -> str:
        # The input section and licences change only dataset.json, so they are not part of the settings.
        recorded = replace(manifest, settings=manifest.details.get("input", {}))
        return "; ".join(differences(recorded, self.version, _recorded_settings(config), manifest.inputs))

    def renew(self, job: Job, earlier: Manifest) -> Result[EncodeOutput] | None:
        records = job.root / self.directory
        for name in earlier.files.keys() - {DATASET_FILE}:
            path = job.directory / name
            with writing(path):
                path.parent.mkdir(exist_ok=True)
                path.unlink(missing_ok=True)
                if not link_or_copy(records / name, path):
                    return None
        info = load_dataset_info(records)
        corpora = {split: _with_licences(job.config.splits[split], listed) for split, listed in info.corpora.items()}
        info = info.model_copy(update={"input": _input_info(job.config), "corpora": corpora})
        write_dataset_info(job.directory, info)
        digests = {name: digest for name, digest in earlier.files.items() if name != DATASET_FILE}
        return Result(EncodeOutput(_recorded_settings(job.config)), earlier.counts, digests=digests)

    def work(self, job: Job) -> Rounds[Encoded]:
        parts = pair_parts(job)
        plans = yield from _plan(job, parts)
        total = sum(plan.rows for plan in plans.values())
        spills = list(_spill_tasks(job, parts, plans))
        encoded = yield from ENCODE.run(spills, total)
        stats = {split: PairStats() for split in plans}
        for task, result in zip(spills, encoded, strict=True):
            stats[task.plan.shuffle.split] += result
        ordering = list(_shard_tasks(job, parts, plans))
        ordered = yield from SHUFFLE.run(ordering, total)
        shards: dict[str, tuple[ShardInfo, ...]] = dict.fromkeys(plans, ())
        for shard_task, shard in zip(ordering, ordered, strict=True):
            shards[shard_task.plan.shuffle.split] += (shard,)
        return Encoded(stats, shards)

    def finish(self, job: Job, made: Encoded) -> Result[EncodeOutput]:
        splits = {split: SplitInfo.of(stats, made.shards[split]) for split, stats in made.stats.items()}
        write_dataset_info(job.directory, _describe(job, splits))
        pairs = sum(split.pairs for split in splits.values())
        tokens = {
            "source_tokens": sum(split.source_tokens for split in splits.values()),
            "target_tokens": sum(split.target_tokens for split in splits.values()),
        }
        digests: dict[str, str] = {}
        for shard in (shard for split in splits.values() for shard in split.shards):
            digests[shard.file] = shard.sha256
            if shard.index is not None:
                digests[str(index_path(shard.file))] = shard.index.sha256
        counts = Counts(pairs_in=pairs, pairs_out=pairs, other=tokens)
        return Result(EncodeOutput(_recorded_settings(job.config)), counts, digests=digests)


def _plan(job: Job, parts: Parts) -> Rounds[dict[str, ShardPlan]]:
    """Yields the round that divides shards into buckets; returns the plan of each split.

    Spill files can only be read with the buckets that they were written for, so all processes must agree on these.
    """
    config, memory = job.config, job.task_memory
    tasks = []
    for split, listed in parts.items():
        plan = shard_plan(config, split, sum(part.pairs for part in listed))
        tasks.append(PlanTask(f"plan-{split}", plan, sum(part.bytes for part in listed), memory))
    decided = yield from PLAN.run(tasks)
    return {
        task.plan.shuffle.split: replace(task.plan, buckets_per_shard=buckets.per_shard)
        for task, buckets in zip(tasks, decided, strict=True)
    }


def shard_plan(config: Config, split: str, pairs: int) -> ShardPlan:
    """Returns the plan of a split, with one bucket per shard."""
    records = config.records
    shuffle = GlobalShuffle(pairs, config.seed, split)
    return ShardPlan(shuffle, config.shards(split), 1, records.layout, records.row_length)


def _spill_tasks(job: Job, parts: Parts, plans: Mapping[str, ShardPlan]) -> Iterator[SpillTask]:
    vocabularies, memory = built_vocabularies(job), job.task_memory
    frames = corpus_frames(job, eos=True)
    for split, plan in plans.items():
        row = 0
        corpora = [corpus.name for corpus in _corpora(job.config.splits[split], parts[split])]
        for number, part in enumerate(parts[split]):
            yield SpillTask(
                key=f"spill-{spill_name(split, number)}",
                part=part.path,
                corpus=corpora.index(part.corpus),
                first_row=row,
                plan=plan,
                spill=job.scratch / spill_name(split, number),
                vocabularies=vocabularies,
                frames=frames[split][part.corpus],
                memory=memory,
            )
            row += part.pairs


def _shard_tasks(job: Job, parts: Parts, plans: Mapping[str, ShardPlan]) -> Iterator[ShardTask]:
    for split, plan in plans.items():
        for number in range(plan.shards):
            yield ShardTask(
                key=f"shard-{split}-{number:05d}",
                shard=number,
                plan=plan,
                spills=job.scratch,
                parts=len(parts[split]),
                output=job.directory / shard_name(job.config.name, split, number, plan.shards),
            )


def _describe(job: Job, splits: Mapping[str, SplitInfo]) -> DatasetInfo:
    config, parts = job.config, pair_parts(job)
    files = job.manifest(Vocabulary).files
    vocabularies = {
        side: VocabularyInfo(**{**vars(facts), "file": f"../vocab/{facts.file}"}, sha256=files[facts.file])
        for side, facts in job.read(Vocabulary).sides().items()
    }
    return DatasetInfo(
        name=config.name,
        config_fingerprint=job.fingerprint,
        layout=config.records.layout,
        row_length=_row_length(config),
        seed=config.seed,
        languages=LanguageCodes(source=config.languages.source, target=config.languages.target),
        vocab=Vocabularies(**vocabularies),
        input=_input_info(config),
        corpora={split: _corpora(config.splits[split], listed) for split, listed in parts.items()},
        splits=dict(splits),
    )


def _recorded_settings(config: Config) -> dict[str, object]:
    """Returns the settings that only ``dataset.json`` records, by dotted key."""
    return {f"input.{name}": value for name, value in config.input.model_dump().items()} | licence_settings(config)


def licence_settings(config: Config) -> dict[str, object]:
    """Returns the setting of a stage that records the licences of corpora; empty if no corpus states one."""
    licences = {
        f"{split}.{corpus.name}": corpus.licence
        for split, corpora in config.splits.items()
        for corpus in corpora
        if corpus.licence is not None
    }
    return {"licences": licences} if licences else {}


def _input_info(config: Config) -> InputInfo:
    return InputInfo(batch_tokens=config.input.batch_tokens, max_length=config.input.max_length)


def _row_length(config: Config) -> int | None:
    return config.records.row_length if config.records.layout == "packed" else None


def _corpora(corpora: Sequence[Corpus], parts: Sequence[PairPart]) -> tuple[CorpusInfo, ...]:
    pairs: dict[str, int] = {}
    for part in parts:
        pairs[part.corpus] = pairs.get(part.corpus, 0) + part.pairs
    tags = {corpus.name: corpus.tags for corpus in corpora}
    listed = tuple(CorpusInfo(name=name, pairs=count, tag=tags[name]) for name, count in pairs.items())
    return _with_licences(corpora, listed)


def _with_licences(corpora: Sequence[Corpus], listed: Sequence[CorpusInfo]) -> tuple[CorpusInfo, ...]:
    licences = {corpus.name: corpus.licence for corpus in corpora}
    return tuple(corpus.model_copy(update={"licence": licences[corpus.name]}) for corpus in listed)
