"""Estimates time, memory and disk space of the stages of a run, from measurements of earlier runs on this machine."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from rich.filesize import decimal

from nmt_prep.config import Config
from nmt_prep.corpora.slices import SLICE_BYTES
from nmt_prep.engines.engine import BASE_MEMORY
from nmt_prep.errors import ConfigError
from nmt_prep.pipeline.forecast import BYTES_PER_PAIR, StageEstimate, Work, forecast
from nmt_prep.pipeline.stage import outputs_in
from nmt_prep.sources.downloads import Needed
from nmt_prep.sources.lockfile import LockFile
from nmt_prep.stages import STAGES
from nmt_prep.stages.compile.tasks import has_lines_as_they_are
from nmt_prep.stages.download import Download
from nmt_prep.stages.extract import wanted_by
from nmt_prep.stages.learning import learning_memory
from nmt_prep.stages.sample import stride_of

_UNPACKED_RATIO = 4
_PARQUET_RATIO = 2
_PACKED_NAMES = (".gz", ".tgz", ".bz2", ".xz", ".zst", ".zip")


@dataclass(frozen=True)
class CorpusSize:
    """Amount of text in a corpus.

    Attributes:
        split: name of its split.
        bytes: bytes of both sides, line ends included.
        fetched: bytes of its remote files.
        copied: true if compile copies the text, because the files are small, packed, remote or not plain lines.
    """

    split: str
    bytes: float
    fetched: float = 0.0
    copied: bool = False


def given_corpora(config: Config, pairs: int) -> list[CorpusSize]:
    """Divides a number of pairs equally among the training corpora of a config, and ignores its other splits."""
    count = sum(corpus.role != "vocab" for corpus in config.splits["train"])
    return [CorpusSize("train", pairs * BYTES_PER_PAIR / count)] * count


def configured_corpora(config: Config, lock: LockFile) -> list[CorpusSize]:
    """Returns the sizes of a config's corpora from their local, downloaded or locked files.

    Raises:
        ConfigError: the size of a file is not known.
    """
    wanted = [list(wanted_by(split, corpus)) for split, corpus in config.corpora]
    members = Counter(
        mirrors for mirrors, _ in {(file.container.mirrors, file.member) for files in wanted for file in files}
    )
    outputs = outputs_in(config.run_dir, [Download], config)
    downloaded = outputs.read(Download).files if outputs.manifests else {}
    unknown = []

    def sizes(file: Needed) -> tuple[float, float]:
        """Returns the bytes of a file before and after decompression."""
        path, entry, locked = file.local(config.base_dir), downloaded.get(file.key), lock.find(file.mirrors)
        if file.is_repository:
            chosen = [entry.size for key, entry in downloaded.items() if key.startswith(f"{file.key}/")]
            size, ratio = sum(chosen) or None, _PARQUET_RATIO
        else:
            local = path.stat().st_size if path is not None and path.is_file() else None
            noted = entry.size if entry is not None else locked.size if locked is not None else None
            size = noted if local is None else local
            ratio = _UNPACKED_RATIO if file.name.endswith(_PACKED_NAMES) else 1
        if size is None:
            unknown.append(file.mirrors[0])
        return size or 0, (size or 0) * ratio

    sizes_of_corpora = []
    for (split, corpus), files in zip(config.corpora, wanted, strict=True):
        known = {file.container: sizes(file.container) for file in files}
        text = sum(known[file.container][1] / members[file.container.mirrors] for file in files)
        fetched = sum(size for file, (size, _) in known.items() if not file.local(config.base_dir))
        packed = bool(fetched) or any(size != unpacked for size, unpacked in known.values())
        small = all(size <= SLICE_BYTES for size, _ in known.values())
        sizes_of_corpora.append(CorpusSize(split, text, fetched, packed or small or not has_lines_as_they_are(corpus)))
    if unknown:
        raise ConfigError(
            f"the sizes of {len(set(unknown))} files are unknown, the first of them {unknown[0]}; fetch them with "
            "nmt-prep download CONFIG, or give the number of pairs with --pairs"
        )
    return sizes_of_corpora


def total(corpora: Sequence[CorpusSize]) -> float:
    """Returns the bytes of text of all corpora."""
    return sum(corpus.bytes for corpus in corpora)


_OUTSIDE = ("download", "publish")
"""The stages whose duration depends on the network."""

_CHARACTER_BYTES = {"zh": 2.9, "ja": 2.9, "ko": 2.6, "th": 2.9, "hi": 2.6, "ru": 1.8, "uk": 1.8, "ar": 1.8, "el": 1.8}


@dataclass(frozen=True)
class Machines:
    """The machines of a run, each with at most one worker per core.

    Attributes:
        workers: parallel tasks on all machines together.
        cores: number of cores of each machine.
        memory: ``engine.memory`` in bytes: for all workers together with Dask, else for each machine.
        dask: True for workers of Dask, each of which is a process.
    """

    workers: int
    cores: int
    memory: int
    dask: bool = False

    @property
    def count(self) -> int:
        """Number of machines."""
        return ceil(self.workers / self.cores)


def estimate(config: Config, corpora: Sequence[CorpusSize], machines: Machines) -> list[StageEstimate]:
    """Estimates every stage of a run from the start.

    Network transfers are not included: remote files are assumed to be in the cache, and nothing is published outside
    ``output_dir``.

    Returns:
        The stages that were measured on this machine, and the stage download, whose output is known; then the others,
        whose ``origin`` is empty.
    """
    fetched = StageEstimate("download", output=sum(corpus.fetched for corpus in corpora), origin="the network")
    here = ceil(machines.workers / machines.count)
    copied = sum(corpus.bytes for corpus in corpora if corpus.copied)
    work = Work(max(total(corpora), 1.0), sample_bytes(config, corpora), machines.workers, here, copied)
    asked = (stage for stage in STAGES if stage.applies(config) and stage.name not in _OUTSIDE)
    return sorted([fetched, *(forecast(stage, config, work) for stage in asked)], key=lambda stage: not stage.origin)


def peak_disk(stages: Sequence[StageEstimate]) -> float:
    """Returns the peak number of bytes below ``output_dir``."""
    return max(sum(before.output for before in stages[: n + 1]) + stage.scratch for n, stage in enumerate(stages))


def advice(config: Config, stages: Sequence[StageEstimate], machines: Machines, pairs: float) -> Iterator[str]:
    """Yields a sentence for each limit that the run would exceed, with advice on what to change.

    Args:
        config: the config.
        stages: the estimates of its stages.
        machines: the machines.
        pairs: the number of pairs.
    """
    allowed, shards = config.engine.memory, config.shards("train")
    applied = {stage.name: stage for stage in STAGES if stage.applies(config)}
    for stage in stages:
        learned = min(pairs, applied[stage.stage].learns_from(config))
        memory = BASE_MEMORY + learning_memory(int(learned))
        if stage.stage == "vocab" and stage.memory > allowed:
            yield (
                f"building a vocabulary takes about {decimal(stage.memory)} of memory on one machine, but "
                f"engine.memory is {decimal(allowed)}: vocab stops with an error; raise engine.memory, or lower "
                f"sample.bytes_per_corpus (now {config.sample.bytes_per_corpus:,})"
            )
        elif learned and memory > allowed:
            yield (
                f"learning word alignment from {learned:,.0f} pairs takes about {decimal(memory)} of memory, but "
                f"engine.memory is {decimal(allowed)}: {stage.stage} stops with an error; raise engine.memory, or "
                f"lower {' and '.join(applied[stage.stage].learning_options(config))}"
            )
        elif stage.memory > (allowed // machines.count if machines.dask else allowed):
            yield (
                f"{stage.stage} takes about {decimal(stage.memory)} on a machine, more than engine.memory gives it; "
                "use fewer workers, or raise engine.memory"
            )
    place, peak = config.run_dir.absolute(), peak_disk(stages)
    free = shutil.disk_usage(next(parent for parent in (place, *place.parents) if parent.exists())).free
    if peak > free:
        yield (
            f"{decimal(int(peak))} are needed below {config.output_dir}, where {decimal(free)} are free; "
            "free some, or set output_dir to a larger disk"
        )
    if shards < machines.workers:
        yield f"{shards:,} shards are {shards:,} tasks for {machines.workers:,} workers; raise records.shards.train"


def sample_bytes(config: Config, corpora: Sequence[CorpusSize]) -> float:
    """Returns the bytes of text that vocabularies are trained on, by the rule of the sample stage; at least 1."""
    budget, sampled = config.sample.bytes_per_corpus, 0.0
    for language in (config.languages.source, config.languages.target):
        width = _CHARACTER_BYTES.get(language.partition("-")[0], 1.1)
        sides = [corpus.bytes / 2 for corpus in corpora if corpus.split == "train"]
        sampled += sum(min(size / stride_of(int(size), budget), budget * width) for size in sides)
    return max(sampled, 1.0)
