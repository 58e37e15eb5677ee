"""From timed runs to the constants of a machine.

Work is counted in seconds of the processor, the least of several runs, which other programs on the machine hardly
change. What is waited for the disk is not in it: that follows from the rate of the disk.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import log
from pathlib import Path

from nmt_prep.config import Config
from nmt_prep.engines.local import LocalEngine
from nmt_prep.estimates.calibration import Calibration, Disk, RoundCost, Sizes, StageCost, TextFacts, Training
from nmt_prep.estimates.memory import round_buffer
from nmt_prep.estimates.runs import RoundTimes, RunTimes
from nmt_prep.estimates.sampling import sampled
from nmt_prep.stages.encode import shard_plan

_BUSY = 1.3
"""A worker that takes so many times what it works and waits for the disk is not alone on the machine."""

_EXPONENTS = (0.2, 1.5)
_FAR_ENOUGH = 1.5  # times that one sample must be the other for an exponent to mean anything

_LEAST_SECONDS = 0.001

_READING = ": reading the sample"
"""Ends the label of the vocab stage's meters."""

_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Measured:
    """Timed runs, and what else was measured.

    Attributes:
        config: whose constants are wanted.
        text: of the full runs.
        corpora: that it was in; there were as many parts and as many shards.
        tiny: the run of hardly any text, one worker.
        one: runs of the text with one worker.
        every: runs of it with a worker a core.
        sizes: bytes of ``compiled`` and ``records``.
        taken: bytes of either side's sample.
        small: the run with a smaller sample, down to vocab.
        small_taken: as ``taken``.
        budget: characters to sample, of a side of a corpus.
        small_budget: likewise of the run ``small``.
        load_seconds: to load the vocabularies.
        lines_per_byte: seconds to count lines.
        gzip_ratio: bytes of gzip for each byte of text.
        gzip_bytes: of text in the run ``decompress``.
        decompress: the run that extracted compressed text.
        tiny_parts: spill files of the two splits of the run ``tiny``.
    """

    config: Config
    text: TextFacts
    corpora: int
    cores: int
    disk: Disk
    tiny: RunTimes
    one: Sequence[RunTimes]
    every: Sequence[RunTimes]
    sizes: dict[str, int]
    taken: dict[str, int]
    small: RunTimes
    small_taken: dict[str, int]
    budget: int
    small_budget: int
    load_seconds: float
    lines_per_byte: float
    gzip_ratio: float
    gzip_bytes: int
    decompress: RunTimes
    tiny_parts: tuple[int, int]


def constants(measured: Measured) -> Calibration:
    """The constants that follow from what was measured."""
    busy = _busy(measured)
    gather = _gather_seconds(measured)
    rounds = {name: _round_cost(measured, name, busy, gather) for name in ("extract", "compile", "encode", "shuffle")}
    read, taken = _sample_costs(measured)
    sample = _round_cost(measured, "sample", busy, gather)
    rounds["sample"] = sample.model_copy(update={"cpu_per_byte": read})
    rounds["lines"] = rounds["extract"].model_copy(update={"cpu_per_byte": measured.lines_per_byte})
    rounds["skip"] = sample.model_copy(update={"cpu_per_byte": measured.lines_per_byte})
    rounds["count"] = RoundCost(cpu_per_byte=_count_cost(measured), cpu_per_task=sample.cpu_per_task, slowdown=1.0)
    decompressed = measured.decompress.round("extract").cpu / measured.gzip_bytes
    rounds["decompress"] = rounds["extract"].model_copy(update={"cpu_per_byte": decompressed})
    return Calibration(
        made=datetime.now(UTC).date().isoformat(),
        machine=f"{measured.cores} cores of {_processor()}",
        cores=measured.cores,
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        busy=busy,
        text=measured.text,
        rounds=rounds,
        stages={name: _stage_cost(measured, name) for name in measured.one[0].stages},
        sample_taken=taken,
        gather_seconds=gather,
        load_seconds=measured.load_seconds,
        training=_training(measured),
        sizes=Sizes(
            gzip=measured.gzip_ratio,
            compiled=measured.sizes["compiled"] / measured.text.bytes,
            spill=measured.one[0].round("encode").scratch / measured.text.bytes,
            records=measured.sizes["records"] / measured.text.bytes,
        ),
        disk=measured.disk,
        base_memory=min(run.base for run in measured.one),
    )


def _round_cost(measured: Measured, name: str, busy: bool, gather: float) -> RoundCost:
    tiny, one, every = measured.tiny.round(name), *(_best(runs, name) for runs in (measured.one, measured.every))
    per_task = tiny.cpu / len(tiny.tasks)
    work = one.cpu - per_task * len(one.tasks)
    if name == "shuffle":
        shards = len(tiny.tasks) // 2
        per_task = max(tiny.cpu - gather * shards * sum(measured.tiny_parts), 0.0) / len(tiny.tasks)
        work = one.cpu - len(one.tasks) * (per_task + gather * measured.corpora)
    if name == "encode":
        work -= measured.load_seconds
    memory, held = _memory(measured, name)
    alone, together = (sum(each.tasks.values()) for each in (one, every))
    slowdown = every.cpu / one.cpu if busy else together / alone
    return RoundCost(
        cpu_per_byte=max(work, 0.0) / measured.text.bytes,
        cpu_per_task=per_task,
        slowdown=min(max(slowdown, 1.0), measured.cores),
        memory=memory,
        held=held,
    )


def _memory(measured: Measured, name: str) -> tuple[int, int]:
    """What one worker more makes of the peak, without the buffers that ``engine.memory`` decides; and what is left."""
    config, cores = measured.config, measured.cores
    one, every = (max(run.round(name).peak for run in runs) for runs in (measured.one, measured.every))
    most = max(one - min(run.base for run in measured.one), 0)
    worker = min(max((every - one) // max(cores - 1, 1), 0), most) if cores > 1 else most
    share = LocalEngine(cores).worker_memory(config.engine.memory)
    text, count = measured.text, measured.corpora
    records = config.records.model_copy(update={"shards": {"train": count}})
    plan = shard_plan(config.model_copy(update={"records": records}), "train", text.pairs, text.bytes, share)
    spill = measured.one[0].round("encode").scratch
    return max(worker - round_buffer(name, plan, spill, count, share), 0), most - worker


def _sample_costs(measured: Measured) -> tuple[float, float]:
    """Seconds for each byte that is read, and for each that is taken, from a sample of all and one of few lines."""
    full_taken, small_taken = sum(measured.taken.values()), sum(measured.small_taken.values())
    full_read, small_read = (_read(measured, budget) for budget in (measured.budget, measured.small_budget))
    tiny = measured.tiny.round("sample")
    fixed = tiny.cpu / len(tiny.tasks) * 2 * measured.corpora
    full, small = (
        max(cpu - fixed, 0.0) for cpu in (_best(measured.one, "sample").cpu, measured.small.round("sample").cpu)
    )
    determinant = full_read * small_taken - small_read * full_taken
    read = (full * small_taken - small * full_taken) / determinant if determinant else full / full_read
    read = min(max(read, 0.0), full / full_read)
    return read, max(full - read * full_read, 0.0) / full_taken


def _read(measured: Measured, budget: int) -> float:
    """Bytes that are read for a sample of the full runs."""
    text, corpora = measured.text, measured.corpora
    sides = ((text.source_bytes, text.source_characters), (text.target_bytes, text.target_characters))
    return sum(corpora * sampled(size / corpora, characters / corpora, budget).read for size, characters in sides)


def _stage_cost(measured: Measured, name: str) -> StageCost:
    seconds = measured.tiny.stages[name].alone
    full = min(run.stages[name].alone for run in measured.one)
    size = sum(measured.taken.values()) if name == "sample" else measured.text.bytes
    return StageCost(seconds=seconds, seconds_per_byte=max(full - seconds, 0.0) / size)


def _training(measured: Measured) -> dict[str, Training]:
    trained: dict[str, Training] = {}
    tiny = measured.tiny.stages["vocab"].rounds.values()
    fixed = max(*(times.peak - measured.tiny.base for times in tiny), 0)
    for name, small in measured.small.stages["vocab"].rounds.items():
        if not small.tasks:
            continue
        side = name.removeprefix("vocab ")
        sides = (side,) if side in measured.taken else tuple(measured.taken)
        size, small_size = (sum(taken[each] for each in sides) for taken in (measured.taken, measured.small_taken))
        times = [run.round(name) for run in (*measured.one, *measured.every)]
        reading = min(run.round(name + _READING).cpu for run in measured.one)
        seconds = max(min(min(each.seconds, each.cpu) for each in times) - reading, _LEAST_SECONDS)
        small_seconds = min(small.seconds, small.cpu) - measured.small.round(name + _READING).cpu
        memory = max(*(run.round(name).peak - run.base for run in measured.one), fixed + 1) - fixed
        trained[side] = Training(
            sample_bytes=size,
            seconds=seconds,
            seconds_exponent=_exponent(size / small_size, seconds / max(small_seconds, _LEAST_SECONDS)),
            memory=memory,
            memory_exponent=_exponent(size / small_size, memory / max(small.peak - measured.small.base - fixed, 1)),
            memory_fixed=fixed,
        )
    return trained


def _count_cost(measured: Measured) -> float:
    """Seconds for each byte of the sample to read it and count its words."""
    reading = [name for name in measured.one[0].stages["vocab"].rounds if name.endswith(_READING)]
    return sum(_best(measured.one, name).cpu for name in reading) / sum(measured.taken.values())


def _exponent(sizes: float, values: float) -> float:
    """The power of the ratio of two sizes that the ratio of two values is."""
    if sizes < _FAR_ENOUGH:
        return 1.0
    return min(max(log(values) / log(sizes), _EXPONENTS[0]), _EXPONENTS[1])


def _gather_seconds(measured: Measured) -> float:
    """What a shard takes longer for each spill file: from shards of many spill files, and shards of one."""
    tasks = measured.tiny.round("shuffle").tasks
    many, one = (min(seconds for key, seconds in tasks.items() if f"-{split}-" in key) for split in ("train", "dev"))
    more = measured.tiny_parts[0] - measured.tiny_parts[1]
    return max(many - one, 0.0) / more


def _busy(measured: Measured) -> bool:
    """Whether workers waited for more than the disk."""
    written = {"compile": measured.sizes["compiled"], "encode": measured.one[0].round("encode").scratch}
    took = min(sum(sum(run.round(name).tasks.values()) for name in written) for run in measured.one)
    worked = sum(_best(measured.one, name).cpu for name in written)
    return took > _BUSY * (worked + sum(written.values()) / measured.disk.write_rate)


def _best(runs: Sequence[RunTimes], name: str) -> RoundTimes:
    """A round with the least of the work, and the least of the time, that it took in some runs."""
    rounds = [run.round(name) for run in runs]
    quickest = min(rounds, key=lambda each: sum(each.tasks.values()))
    return replace(quickest, cpu=min(each.cpu for each in rounds))


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", _CPUINFO.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.machine()
