"""encode: from compiled pairs to shuffled shards of ids, out of core.

Two rounds of tasks. The first takes the compiled parts: each pair becomes its finished record at once and is spilled
to the bucket of its position in the global shuffle. The second takes the shards: each is gathered from all spill files
and put in order, a bucket at a time. Nothing depends on which task ran where or when.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

from nmt_prep.artefacts import link_or_copy, writing
from nmt_prep.config import SIDES, Config, Corpus
from nmt_prep.lockfile import LockFile
from nmt_prep.pipeline.manifest import Counts, Manifest, differences
from nmt_prep.pipeline.stage import Context, Result, Stage
from nmt_prep.pipeline.tasks import Round
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
from nmt_prep.stages.encode_tasks import ShardTask, SpillTask, bucket_share, encode_part, order_shard, spill_name
from nmt_prep.stages.frames import corpus_frames, tag_settings
from nmt_prep.stages.vocab import built_vocabularies

_BYTES_PER_RECORD = 128
"""Memory that a record takes beside its text while its bucket is put in order, roughly: 75 in the spill file, the rest
for its place, its size and its entry in the index."""

Parts: TypeAlias = "Mapping[str, list[dict[str, Any]]]"
"""Compiled parts by split, in order, as the compile stage lists them."""


class Encode(Stage):
    """Writes ``<name>-<split>-00000-of-00100`` and ``dataset.json``."""

    name: ClassVar[str] = "encode"
    inputs: ClassVar[tuple[str, ...]] = ("compile", "vocab")
    directory: ClassVar[str] = "records"
    rounds: ClassVar[tuple[str, ...]] = ("encode", "shuffle")
    version: ClassVar[int] = 2

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

    def renew(self, context: Context, published: Manifest) -> Result | None:
        records = context.workspace.root / self.directory
        for name in published.files.keys() - {DATASET_FILE}:
            path = context.directory / name
            with writing(path):
                path.parent.mkdir(exist_ok=True)
                path.unlink(missing_ok=True)
                if not link_or_copy(records / name, path):
                    return None
        info = load_dataset_info(records).model_copy(update={"input": _input_info(context.config)})
        write_dataset_info(context.directory, info)
        digests = {name: digest for name, digest in published.files.items() if name != DATASET_FILE}
        return Result(published.counts, digests=digests, details={"input": _input_settings(context.config)})

    def run(self, context: Context) -> Result:
        parts: Parts = context.manifests["compile"].details["parts"]
        plans = _plan(context, parts)
        stats = _spill(context, parts, plans)
        shards = _order(context, parts, plans)
        splits = {split: SplitInfo.of(stats[split], shards[split]) for split in plans}
        write_dataset_info(context.directory, _describe(context, splits, parts))
        pairs = sum(split.pairs for split in splits.values())
        tokens = {
            "source_tokens": sum(split.source_tokens for split in splits.values()),
            "target_tokens": sum(split.target_tokens for split in splits.values()),
        }
        digests = {shard.file: shard.sha256 for split in splits.values() for shard in split.shards}
        digests |= {
            str(index_path(shard.file)): shard.index.sha256
            for split in splits.values()
            for shard in split.shards
            if shard.index is not None
        }
        counts = Counts(pairs_in=pairs, pairs_out=pairs, other=tokens)
        return Result(counts, digests=digests, details={"input": _input_settings(context.config)})


def _plan(context: Context, parts: Parts) -> dict[str, ShardPlan]:
    """Where the pairs of each split go; spill files are of use only with the buckets that they were written for."""
    return {split: _plan_split(context, split, listed) for split, listed in parts.items()}


def _plan_split(context: Context, split: str, parts: list[dict[str, Any]]) -> ShardPlan:
    pairs, text = (sum(part[what] for part in parts) for what in ("pairs", "bytes"))
    memory = context.engine.worker_memory(context.config.engine.memory)
    wanted = shard_plan(context.config, split, pairs, text, memory)
    return replace(wanted, buckets_per_shard=context.tasks.decide(f"plan-{split}", lambda: wanted.buckets_per_shard))


def shard_plan(config: Config, split: str, pairs: int, text_bytes: int, memory: int) -> ShardPlan:
    """Where the pairs of a split go, if nothing was decided before.

    Args:
        config: says how many shards there are, and of what layout.
        split: its name.
        pairs: of the split.
        text_bytes: UTF-8 bytes of both sides.
        memory: bytes that a task may use.
    """
    return ShardPlan.within(
        GlobalShuffle(pairs, config.seed, split),
        config.shards(split),
        estimated_bytes=text_bytes + _BYTES_PER_RECORD * pairs,
        bucket_bytes=bucket_share(memory),
        layout=config.records.layout,
        row_length=config.records.row_length,
    )


def _spill(context: Context, parts: Parts, plans: Mapping[str, ShardPlan]) -> dict[str, PairStats]:
    """Encodes all parts; returns each split's counts."""
    tasks: list[SpillTask] = []
    vocabularies = built_vocabularies(context)
    frames = corpus_frames(context.config, vocabularies, eos=True)
    memory = context.engine.worker_memory(context.config.engine.memory)
    for split, plan in plans.items():
        row = 0
        corpora = [corpus.name for corpus in _corpora(context.config.splits[split], parts[split])]
        for number, part in enumerate(parts[split]):
            tasks.append(
                SpillTask(
                    key=f"spill-{spill_name(split, number)}",
                    part=context.workspace.root / "compiled" / part["file"],
                    corpus=corpora.index(part["corpus"]),
                    first_row=row,
                    plan=plan,
                    spill=context.scratch / spill_name(split, number),
                    vocabularies=vocabularies,
                    frames=frames[split][part["corpus"]],
                    memory=memory,
                )
            )
            row += part["pairs"]
    total = sum(plan.rows for plan in plans.values())
    results = context.tasks.run(Round("encode", encode_part, tasks, total, made=lambda task, _: [task.spill]))
    stats = {split: PairStats() for split in plans}
    for task, result in zip(tasks, results, strict=True):
        stats[task.plan.shuffle.split] += _stats(result)
    return stats


def _stats(result: Mapping[str, Any]) -> PairStats:
    """Counts of a task as JSON holds them, read back: its keys are text."""
    values: dict[str, Any] = {
        name: Counter({int(length): count for length, count in value.items()}) if isinstance(value, dict) else value
        for name, value in result.items()
    }
    return PairStats(**values)


def _order(context: Context, parts: Parts, plans: Mapping[str, ShardPlan]) -> dict[str, list[ShardInfo]]:
    """Writes all shards; returns their entries by split, in order."""
    tasks = [
        ShardTask(
            key=f"shard-{split}-{number:05d}",
            shard=number,
            plan=plan,
            spills=context.scratch,
            parts=len(parts[split]),
            output=context.directory / shard_name(context.config.name, split, number, plan.shards),
        )
        for split, plan in plans.items()
        for number in range(plan.shards)
    ]
    total = sum(plan.rows for plan in plans.values())
    results = context.tasks.run(
        Round("shuffle", order_shard, tasks, total, made=lambda task, _: [task.output, index_path(task.output)])
    )
    shards: dict[str, list[ShardInfo]] = {split: [] for split in plans}
    for task, result in zip(tasks, results, strict=True):
        shards[task.plan.shuffle.split].append(ShardInfo(**result))
    return shards


def _describe(context: Context, splits: Mapping[str, SplitInfo], parts: Parts) -> DatasetInfo:
    config, vocab = context.config, context.manifests["vocab"]
    vocabularies = {
        side: VocabularyInfo(
            **{**vocab.details[side], "file": f"../vocab/{vocab.details[side]['file']}"},
            sha256=vocab.files[vocab.details[side]["file"]],
        )
        for side in SIDES
    }
    return DatasetInfo(
        name=config.name,
        config_fingerprint=context.fingerprint,
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


def _corpora(corpora: Sequence[Corpus], parts: list[dict[str, Any]]) -> tuple[CorpusInfo, ...]:
    pairs: dict[str, int] = {}
    for part in parts:
        pairs[part["corpus"]] = pairs.get(part["corpus"], 0) + int(part["pairs"])
    tags = {corpus.name: corpus.tags for corpus in corpora}
    return tuple(CorpusInfo(name=name, pairs=count, tag=tags[name]) for name, count in pairs.items())
