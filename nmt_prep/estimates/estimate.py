"""Time, memory and disk of each stage: scaled by bytes from what it took before, or from built-in rates.

A stage takes its bytes over its rate a worker and the workers that find something to do: one task is the least that a
worker can do, and a vocabulary is trained by one process. The built-in rates were measured on two cores of an AMD EPYC,
on generated English–Chinese text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log

from nmt_prep.config import Config
from nmt_prep.corpora.parts import PART_BYTES
from nmt_prep.engines.engine import BASE_MEMORY
from nmt_prep.engines.local import LocalEngine
from nmt_prep.estimates.workload import BYTES_PER_PAIR, CorpusSize, total
from nmt_prep.pipeline.measured import StageNote, is_packed, kind_of, read_notes, work_of
from nmt_prep.records import ShardPlan
from nmt_prep.stages.encode import shard_plan, spill_buffer, with_buckets
from nmt_prep.stages.sample import stride_of

_RATES = {"extract": 480e6, "compile": 112e6, "sample": 180e6, "t2t": 65e6, "byte_bpe": 59e6, "sentencepiece": 48e6}
"""Bytes a second and worker: of stages, and of encode by the kind of vocabulary."""

_UNPACKING, _DIGESTING = 175e6, 1.3e9
_WORKER_MEMORY = {"extract": 3_000_000, "compile": 65_000_000, "sample": 70_000_000, "encode": 60_000_000}

_TRAINING = {"t2t": (100e6, 3.9, 480e6), "byte_bpe": (50e6, 1.8, 454e6), "sentencepiece": (10.3e6, 2.0, 161e6)}
"""By kind of vocabulary: bytes of the sample that was measured on, seconds and bytes of memory."""

_TRAINING_GROWTH = 0.85
"""Training time and memory grow as the size of the sample to this power: words come again."""

_COMPILED, _SPILLED, _RECORDS = 0.30, 0.86, 0.76
"""Bytes on disk for each byte of text."""

_BYTES_PER_CHARACTER = {
    "zh": 2.9,
    "ja": 2.9,
    "ko": 2.6,
    "th": 2.9,
    "hi": 2.6,
    "ru": 1.8,
    "uk": 1.8,
    "ar": 1.8,
    "el": 1.8,
}


@dataclass(frozen=True)
class Machines:
    """What a run is done on: machines of so many cores, with a worker a core at most.

    Attributes:
        workers: tasks at once, on all machines together.
        cores: of each machine.
        memory: ``engine.memory``: of all workers together where they are Dask's, else of each machine.
        dask: whether the workers are Dask's, each a process of its own.
        disk_rate: bytes a second that the disk of all machines writes and reads; None is as measured.
    """

    workers: int
    cores: int
    memory: int
    dask: bool = False
    disk_rate: float | None = None

    @property
    def count(self) -> int:
        """Number of machines."""
        return ceil(self.workers / self.cores)

    @property
    def share(self) -> int:
        """Bytes that a task may use."""
        if self.dask:
            return max(self.memory // self.workers - BASE_MEMORY, 0)
        return LocalEngine(ceil(self.workers / self.count)).worker_memory(self.memory)


@dataclass(frozen=True)
class StageEstimate:
    """What a stage will take.

    Attributes:
        stage: its name.
        seconds: from its beginning to its end.
        memory: bytes that the processes of a machine hold at most.
        scratch: bytes of files that are deleted when the stage is complete.
        output: bytes of files that stay.
        origin: what this was scaled from.
    """

    stage: str
    seconds: float
    memory: int = BASE_MEMORY
    scratch: float = 0.0
    output: float = 0.0
    origin: str = "built-in"


@dataclass(frozen=True)
class Estimate:
    """What a run will take: its stages in order, and by split how the shards are cut and how many parts there are."""

    stages: list[StageEstimate]
    plans: dict[str, ShardPlan]
    parts: dict[str, int]

    def stage(self, name: str) -> StageEstimate:
        """Returns the stage of a name."""
        return next(stage for stage in self.stages if stage.stage == name)

    @property
    def peak_disk(self) -> float:
        """Bytes below ``output_dir`` when there are most."""
        output = [sum(each.output for each in self.stages[: number + 1]) for number in range(len(self.stages))]
        return max(before + stage.scratch for before, stage in zip(output, self.stages, strict=True))


def estimate(config: Config, corpora: Sequence[CorpusSize], machines: Machines) -> Estimate:
    """Estimates a run that makes everything, from corpora that nothing was made of yet.

    The network is not in it: files that come from elsewhere are taken to be in the cache, and nothing is published
    outside ``output_dir``.
    """
    sizes = {split: int(total(corpora, split)) for split in config.splits}
    plans = {
        split: with_buckets(shard_plan(config, split, ceil(size / BYTES_PER_PAIR)), size, machines.share)
        for split, size in sizes.items()
        if size
    }
    text, sample = total(corpora), sample_bytes(config, corpora)
    largest_file = max(max(each.source, each.target) for each in corpora)
    # How many workers find something to do at most: the largest task takes as long as it takes.
    width = {
        "extract": text / largest_file,
        "compile": text / max(PART_BYTES if each.lines_apart else each.bytes for each in corpora),
        "sample": text / largest_file,
        "vocab": 1.0,
        "encode": text / PART_BYTES,
    }
    # For each byte of text: bytes of output, bytes of scratch, bytes read.
    disk = {
        "extract": (1.0, 0.0, text),
        "compile": (_COMPILED, 0.0, text),
        "sample": (sample / text, sample, text),
        "vocab": (0.0, 0.0, sample),
        "encode": (_RECORDS, _SPILLED * text, (_COMPILED + _SPILLED) * text),
    }
    buffers = {
        "encode": max(2 * spill_buffer(machines.share), *(_SPILLED * text / each.buckets for each in plans.values()))
    }
    stages = [StageEstimate("download", text / _DIGESTING, output=sum(corpus.fetched for corpus in corpora))]
    for name, (output, scratch, read) in disk.items():
        work = work_of(name, text, sample)
        note = _nearest(read_notes(kind_of(name, config)), work)
        busy = max(min(machines.workers, width[name]), 1.0)
        stays = output if note is None or name not in ("compile", "encode") else note.written / note.work
        seconds = _seconds(name, config, work, note, busy)
        if machines.disk_rate is not None:
            seconds = max(seconds, (read + scratch + stays * text) / machines.disk_rate)
        stages.append(
            StageEstimate(
                name,
                seconds,
                _memory(name, config, work, note, ceil(busy), machines, int(buffers.get(name, 0))),
                scratch,
                stays * text,
                "built-in" if note is None else f"measured {note.made} on {note.work / 1e6:,.0f} MB",
            )
        )
    return Estimate(
        [*stages, StageEstimate("report", 0.1)], plans, {split: ceil(sizes[split] / PART_BYTES) for split in plans}
    )


def sample_bytes(config: Config, corpora: Sequence[CorpusSize]) -> float:
    """Returns the bytes of text that vocabularies are trained on, by the rule that the sample stage goes by."""
    budget, sampled = config.sample.bytes_per_corpus, 0.0
    for side, language in (("source", config.languages.source), ("target", config.languages.target)):
        width = _BYTES_PER_CHARACTER.get(language.partition("-")[0], 1.1)
        for corpus in corpora:
            if corpus.split == "train":
                size = getattr(corpus, side)
                sampled += min(size / stride_of(int(size), budget), budget * width)
    return sampled


def _nearest(notes: Sequence[StageNote], work: float) -> StageNote | None:
    """Returns the note over the most similar amount of work, the latest of several; None where there is none."""
    return min(reversed(notes), key=lambda note: abs(log(note.work / max(work, 1.0))), default=None)


def _seconds(name: str, config: Config, work: float, note: StageNote | None, busy: float) -> float:
    if name == "vocab":
        size, seconds, _ = _TRAINING[config.vocab.kind] if note is None else (note.work, note.seconds, 0)
        return float(seconds * (work / size) ** _TRAINING_GROWTH)
    if note is not None:
        return note.seconds * note.workers * work / note.work / busy
    rate = _RATES[config.vocab.kind if name == "encode" else name]
    return work / (_UNPACKING if name == "extract" and is_packed(config) else rate) / busy


def _memory(
    name: str, config: Config, work: float, note: StageNote | None, busy: int, machines: Machines, buffer: int
) -> int:
    """Returns the bytes that the processes of a machine hold: what was measured counts where it is more."""
    grown = None if note is None else note.memory
    if name == "vocab":
        size, _, memory = _TRAINING[config.vocab.kind]
        if note is not None and grown is not None:
            size, memory = note.work, grown
        return BASE_MEMORY + int(memory * (work / size) ** _TRAINING_GROWTH)
    workers = ceil(busy / machines.count)
    each = _WORKER_MEMORY[name] + buffer
    if note is not None and grown is not None:
        each = max(each, grown // note.workers)
    return BASE_MEMORY * (workers if machines.dask else 1) + workers * each
