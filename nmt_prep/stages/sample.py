"""sample: selects the lines that vocabularies are trained on.

As Tensor2Tensor's ``generate_lines_for_vocab`` (``tensor2tensor/data_generators/generator_utils.py``), it takes every
n-th line of each side of each corpus, stripped, until a budget of characters is used up.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.artefacts import atomic_write
from nmt_prep.columns import joined_lines
from nmt_prep.config import SIDES, Config, Side
from nmt_prep.config.section import Languages
from nmt_prep.corpora import open_corpus, strip_lines
from nmt_prep.engines import Tick
from nmt_prep.errors import CorpusError
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job, Result, Stage
from nmt_prep.stages.compile import FAULTS, Compile, corpus_files, reading_settings
from nmt_prep.stages.compile_slices import CorpusFiles
from nmt_prep.stages.extract import Extract


@dataclass(frozen=True)
class SampleTask:
    """One side of a corpus to sample from.

    Attributes:
        key: names the task.
        source: the corpus.
        languages: of the config.
        side: to sample.
        read_bytes: UTF-8 bytes of that side's lines, as compile counted them.
        budget: in characters.
        sound: compile found no fault with any pair.
        output: file to write.
    """

    key: str
    source: CorpusFiles
    languages: Languages
    side: Side
    read_bytes: int
    budget: int
    sound: bool
    output: Path


@dataclass(frozen=True)
class SampleSize:
    """Lines and UTF-8 bytes of a sample, with one byte for the end of each line."""

    lines: int
    bytes: int

    def __add__(self, other: SampleSize) -> SampleSize:
        return SampleSize(self.lines + other.lines, self.bytes + other.bytes)


def sample_corpus(task: SampleTask, tick: Tick) -> SampleSize:
    """Writes the sample of one side of a corpus. Ticks are lines.

    Raises:
        CorpusError: the corpus cannot be read; the message begins with its key in the config.
    """
    try:
        return _sample(task, tick)
    except CorpusError as error:
        raise task.source.explained(error) from error


def _sample(task: SampleTask, tick: Tick) -> SampleSize:
    lines = size = 0
    reader = open_corpus(task.source.corpus, task.source.files, task.languages)
    known = reader.size_in_bytes(task.side)
    with atomic_write(task.output) as beside, beside.open("wb") as output:
        stride = stride_of(task.read_bytes if known is None else known, task.budget)
        for sampled in affordable(reader.every(task.side, stride, sound=task.sound), task.budget):
            size += output.write(joined_lines(sampled))
            lines += len(sampled)
            tick(len(sampled))
    return SampleSize(lines, size)


SAMPLE = Round("sample", sample_corpus, SampleSize, unit="lines", made=lambda task, _: [task.output])


@dataclass(frozen=True)
class SampleOutput:
    """The sizes of the two files."""

    source: SampleSize
    target: SampleSize


Sampled: TypeAlias = "list[tuple[SampleTask, SampleSize]]"


class Sample(Stage[SampleOutput, Sampled]):
    """Writes ``sample/source.txt`` and ``sample/target.txt``.

    The sides are sampled independently, as upstream does: line i of one is not the translation of line i of the other.
    Lines are taken before compile drops any.
    """

    name = "sample"
    directory = "sample"
    reads = (Extract, Compile)
    output = SampleOutput
    rounds = (SAMPLE,)

    def settings(self, config: Config) -> dict[str, object]:
        corpora = config.splits["train"]
        settings: dict[str, object] = {
            "sample.bytes_per_corpus": config.sample.bytes_per_corpus,
            "splits.train": [corpus.name for corpus in corpora],
        }
        for corpus in corpora:
            settings |= reading_settings(f"splits.train.{corpus.name}", corpus, config.languages)
        return settings

    def work(self, job: Job) -> Rounds[Sampled]:
        compiled = job.read(Compile).corpora["train"]
        tasks: list[SampleTask] = []
        for side in SIDES:
            for index, corpus in enumerate(job.config.splits["train"]):
                counts = compiled[corpus.name]
                key = f"{side}-{index:03d}"
                tasks.append(
                    SampleTask(
                        key=key,
                        source=corpus_files(job, "train", index, corpus),
                        languages=job.config.languages,
                        side=side,
                        read_bytes=counts.source_bytes if side == "source" else counts.target_bytes,
                        budget=job.config.sample.bytes_per_corpus,
                        sound=not any(counts.dropped[reason] for reason in FAULTS),
                        output=job.scratch / key,
                    )
                )
        results = yield from SAMPLE.run(tasks)
        return list(zip(tasks, results, strict=True))

    def finish(self, job: Job, made: Sampled) -> Result[SampleOutput]:
        sizes: dict[Side, SampleSize] = {}
        for side in SIDES:
            own = [(task.output, size) for task, size in made if task.side == side]
            _join([path for path, _ in own], job.directory / f"{side}.txt")
            sizes[side] = reduce(add, (size for _, size in own))
        numbers = {f"{side}_{name}": count for side in SIDES for name, count in vars(sizes[side]).items()}
        return Result(SampleOutput(**sizes), Counts(other=numbers), files=[f"{side}.txt" for side in SIDES])


def stride_of(size_in_bytes: int, budget: int) -> int:
    """Returns n for "every n-th line", as Tensor2Tensor: int(size / budget / 2) lines are skipped between two."""
    return int(size_in_bytes / budget / 2) + 1


def affordable(batches: Iterator[pa.Array], budget: int) -> Iterator[pa.Array]:
    """Yields stripped lines until they use up the budget. Reads no more of ``batches`` than needed.

    Args:
        batches: Arrow string arrays, none of them empty.
        budget: in characters; upstream calls them bytes, but counts characters.
    """
    for batch in batches:
        lines = strip_lines(batch)
        ends = np.cumsum(pc.utf8_length(lines).to_numpy(zero_copy_only=False), dtype=np.int64)
        yield lines[: int(np.searchsorted(ends, budget)) + 1]  # includes the line that uses up the budget
        budget -= int(ends[-1])
        if budget <= 0:
            return


def _join(parts: Sequence[Path], output: Path) -> None:
    with atomic_write(output) as beside, beside.open("wb") as file:
        for path in parts:
            with path.open("rb") as part:
                shutil.copyfileobj(part, file, 1 << 20)
