"""Estimates time, memory and disk space of each stage, scaled by bytes from earlier runs or from built-in rates.

The time of a stage is its bytes divided by the rate of one worker and by the number of busy workers. There are at most
as many busy workers as tasks, and one process trains a vocabulary. The built-in rates were measured on two cores of an
AMD EPYC, on generated English–Chinese text.
"""

from __future__ import annotations

import shutil
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from nmt_prep.archives import is_plain
from nmt_prep.cleaning.corpus_rules import COMPUTED_SCORES, CORPUS_RULES
from nmt_prep.cleaning.dedup.near import Signatures
from nmt_prep.cleaning.dedup.records import comparisons_of
from nmt_prep.cleaning.dedup.spill import range_bytes
from nmt_prep.cleaning.presets import effective_dedup, effective_rules
from nmt_prep.config import CleanSettings, Config, ExistingVocab
from nmt_prep.corpora import format_of, reader_of
from nmt_prep.corpora.parts import PART_BYTES
from nmt_prep.corpora.slices import SLICE_BYTES
from nmt_prep.engines.engine import BASE_MEMORY
from nmt_prep.engines.local import LocalEngine
from nmt_prep.errors import ConfigError
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.pipeline.measured import StageNote, kind_of, nearest_note, work_of
from nmt_prep.pipeline.stage import Outputs
from nmt_prep.sources.lockfile import LockFile
from nmt_prep.stages.alignment import learning_memory
from nmt_prep.stages.clean.passes import LATE
from nmt_prep.stages.compile_links import has_lines_as_they_are
from nmt_prep.stages.download import Download, Needed
from nmt_prep.stages.encode_tasks import bucket_share, spill_buffer
from nmt_prep.stages.in_place import is_read_by_lines, wanted_by
from nmt_prep.stages.output_costs import output_cost
from nmt_prep.stages.sample import stride_of
from nmt_prep.subwords import dialect_of

BYTES_PER_PAIR = 150
"""Assumed bytes of both sides of a pair, line ends included, for a given number of pairs."""

_UNPACKED_RATIO = 4
_PARQUET_RATIO = 2
_GZIP = b"\x1f\x8b"
_GZIP_WRAPS = 2**32  # the trailer counts bytes modulo this
_PACKED_HEADS = (_GZIP, b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK")
_PACKED_NAMES = (".gz", ".tgz", ".bz2", ".xz", ".zst", ".zip")


@dataclass(frozen=True)
class CorpusSize:
    """Amount of text in a corpus.

    Attributes:
        split: name of its split.
        bytes: bytes of both sides, line ends included.
        fetched: bytes of its remote files.
        lines_apart: true if it can be split between any two lines.
        extracted: true if extract copies its files; false if they are read in their places.
        compiled: true if compile writes its text; false if it only notes where the lines are.
    """

    split: str
    bytes: float
    fetched: float = 0.0
    lines_apart: bool = True
    extracted: bool = True
    compiled: bool = True


def given_corpora(config: Config, pairs: int) -> list[CorpusSize]:
    """Divides a number of pairs equally among the training corpora of a config, and ignores its other splits."""
    count = sum(corpus.role != "vocab" for corpus in config.splits["train"])
    return [CorpusSize("train", pairs * BYTES_PER_PAIR / count)] * count


def configured_corpora(config: Config, lock: LockFile) -> list[CorpusSize]:
    """Returns the sizes of a config's corpora from their local, downloaded or locked files.

    Raises:
        ConfigError: the size of a file is not known.
    """
    corpora = [(split, corpus) for split, listed in config.splits.items() for corpus in listed]
    wanted = [list(wanted_by(split, corpus)) for split, corpus in corpora]
    members = Counter(
        mirrors for mirrors, _ in {(each.container.mirrors, each.member) for files in wanted for each in files}
    )
    workspace = Workspace(config.run_dir)
    manifest = read_manifest(workspace.manifest(Download.name))
    outputs = Outputs(config, workspace.root, {} if manifest is None else {Download.name: manifest})
    downloaded = {} if manifest is None else outputs.read(Download).files
    unknown = []

    def sizes(file: Needed) -> tuple[float, float]:
        """Returns the bytes of a file before and after decompression."""
        if file.is_repository:
            chosen = [entry.size for key, entry in downloaded.items() if key.startswith(f"{file.key}/")]
            if not chosen:
                unknown.append(file.mirrors[0])
            return sum(chosen), sum(chosen) * _PARQUET_RATIO
        path = file.local(config.base_dir)
        if path is None and (entry := downloaded.get(file.key)) is not None:
            path = outputs.directory_of(Download) / entry.sha256 / entry.name
        if path is not None and path.is_file():
            return path.stat().st_size, _unpacked(path)
        locked = lock.find(file.mirrors)
        if locked is None:
            unknown.append(file.mirrors[0])
            return 0, 0
        return locked.size, locked.size * (_UNPACKED_RATIO if file.name.endswith(_PACKED_NAMES) else 1)

    found = []
    for (split, corpus), files in zip(corpora, wanted, strict=True):
        known = {each.container: sizes(each.container) for each in files}
        text = sum(known[each.container][1] / members[each.container.mirrors] for each in files)
        fetched = sum(size for file, (size, _) in known.items() if not file.local(config.base_dir))
        local = [(each, each.container.local(config.base_dir)) for each in files]
        extracted = not all(path and is_plain(path) and is_read_by_lines(corpus, each) for each, path in local)
        is_small = max(size for size, _ in known.values()) <= SLICE_BYTES
        compiled = extracted or is_small or not has_lines_as_they_are(corpus)
        found.append(CorpusSize(split, text, fetched, reader_of(format_of(corpus)).lines_apart, extracted, compiled))
    if unknown:
        raise ConfigError(
            f"the sizes of {len(set(unknown))} files are unknown, the first of them {unknown[0]}; fetch them with "
            "nmt-prep download CONFIG, or give the number of pairs with --pairs"
        )
    return found


def total(corpora: Sequence[CorpusSize], split: str | None = None) -> float:
    """Returns the bytes of text of all corpora, or of the corpora of one split."""
    return sum(corpus.bytes for corpus in corpora if split in (None, corpus.split))


def _unpacked(path: Path) -> float:
    """Returns the bytes that a file decompresses to: exact for small gzip files, else by a typical ratio."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        head = stream.read(6)
        if not head.startswith(_PACKED_HEADS):
            return size
        if head.startswith(_GZIP) and size * _UNPACKED_RATIO < _GZIP_WRAPS / 2 and size >= 8:
            stream.seek(-4, 2)
            return float(struct.unpack("<I", stream.read(4))[0])
    return size * _UNPACKED_RATIO


_RATES = {"extract": 175e6, "compile": 112e6, "clean": 45e6, "sample": 180e6}
"""Bytes per second and worker; the rate of encode depends on the dialect."""

_LEARNING, _LINKING = 3e6, 10e6
"""Bytes per second and worker of learning word alignment in all its rounds, and of linking or scoring by it."""

_DIGESTING = 1.3e9
_WORKER_MEMORY = {
    "extract": 3_000_000,
    "compile": 65_000_000,
    "clean": 110_000_000,
    "align": 60_000_000,
    "sample": 70_000_000,
    "encode": 60_000_000,
    "outputs": 90_000_000,
}

_TRAINING_GROWTH = 0.85
"""Exponent p such that training time and memory grow as sample size ** p; below 1, because words repeat."""

_COMPILED, _SPILLED, _RECORDS = 0.30, 0.86, 0.76
"""Bytes on disk for each byte of text."""

_CHARACTER_BYTES = {"zh": 2.9, "ja": 2.9, "ko": 2.6, "th": 2.9, "hi": 2.6, "ru": 1.8, "uk": 1.8, "ar": 1.8, "el": 1.8}


@dataclass(frozen=True)
class Machines:
    """The machines of a run, each with at most one worker per core.

    Attributes:
        workers: parallel tasks on all machines together.
        cores: number of cores of each machine.
        memory: ``engine.memory`` in bytes: for all workers together with Dask, else for each machine.
        dask: true if the workers are those of Dask, each a separate process.
    """

    workers: int
    cores: int
    memory: int
    dask: bool = False

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
    """Estimated time, memory and disk space of a stage.

    Attributes:
        stage: name of the stage.
        seconds: duration of the stage.
        memory: peak bytes of the processes of one machine.
        scratch: bytes of files that are deleted at the end of the stage.
        output: bytes of files that stay.
        origin: description of the measurement that this was scaled from.
        learned: number of pairs that it learns word alignment from.
    """

    stage: str
    seconds: float
    memory: int = BASE_MEMORY
    scratch: float = 0.0
    output: float = 0.0
    origin: str = "built-in"
    learned: int = 0


def estimate(config: Config, corpora: Sequence[CorpusSize], machines: Machines) -> list[StageEstimate]:
    """Estimates every stage of a run from the start.

    Network transfers are not included: remote files are assumed to be in the cache, and nothing is published outside
    ``output_dir``.
    """
    existing = isinstance(config.vocab, ExistingVocab)
    text, sample = total(corpora), 0.0 if existing else sample_bytes(config, corpora)
    extracted = sum(corpus.bytes for corpus in corpora if corpus.extracted)
    compiled = sum(corpus.bytes for corpus in corpora if corpus.compiled)
    file = max(1.0, *(corpus.bytes / 2 for corpus in corpora))
    part = max(PART_BYTES if each.lines_apart else each.bytes for each in corpora)
    outputs = output_cost(config, {split: total(corpora, split) for split in config.splits})
    # By stage: bytes of output, of scratch and of the largest task; tasks cannot be divided further.
    rows = {
        "extract": (extracted, 0.0, file),
        "compile": (_COMPILED * compiled, 0.0, part),
        **_cleaning(config, corpora),
        **({} if config.align is None else {"align": (0.2 * text, _COMPILED * text, part)}),
        **({} if existing else {"sample": (sample, sample, file), "vocab": (0.0, 0.0, text)}),
        "encode": (_RECORDS * text, _SPILLED * text, PART_BYTES),
        **({"outputs": (outputs.written, outputs.scratch, PART_BYTES)} if outputs.seconds else {}),
    }
    stages = [StageEstimate("download", text / _DIGESTING, output=sum(corpus.fetched for corpus in corpora))]
    for name, (written, scratch, task) in rows.items():
        output = written
        work = extracted if name == "extract" else work_of(name, text, sample)
        busy, origin = max(min(machines.workers, text / task), 1.0), "built-in"
        note = nearest_note(kind_of(name, config, in_place=not compiled), work)
        if note is not None:
            origin = f"measured {note.made} on {note.work / 1e6:,.0f} MB"
            if name in ("compile", "clean", "encode", "outputs"):
                output = note.written / note.work * (compiled if name == "compile" else text)
        if name == "vocab":
            seconds, memory = _training(config, work, note)
        else:
            memory = _memory(name, config, corpora, note, ceil(busy), machines)
            rate = _RATES.get(name, 1.0)
            if name == "encode":
                rate = dialect_of(config.vocab).speed.encoding
            elif name == "outputs":
                rate = work / outputs.seconds
            elif name == "align":
                rate = 1 / _alignment(name, config, corpora)
            elif name == "clean" and _scores_translations(config):
                rate = 1 / (1 / rate + _alignment(name, config, corpora))
            seconds = work / busy * (1 / rate if note is None else note.seconds * note.workers / note.work)
        learned = _learned(name, config, corpora)
        stages.append(StageEstimate(name, seconds, memory, scratch, output, origin, learned))
    return [*stages, StageEstimate("report", 0.1)]


def _cleaning(config: Config, corpora: Sequence[CorpusSize]) -> dict[str, tuple[float, float, float]]:
    """Returns the row of the stage clean, as if it kept everything; none if the config does not clean."""
    if config.clean is None:
        return {}
    written = _COMPILED * sum(total(corpora, split) for split in config.clean.splits)
    rules = [config.clean.rules, *(override.rules for override in config.clean.overrides.values())]
    # The pairs of a corpus are first written to scratch, together with a record of each pair for each comparison.
    settings = effective_dedup(config.clean)
    comparisons = comparisons_of(settings)
    scratch = written if comparisons or any(CORPUS_RULES.keys() & layer.keys() for layer in rules) else 0.0
    pairs = written / _COMPILED / BYTES_PER_PAIR
    record_bytes = sum(each.record_bytes for each in comparisons)
    if settings.pair == "near":
        signatures = Signatures.of(settings)
        record_bytes += signatures.bands.bands * signatures.record_bytes
    return {"clean": (written, scratch + pairs * record_bytes, PART_BYTES)}


def peak_disk(stages: Sequence[StageEstimate]) -> float:
    """Returns the peak number of bytes below ``output_dir``."""
    return max(sum(each.output for each in stages[: n + 1]) + stage.scratch for n, stage in enumerate(stages))


def advice(config: Config, stages: Sequence[StageEstimate], machines: Machines) -> Iterator[str]:
    """Yields a sentence for each limit that the run would exceed, with advice on what to change."""
    allowed, shards = config.engine.memory, config.shards("train")
    for stage in stages:
        if stage.stage == "vocab" and stage.memory > allowed:
            yield (
                f"building a vocabulary takes about {gigabytes(stage.memory)} of memory on one machine, but "
                f"engine.memory is {gigabytes(allowed)}: vocab stops with an error; raise engine.memory, or lower "
                f"sample.bytes_per_corpus (now {config.sample.bytes_per_corpus:,})"
            )
        elif stage.learned and BASE_MEMORY + learning_memory(stage.learned) > allowed:
            yield (
                f"learning word alignment from {stage.learned:,} pairs takes about "
                f"{gigabytes(BASE_MEMORY + learning_memory(stage.learned))} of memory, but engine.memory is "
                f"{gigabytes(allowed)}: {stage.stage} stops with an error; raise engine.memory, or lower "
                f"{'align' if stage.stage == 'align' else 'clean.rules.translation'}.pairs"
            )
        elif stage.memory > (allowed // machines.count if machines.dask else allowed):
            yield (
                f"{stage.stage} takes about {gigabytes(stage.memory)} on a machine, more than engine.memory gives it; "
                "use fewer workers, or raise engine.memory"
            )
    place, peak = config.run_dir.absolute(), peak_disk(stages)
    free = shutil.disk_usage(next(each for each in (place, *place.parents) if each.exists())).free
    if peak > free:
        yield (
            f"{gigabytes(peak)} are needed below {config.output_dir}, where {gigabytes(free)} are free; "
            "free some, or set output_dir to a larger disk"
        )
    if shards < machines.workers:
        yield f"{shards:,} shards are {shards:,} tasks for {machines.workers:,} workers; raise records.shards.train"


def gigabytes(size: float) -> str:
    """Returns an amount of bytes in words."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size / 1e3:,.0f} kB"


def sample_bytes(config: Config, corpora: Sequence[CorpusSize]) -> float:
    """Returns the bytes of text that vocabularies are trained on, by the rule of the sample stage."""
    budget, sampled = config.sample.bytes_per_corpus, 0.0
    for language in (config.languages.source, config.languages.target):
        width = _CHARACTER_BYTES.get(language.partition("-")[0], 1.1)
        sides = [corpus.bytes / 2 for corpus in corpora if corpus.split == "train"]
        sampled += sum(min(size / stride_of(int(size), budget), budget * width) for size in sides)
    return sampled


def _training(config: Config, work: float, note: StageNote | None) -> tuple[float, int]:
    """Returns the seconds and the bytes of memory that training a vocabulary takes."""
    typical = dialect_of(config.vocab).speed
    growth = (work / typical.sample) ** _TRAINING_GROWTH
    seconds, memory = typical.seconds * growth, typical.memory * growth
    if note is not None:
        growth = (work / note.work) ** _TRAINING_GROWTH
        seconds, memory = note.seconds * growth, memory if note.memory is None else note.memory * growth
    return seconds, BASE_MEMORY + int(memory)


def _memory(
    name: str, config: Config, corpora: Sequence[CorpusSize], note: StageNote | None, busy: int, machines: Machines
) -> int:
    """Returns the bytes of memory of the processes of one machine, at least as many as were measured before."""
    workers, each = ceil(busy / machines.count), _WORKER_MEMORY[name]
    if name in ("encode", "outputs"):
        shard = max(_SPILLED * total(corpora, split) / config.shards(split) for split in config.splits)
        each += int(max(2 * spill_buffer(machines.share), min(shard, bucket_share(machines.share))))
    if name == "clean" and config.clean is not None and effective_dedup(config.clean).active:
        each = max(each, int(2.5 * range_bytes(machines.share)))  # the records of a range, and the pairs to drop
    if note is not None and note.memory is not None:
        each = max(each, note.memory // note.workers)
    base = BASE_MEMORY * (workers if machines.dask else 1)
    return base + max(workers * each, learning_memory(_learned(name, config, corpora)))


def _alignment(name: str, config: Config, corpora: Sequence[CorpusSize]) -> float:
    """Returns the seconds that one worker takes for each byte of text to learn word alignment, and to link by it."""
    return 1 / _LINKING + _learned(name, config, corpora) * BYTES_PER_PAIR / total(corpora) / _LEARNING


def _scores_translations(config: Config) -> bool:
    """Returns True if cleaning uses a model of word alignment."""
    return config.clean is not None and not COMPUTED_SCORES.isdisjoint(_rules(config.clean))


def _learned(name: str, config: Config, corpora: Sequence[CorpusSize]) -> int:
    """Returns the number of pairs that a stage learns word alignment from; 0 if it does not learn."""
    if name == "align" and config.align is not None and config.align.learns:
        splits, most = config.align.splits or tuple(config.splits), config.align.pairs
    elif name == "clean" and config.clean is not None and _scores_translations(config):
        splits, rules = config.clean.splits, _rules(config.clean)
        most = max(rule.learns_from(rules[rule.name]) for rule in LATE if rule.name in rules)
    else:
        return 0
    return min(int(sum(total(corpora, split) for split in splits) / BYTES_PER_PAIR), most)


def _rules(settings: CleanSettings) -> dict[str, Any]:
    return effective_rules(settings.preset, settings.rules)
