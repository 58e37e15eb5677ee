"""What of an estimate would not fit, or would go badly, and what to change."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from nmt_prep.config import Config, T2TVocab
from nmt_prep.engines.engine import BASE_MEMORY
from nmt_prep.estimates.calibration import Calibration
from nmt_prep.estimates.outcome import Estimate, Machines
from nmt_prep.records.plan import MAX_BUCKETS

_SMALL_SHARE = 64_000_000
_SMALL_GROUP = 4096
_LARGE_SHARD = 10_000_000_000


def advice(config: Config, found: Estimate, machines: Machines, calibration: Calibration) -> list[str]:
    """Sentences, each with what is wrong and what to do; none where all is well."""
    return [
        *_memory(config, found, machines, calibration),
        *_disk(config, found),
        *_shuffle(found, machines),
        *_rounds(found, machines),
    ]


def _memory(config: Config, found: Estimate, machines: Machines, calibration: Calibration) -> Iterator[str]:
    allowed = config.engine.memory
    if found.training_memory > allowed:
        what = "stops with an error" if isinstance(config.vocab, T2TVocab) else "goes beyond that"
        yield (
            f"building a vocabulary takes about {gigabytes(found.training_memory)} of memory on one machine, but "
            f"engine.memory is {gigabytes(allowed)}: vocab {what}; raise engine.memory, or lower "
            f"sample.bytes_per_corpus (now {config.sample.bytes_per_corpus:,})"
        )
    most = max((stage for stage in found.stages if stage.stage != "vocab"), key=lambda stage: stage.memory)
    if most.memory > (allowed if not machines.dask else allowed / machines.machines):
        yield (
            f"{most.stage} takes about {gigabytes(most.memory)} on a machine, more than engine.memory gives it; use "
            "fewer workers, or raise engine.memory"
        )
    if found.peak_memory > calibration.memory:
        yield (
            f"a machine needs {gigabytes(found.peak_memory)} of memory; the one that was calibrated has "
            f"{gigabytes(calibration.memory)}"
        )
    if machines.share < _SMALL_SHARE:
        yield (
            f"engine.memory leaves each task {machines.share / 1e6:,.0f} MB beside what its process holds, so that "
            f"shards are cut into many buckets; raise engine.memory to about {gigabytes(_enough_memory(machines))}"
        )


def _enough_memory(machines: Machines) -> int:
    """``engine.memory`` with which a task has a share that is not small."""
    if machines.dask:
        return machines.workers * (_SMALL_SHARE + BASE_MEMORY)
    return machines.each * _SMALL_SHARE + BASE_MEMORY


def _disk(config: Config, found: Estimate) -> Iterator[str]:
    free = shutil.disk_usage(_existing(config.run_dir)).free
    if found.peak_disk > free:
        yield (
            f"{gigabytes(found.peak_disk)} are needed below {config.output_dir}, where {gigabytes(free)} are free; "
            "free some, or set output_dir to a larger disk"
        )


def _shuffle(found: Estimate, machines: Machines) -> Iterator[str]:
    for split, plan in found.plans.items():
        if plan.buckets_per_shard > 1 and found.groups < _SMALL_GROUP:
            yield (
                f"{split}: a shard is gathered from {found.parts[split]:,} spill files in pieces of about "
                f"{found.groups:,.0f} bytes; raise engine.memory, or lower records.shards"
            )
        if plan.buckets + plan.shards > MAX_BUCKETS:
            yield (
                f"{split}: there can be no more than {MAX_BUCKETS:,} buckets, so tasks will use more memory than "
                "engine.memory gives them; raise it"
            )
        if split == "train" and plan.shards < machines.workers:
            yield (
                f"{plan.shards:,} shards are {plan.shards:,} tasks for {machines.workers:,} workers; raise "
                "records.shards.train"
            )
    published = next(stage.published for stage in found.stages if stage.stage == "encode")
    shards = sum(plan.shards for plan in found.plans.values())
    if published / shards > _LARGE_SHARD:
        yield f"shards have {gigabytes(published / shards)} each; raise records.shards"


def _rounds(found: Estimate, machines: Machines) -> Iterator[str]:
    for stage in found.stages:
        if stage.alone > stage.seconds / 2 and stage.seconds > max(found.seconds / 10, 60) and machines.workers > 1:
            yield (
                f"{stage.stage} works in one process for {stage.alone:,.0f} of its {stage.seconds:,.0f} s: more "
                "workers do not help"
            )


def gigabytes(size: float) -> str:
    """An amount of bytes in words."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size / 1e3:,.0f} kB"


def _existing(path: Path) -> Path:
    """The nearest directory above a path that is there."""
    path = path.absolute()
    return next(each for each in (path, *path.parents) if each.exists())
