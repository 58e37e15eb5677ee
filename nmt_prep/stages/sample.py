"""sample: the lines that the vocabularies see.

As Tensor2Tensor's ``generate_lines_for_vocab`` (``tensor2tensor/data_generators/generator_utils.py``): of each side
of each corpus, every so-manieth line, stripped, until a budget of characters is used up.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.artefacts import published
from nmt_prep.columns import joined_lines
from nmt_prep.config import SIDES, Config, Corpus, Side
from nmt_prep.config.section import Languages
from nmt_prep.corpora import open_corpus, strip_lines
from nmt_prep.engines import Tick
from nmt_prep.errors import CorpusError
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.stage import Context, Result, Stage
from nmt_prep.pipeline.tasks import Round
from nmt_prep.stages.compile import reading_settings
from nmt_prep.stages.compile_slices import CorpusFiles
from nmt_prep.stages.compile_tasks import FAULTS
from nmt_prep.stages.extract import extracted_files, file_names


@dataclass(frozen=True)
class SampleTask:
    """One side of a corpus to sample from.

    Attributes:
        key: names the task.
        source: the corpus.
        languages: of the config.
        side: which one.
        size_in_bytes: of that side's text.
        budget: in characters.
        sound: whether compile found no fault with any pair.
        output: file to write.
    """

    key: str
    source: CorpusFiles
    languages: Languages
    side: Side
    size_in_bytes: int
    budget: int
    sound: bool
    output: Path


class Sample(Stage):
    """Writes ``sample/source.txt`` and ``sample/target.txt``.

    The sides are sampled each for itself, as upstream does: line i of one is not the other side of line i of the
    other. Lines are taken before compile drops any.
    """

    name: ClassVar[str] = "sample"
    inputs: ClassVar[tuple[str, ...]] = ("extract", "compile")
    directory: ClassVar[str] = "sample"
    rounds: ClassVar[tuple[str, ...]] = ("sample",)

    def settings(self, config: Config) -> dict[str, object]:
        corpora = config.splits["train"]
        settings: dict[str, object] = {
            "sample.bytes_per_corpus": config.sample.bytes_per_corpus,
            "splits.train": [corpus.name for corpus in corpora],
        }
        for corpus in corpora:
            settings |= reading_settings(f"splits.train.{corpus.name}", corpus, config.languages)
        return settings

    def run(self, context: Context) -> Result:
        corpora = context.config.splits["train"]
        tasks = [_task(context, side, index, corpus) for side in SIDES for index, corpus in enumerate(corpora)]
        results = context.tasks.run(
            Round("sample", sample_corpus, tasks, unit="lines", made=lambda task, _: [task.output])
        )
        details: dict[str, Any] = {}
        for side in SIDES:
            own = [(task, result) for task, result in zip(tasks, results, strict=True) if task.side == side]
            _join([task.output for task, _ in own], context.directory / f"{side}.txt")
            details[side] = {name: sum(result[name] for _, result in own) for name in ("lines", "bytes")}
        numbers = {f"{side}_{name}": count for side, counts in details.items() for name, count in counts.items()}
        return Result(Counts(other=numbers), files=[f"{side}.txt" for side in SIDES], details=details)


def sample_corpus(task: SampleTask, tick: Tick) -> dict[str, Any]:
    """Writes the sample of one side of a corpus; returns the numbers of its lines and bytes. Ticks are lines.

    Raises:
        CorpusError: the corpus cannot be read; the message begins with its key in the config.
    """
    try:
        return _sample(task, tick)
    except CorpusError as error:
        raise task.source.explained(error) from error


def _sample(task: SampleTask, tick: Tick) -> dict[str, Any]:
    lines = size = 0
    reader = open_corpus(task.source.corpus, task.source.files, task.languages)
    with published(task.output) as beside, beside.open("wb") as output:
        lines_taken = reader.every(task.side, stride_of(task.size_in_bytes, task.budget), sound=task.sound)
        for sampled in affordable(lines_taken, task.budget):
            size += output.write(joined_lines(sampled))
            lines += len(sampled)
            tick(len(sampled))
    return {"lines": lines, "bytes": size}


def stride_of(size_in_bytes: int, budget: int) -> int:
    """Of how many lines Tensor2Tensor takes the last one: ``skip`` and one more, with skip = int(size / budget / 2)."""
    return int(size_in_bytes / budget / 2) + 1


def affordable(batches: Iterator[pa.Array], budget: int) -> Iterator[pa.Array]:
    """Lines, stripped, for as long as the characters of those before are fewer than the budget.

    Of ``batches`` no more is read than needed.

    Args:
        batches: Arrow string arrays, none of them empty.
        budget: in characters, as upstream counts although it speaks of bytes.
    """
    for batch in batches:
        lines = strip_lines(batch)
        ends = np.cumsum(pc.utf8_length(lines).to_numpy(zero_copy_only=False), dtype=np.int64)
        yield lines[: int(np.searchsorted(ends, budget)) + 1]  # the line that uses the budget up is still taken
        budget -= int(ends[-1])
        if budget <= 0:
            return


def _task(context: Context, side: Side, index: int, corpus: Corpus) -> SampleTask:
    files = extracted_files(context, "train", corpus)
    languages = context.config.languages
    compiled = context.manifests["compile"].details["corpora"]["train"][corpus.name]
    size = open_corpus(corpus, files, languages).size_in_bytes(side)
    key = f"{side}-{index:03d}"
    return SampleTask(
        key=key,
        source=CorpusFiles("train", index, corpus, files, file_names(context, "train", corpus)),
        languages=languages,
        side=side,
        size_in_bytes=int(compiled[f"{side}_bytes"]) if size is None else size,
        budget=context.config.sample.bytes_per_corpus,
        sound=not any(compiled["dropped"][reason] for reason in FAULTS),
        output=context.scratch / key,
    )


def _join(parts: Sequence[Path], output: Path) -> None:
    with published(output) as beside, beside.open("wb") as file:
        for path in parts:
            with path.open("rb") as part:
                shutil.copyfileobj(part, file, 1 << 20)
