"""encode: from compiled pairs to shuffled shards of ids, out of core.

Two rounds of tasks. The first takes the compiled parts: each pair becomes its finished record at once and is spilled
to the bucket of its position in the global shuffle. The second takes the shards: each is gathered from all spill files
and put in order, a bucket at a time. Nothing depends on which task ran where or when.
"""

from __future__ import annotations

import functools
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from nmt_prep.config import SIDES, Config, Side
from nmt_prep.corpora import iter_pairs, strip_lines
from nmt_prep.errors import VocabularyError
from nmt_prep.manifest import Counts
from nmt_prep.progress import Meter
from nmt_prep.records import (
    CorpusInfo,
    DatasetInfo,
    GlobalShuffle,
    Languages,
    Layout,
    PairStats,
    ShardInfo,
    ShardPlan,
    SpillWriter,
    SplitInfo,
    Vocabularies,
    VocabularyInfo,
    append_id,
    index_path,
    shard_name,
    write_dataset_info,
    write_shard,
)
from nmt_prep.stage import Context, Result, Stage
from nmt_prep.stages.vocab import load_vocabularies
from nmt_prep.subwords import Tokenizer

_BASE_MEMORY = 200_000_000
"""What the process holds before any task: the interpreter, Arrow, the vocabularies."""

Parts: TypeAlias = "Mapping[str, list[dict[str, Any]]]"
"""Compiled parts by split, in order, as the compile stage lists them."""

_LARGEST_BUFFER = 32 << 20
_SMALLEST_BUFFER = 1 << 20


@dataclass(frozen=True)
class PlanTask:
    """How many buckets a shard of a split has.

    A task, so that its result is noted: spill files of an interrupted run are of use only with the same buckets.
    """

    key: str
    shuffle: GlobalShuffle
    shards: int
    estimated_bytes: int
    bucket_bytes: int
    layout: Layout
    row_length: int


@dataclass(frozen=True)
class SpillTask:
    """One compiled part to encode."""

    key: str
    part: Path
    corpus: int
    first_row: int
    plan: ShardPlan
    spill: Path
    buffer_bytes: int


@dataclass(frozen=True)
class ShardTask:
    """One shard to put in order."""

    key: str
    shard: int
    plan: ShardPlan
    spills: tuple[Path, ...]
    output: Path


class Encode(Stage):
    """Writes ``<name>-<split>-00000-of-00100`` and ``dataset.json``."""

    name: ClassVar[str] = "encode"
    inputs: ClassVar[tuple[str, ...]] = ("compile", "vocab")
    directory: ClassVar[str] = "records"
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
        }

    def run(self, context: Context) -> Result:
        tokenizers = load_vocabularies(context)
        parts: Parts = context.manifests["compile"].details["parts"]
        plans = _plan(context, parts)
        spill_directory = context.directory / "spill"
        spill_directory.mkdir(exist_ok=True)
        spills, stats = _spill(context, tokenizers, parts, plans, spill_directory)
        shards = _order(context, plans, spills)
        shutil.rmtree(spill_directory)
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
        return Result(Counts(pairs_in=pairs, pairs_out=pairs, other=tokens), digests=digests)


def plan_buckets(task: PlanTask) -> dict[str, Any]:
    """Buckets a shard, for a plan that keeps within the memory of a worker."""
    plan = ShardPlan.within(
        task.shuffle,
        task.shards,
        estimated_bytes=task.estimated_bytes,
        bucket_bytes=task.bucket_bytes,
        layout=task.layout,
        row_length=task.row_length,
    )
    return {"buckets_per_shard": plan.buckets_per_shard}


def encode_part(tokenizers: Mapping[Side, Tokenizer], meter: Meter, task: SpillTask) -> dict[str, Any]:
    """Encodes one compiled part into one spill file; returns the counts."""
    row = task.first_row
    with SpillWriter(task.spill, task.plan, buffer_bytes=task.buffer_bytes) as writer:
        for batch in iter_pairs(task.part):
            inputs, targets = (
                append_id(
                    tokenizers[side].encode_batch(strip_lines(batch.column(side)), threads=1), _eos(tokenizers[side])
                )
                for side in SIDES
            )
            writer.add(row, inputs, targets, task.corpus)
            row += len(inputs)
            meter.advance(len(inputs))
        stats = writer.close()
    return {name: dict(value) if isinstance(value, Counter) else value for name, value in vars(stats).items()}


def order_shard(meter: Meter, task: ShardTask) -> dict[str, Any]:
    """Writes one shard; returns its entry for ``dataset.json``."""
    shard = write_shard(task.output, task.plan, task.shard, task.spills)
    meter.advance(shard.pairs)
    return shard.model_dump(mode="json")


def _eos(tokenizer: Tokenizer) -> int:
    if tokenizer.eos_id is None:
        raise VocabularyError("the vocabulary has no eos piece, with which every row must end; build it with one")
    return tokenizer.eos_id


def _plan(context: Context, parts: Parts) -> dict[str, ShardPlan]:
    config = context.config
    share = max(config.engine.memory - _BASE_MEMORY, 0) // context.engine.workers
    tasks = [
        PlanTask(
            key=f"plan-{split}",
            shuffle=GlobalShuffle(sum(part["pairs"] for part in listed), config.seed, split),
            shards=config.shards(split),
            estimated_bytes=sum(part["bytes"] for part in listed) + 64 * sum(part["pairs"] for part in listed),
            bucket_bytes=max(share // 3, _SMALLEST_BUFFER),
            layout=config.records.layout,
            row_length=config.records.row_length,
        )
        for split, listed in parts.items()
    ]
    results = context.tasks.run(plan_buckets, tasks)
    return {
        split: ShardPlan(task.shuffle, task.shards, result["buckets_per_shard"], task.layout, task.row_length)
        for split, task, result in zip(parts, tasks, results, strict=True)
    }


def _spill(
    context: Context,
    tokenizers: Mapping[Side, Tokenizer],
    parts: Parts,
    plans: Mapping[str, ShardPlan],
    directory: Path,
) -> tuple[dict[str, tuple[Path, ...]], dict[str, PairStats]]:
    """Encodes all parts; returns each split's spill files and counts."""
    share = max(context.config.engine.memory - _BASE_MEMORY, 0) // context.engine.workers
    buffer_bytes = min(max(share // 8, _SMALLEST_BUFFER), _LARGEST_BUFFER)
    tasks: list[SpillTask] = []
    for split, plan in plans.items():
        row = 0
        corpora = [corpus.name for corpus in _corpora(parts[split])]
        for number, part in enumerate(parts[split]):
            key = f"spill-{split}-{number:05d}"
            source = context.workspace.root / "compiled" / part["file"]
            spill, corpus = directory / f"{split}-{number:05d}", corpora.index(part["corpus"])
            tasks.append(SpillTask(key, source, corpus, row, plan, spill, buffer_bytes))
            row += part["pairs"]
    with context.progress.meter("encode", sum(plan.rows for plan in plans.values())) as meter:
        results = context.tasks.run(functools.partial(encode_part, tokenizers, meter), tasks)
    spills = {split: tuple(task.spill for task in tasks if task.plan is plan) for split, plan in plans.items()}
    stats = {split: PairStats() for split in plans}
    for task, result in zip(tasks, results, strict=True):
        stats[task.plan.shuffle.split] += _stats(result)
    return spills, stats


def _stats(result: Mapping[str, Any]) -> PairStats:
    """Counts of a task as JSON holds them, read back: its keys are text."""
    values: dict[str, Any] = {
        name: Counter({int(length): count for length, count in value.items()}) if isinstance(value, dict) else value
        for name, value in result.items()
    }
    return PairStats(**values)


def _order(
    context: Context, plans: Mapping[str, ShardPlan], spills: Mapping[str, tuple[Path, ...]]
) -> dict[str, list[ShardInfo]]:
    """Writes all shards; returns their entries by split, in order."""
    tasks = [
        ShardTask(
            key=f"shard-{split}-{number:05d}",
            shard=number,
            plan=plan,
            spills=spills[split],
            output=context.directory / shard_name(context.config.name, split, number, plan.shards),
        )
        for split, plan in plans.items()
        for number in range(plan.shards)
    ]
    with context.progress.meter("shuffle", sum(plan.rows for plan in plans.values())) as meter:
        results = context.tasks.run(functools.partial(order_shard, meter), tasks)
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
        corpora={split: tuple(_corpora(listed)) for split, listed in parts.items()},
        splits=dict(splits),
    )


def _row_length(config: Config) -> int | None:
    return config.records.row_length if config.records.layout == "packed" else None


def _corpora(parts: list[dict[str, Any]]) -> list[CorpusInfo]:
    pairs: dict[str, int] = {}
    for part in parts:
        pairs[part["corpus"]] = pairs.get(part["corpus"], 0) + int(part["pairs"])
    return [CorpusInfo(name=name, pairs=count) for name, count in pairs.items()]
