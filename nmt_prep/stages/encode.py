"""encode: from compiled pairs to shuffled shards of ids, out of core.

Three rounds of tasks. The first decides how many buckets memory allows. The second takes the compiled parts: each pair
becomes its finished record at once and is spilled to the bucket of its position in the global shuffle. The third takes
the shards: each is gathered from all spill files and put in order, a bucket at a time. No byte depends on which task
ran where or when.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

from nmt_prep.artefacts import link_or_copy, writing
from nmt_prep.config import Config, Corpus
from nmt_prep.lockfile import LockFile
from nmt_prep.pipeline.manifest import Counts, Manifest, differences
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, Result, Stage
from nmt_prep.records import (
    CorpusInfo,
    DatasetInfo,
    GlobalShuffle,
    InputInfo,
    Languages,
    PairStats,
    ShardInfo,
    ShardPlan,
    SplitInfo,
    Vocabularies,
    VocabularyInfo,
    index_path,
    load_dataset_info,
    shard_name,
    write_dataset_info,
)
from nmt_prep.records.dataset_file import DATASET_FILE
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.compile_tasks import CompiledPart
from nmt_prep.stages.encode_tasks import ENCODE, PLAN, SHUFFLE, PlanTask, ShardTask, SpillTask, spill_name
from nmt_prep.stages.frames import corpus_frames, tag_settings
from nmt_prep.stages.vocab import Vocabulary, built_vocabularies

Parts: TypeAlias = "Mapping[str, Sequence[CompiledPart]]"
"""Compiled parts by split, in order."""


@dataclass(frozen=True)
class Encoded:
    """What the rounds of tasks produced: counts of each split, and its shards in order."""

    stats: dict[str, PairStats]
    shards: dict[str, tuple[ShardInfo, ...]]


@dataclass(frozen=True)
class EncodeOutput:
    """The settings of the ``input`` section that ``dataset.json`` records, by dotted key."""

    input: dict[str, Any]


class Encode(Stage[EncodeOutput, Encoded]):
    """Writes ``<name>-<split>-00000-of-00100`` and ``dataset.json``."""

    name: ClassVar[str] = "encode"
    directory: ClassVar[str] = "records"
    output: ClassVar[type[EncodeOutput]] = EncodeOutput
    rounds: ClassVar[tuple[Round[Any, Any], ...]] = (PLAN, ENCODE, SHUFFLE)
    version: ClassVar[int] = 2

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        return (Compile, Vocabulary)

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
        # The input section changes dataset.json alone, so it is no part of the settings.
        recorded = replace(manifest, settings=manifest.details.get("input", {}))
        return "; ".join(differences(recorded, self.version, _input_settings(config), manifest.inputs))

    def renew(self, job: Job, published: Manifest) -> Result[EncodeOutput] | None:
        records = job.root / self.directory
        for name in published.files.keys() - {DATASET_FILE}:
            path = job.directory / name
            with writing(path):
                path.parent.mkdir(exist_ok=True)
                path.unlink(missing_ok=True)
                if not link_or_copy(records / name, path):
                    return None
        info = load_dataset_info(records).model_copy(update={"input": _input_info(job.config)})
        write_dataset_info(job.directory, info)
        digests = {name: digest for name, digest in published.files.items() if name != DATASET_FILE}
        return Result(EncodeOutput(_input_settings(job.config)), published.counts, digests=digests)

    def work(self, job: Job) -> Rounds[Encoded]:
        parts = job.read(Compile).parts
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
        return Result(EncodeOutput(_input_settings(job.config)), counts, digests=digests)


def _plan(job: Job, parts: Parts) -> Rounds[dict[str, ShardPlan]]:
    """Yields the round that cuts shards into buckets; returns where the pairs of each split go.

    Spill files are usable only with the buckets that they were written for, so all processes must agree on these.
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
    """Returns where the pairs of a split go, with one bucket a shard."""
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
                part=job.directory_of(Compile) / part.file,
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
    config, parts = job.config, job.read(Compile).parts
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
        languages=Languages(source=config.languages.source, target=config.languages.target),
        vocab=Vocabularies(**vocabularies),
        input=_input_info(config),
        corpora={split: _corpora(config.splits[split], listed) for split, listed in parts.items()},
        splits=dict(splits),
    )


def _input_settings(config: Config) -> dict[str, object]:
    return {f"input.{name}": value for name, value in config.input.model_dump().items()}


def _input_info(config: Config) -> InputInfo:
    return InputInfo(batch_tokens=config.input.batch_tokens, max_length=config.input.max_length)


def _row_length(config: Config) -> int | None:
    return config.records.row_length if config.records.layout == "packed" else None


def _corpora(corpora: Sequence[Corpus], parts: Sequence[CompiledPart]) -> tuple[CorpusInfo, ...]:
    pairs: dict[str, int] = {}
    for part in parts:
        pairs[part.corpus] = pairs.get(part.corpus, 0) + part.pairs
    tags = {corpus.name: corpus.tags for corpus in corpora}
    return tuple(CorpusInfo(name=name, pairs=count, tag=tags[name]) for name, count in pairs.items())
