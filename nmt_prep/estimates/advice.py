"""What of an estimate would not fit, or would go badly, and what to change."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from math import ceil

from nmt_prep.config import Config
from nmt_prep.engines.engine import BASE_MEMORY
from nmt_prep.estimates.estimate import Estimate, Machines
from nmt_prep.records.plan import MAX_BUCKETS

_SMALL_SHARE = 64_000_000
_SMALL_GROUP = 4096
_LARGE_SHARD = 10_000_000_000


def advice(config: Config, found: Estimate, machines: Machines) -> list[str]:
    """Returns sentences, each with what is wrong and what to do; none where all is well."""
    return [*_memory(config, found, machines), *_disk(config, found), *_shuffle(found, machines)]


def _memory(config: Config, found: Estimate, machines: Machines) -> Iterator[str]:
    allowed = config.engine.memory
    if (training := found.stage("vocab").memory) > allowed:
        yield (
            f"building a vocabulary takes about {gigabytes(training)} of memory on one machine, but engine.memory is "
            f"{gigabytes(allowed)}: vocab stops with an error; raise engine.memory, or lower sample.bytes_per_corpus "
            f"(now {config.sample.bytes_per_corpus:,})"
        )
    most = max((stage for stage in found.stages if stage.stage != "vocab"), key=lambda stage: stage.memory)
    if most.memory > (allowed // machines.count if machines.dask else allowed):
        yield (
            f"{most.stage} takes about {gigabytes(most.memory)} on a machine, more than engine.memory gives it; use "
            "fewer workers, or raise engine.memory"
        )
    if machines.share < _SMALL_SHARE:
        each = ceil(machines.workers / machines.count)
        processes = machines.workers if machines.dask else 1
        enough = processes * BASE_MEMORY + (machines.workers if machines.dask else each) * _SMALL_SHARE
        yield (
            f"engine.memory leaves each task {machines.share / 1e6:,.0f} MB beside what its process holds, so that "
            f"shards are cut into many buckets; raise engine.memory to about {gigabytes(enough)}"
        )


def _disk(config: Config, found: Estimate) -> Iterator[str]:
    place = config.run_dir.absolute()
    free = shutil.disk_usage(next(each for each in (place, *place.parents) if each.exists())).free
    if found.peak_disk > free:
        yield (
            f"{gigabytes(found.peak_disk)} are needed below {config.output_dir}, where {gigabytes(free)} are free; "
            "free some, or set output_dir to a larger disk"
        )


def _shuffle(found: Estimate, machines: Machines) -> Iterator[str]:
    encode = found.stage("encode")
    buckets = sum(found.parts[split] * plan.buckets for split, plan in found.plans.items())
    for split, plan in found.plans.items():
        if plan.buckets_per_shard > 1 and encode.scratch / buckets < _SMALL_GROUP:
            yield (
                f"{split}: a shard is gathered from {found.parts[split]:,} spill files in pieces of about "
                f"{encode.scratch / buckets:,.0f} bytes; raise engine.memory, or lower records.shards"
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
    shards = sum(plan.shards for plan in found.plans.values())
    if encode.output / shards > _LARGE_SHARD:
        yield f"shards have {gigabytes(encode.output / shards)} each; raise records.shards"


def gigabytes(size: float) -> str:
    """Returns an amount of bytes in words."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size / 1e3:,.0f} kB"
