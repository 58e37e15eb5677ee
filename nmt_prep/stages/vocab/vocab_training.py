"""The rounds of the `vocab` stage, for vocabularies that are trained.

The first round counts the texts of a large sample, one slice per task. The second trains the vocabularies one after
another, because training may need most of the memory. It reports an event for each step, and has a meter for each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from _nmt_prep_core import TruecaserTrainer

from nmt_prep.base.artefacts import write_bytes
from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import TrainingError
from nmt_prep.base.progress import Meter
from nmt_prep.base.sides import Side
from nmt_prep.config.vocab import VocabOptions
from nmt_prep.corpora.slices import line_from
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round
from nmt_prep.subwords import Tokenizer, dialect_of
from nmt_prep.subwords.dialect import TextCounts, Training, read_counts, write_counts
from nmt_prep.subwords.facts import DescribedVocabulary, describe_vocabulary
from nmt_prep.subwords.words import copy_name, load_chain, save_chain
from nmt_prep.text.blocks import iter_lines, text_bytes
from nmt_prep.text.chain import Chain
from nmt_prep.text.chunks import LineSlice
from nmt_prep.text.step import StepContext

TRAINED = "train"  # Stands for a model that is learned from the sample
SLICE_BYTES = 64 << 20  # Bytes of a sample that one task counts; a sample of at most this size needs no such tasks


@dataclass(frozen=True)
class SampleFile:
    """The file with the sampled lines of a side; ``size`` is in bytes."""

    side: Side
    path: Path
    size: int
    words: Path | None = None  # the file of the steps that change its lines first; None for no steps
    made: int = 0  # number of these steps that have changed its lines already
    base_dir: Path | None = None  # the directory of programs and modules that the steps may run

    def lines(self, lines: LineSlice | None = None, threads: int = 1) -> Iterator[tuple[pa.Array, int]]:
        """Yields lines after the steps, with their bytes in the file."""
        chain = None if self.words is None else Chain(load_chain(self.words, self.base_dir)[0].steps[self.made :])
        for block in iter_lines(self.path, lines):
            yield block if chain is None else chain.apply(block, threads).lines, text_bytes(block) + len(block)


@dataclass(frozen=True)
class WordsTask:
    """A side's steps to write as a file beside the vocabulary."""

    key: str
    sample: SampleFile | None  # what a truecasing model is learned from; None if none is to be learned
    specs: tuple[Any, ...]
    language: str
    base_dir: Path
    output: Path
    vocabulary: str  # name of the vocabulary's file


def without_training(specs: Sequence[object]) -> tuple[list[object], int | None]:
    """Returns steps without ``truecase: train``, and the place of this step; None if there is none."""
    places = [place for place, spec in enumerate(specs) if isinstance(spec, Mapping) and _model(spec) == TRAINED]
    place = places[0] if places else None
    return [spec for number, spec in enumerate(specs) if number != place], place


def _model(spec: Mapping[str, Any]) -> object:
    options = spec.get("truecase")
    return options.get("model") if isinstance(options, Mapping) else options


def write_words(task: WordsTask, tick: Tick) -> tuple[str, ...]:
    """Writes a side's steps, and learns its truecasing model; returns the file names. Ticks are bytes."""
    context, specs = StepContext(task.language, task.base_dir), [*task.specs]
    _, place = without_training(specs)
    if place is not None:
        assert task.sample is not None
        chain, trainer = Chain.of(specs[task.sample.made : place], context), TruecaserTrainer(False)
        for lines, size in task.sample.lines():
            words = TextColumn.from_arrow(chain.apply(lines).lines)
            trainer.add(words.data, words.offsets)
            tick(size)
        model = task.output.with_name(copy_name(task.output, place + 1, "truecase", "model"))
        write_bytes(model, "".join(f"{line}\n" for line in trainer.model()).encode())
        given = specs[place]["truecase"]
        specs[place] = {"truecase": {**(given if isinstance(given, Mapping) else {}), "model": str(model)}}
    return save_chain(Chain.of(specs, context), task.output, task.language, task.vocabulary)


WORDS = Round(
    "words",
    write_words,
    tuple[str, ...],
    unit="bytes",
    words="learning words",
    made=lambda task, names: [task.output.with_name(name) for name in names],
)


@dataclass(frozen=True)
class CountTask:
    """A slice of a sample to count: the lines that start at or after byte ``start`` and before byte ``end``."""

    key: str
    sample: SampleFile
    start: int  # byte offset in the file, inclusive
    end: int  # byte offset in the file, exclusive
    options: VocabOptions
    output: Path


def count_tasks(samples: Sequence[SampleFile], options: VocabOptions, scratch: Path) -> Iterator[CountTask]:
    """Yields tasks that count a vocabulary's samples, or none if they are small or the dialect needs no counts."""
    if sum(sample.size for sample in samples) <= SLICE_BYTES or dialect_of(options).new_counts(options) is None:
        return
    for sample in samples:
        for number, start in enumerate(range(0, sample.size, SLICE_BYTES)):
            key = f"count-{sample.side}-{number:05d}"
            yield CountTask(key, sample, start, min(start + SLICE_BYTES, sample.size), options, scratch / key)


def count_slice(task: CountTask, tick: Tick) -> int:
    """Counts the texts in a slice and writes the counts; returns how many texts are distinct. Ticks are bytes."""
    counts = dialect_of(task.options).new_counts(task.options)
    assert counts is not None
    start, end = (line_from(task.sample.path, position) for position in (task.start, task.end))
    for lines, size in task.sample.lines(LineSlice(start, end, 1)):
        counts.add(lines, threads=1)
        tick(size)
    columns = counts.columns()
    write_counts(task.output, columns)
    return len(columns.counts)


COUNT = Round("count", count_slice, int, unit="bytes", words="counting words")


@dataclass(frozen=True)
class VocabularyTask:
    """One vocabulary to train."""

    key: str  # name of the task and the vocabulary: `source`, `target` or `shared`
    samples: tuple[SampleFile, ...]
    counted: tuple[Path, ...]  # files with the counts of these lines; empty if the lines are not counted yet
    output: Path
    options: VocabOptions
    threads: int
    memory: int  # bytes of memory that training may use
    other: VocabularyTask | None = None  # the vocabulary of the other side, if both are trained together


class TrainingMeters(ExitStack):
    """A progress callback for trainers. Use it as a context manager, which ends the last meter."""

    def __init__(self, whole: Meter, key: str) -> None:
        """Starts without a meter.

        ``whole``, the meter of the whole training, advances by 1 for each report; if the run is being stopped, this
        raises and so ends the training. ``key`` is the vocabulary's name.
        """
        super().__init__()
        self._whole = whole
        self._key = key
        self._meter: Meter | None = None
        self._step = ""

    def __call__(self, event: str, fields: Mapping[str, int | float | str]) -> None:
        """Shows a report of the trainer."""
        self._whole.event(f"vocab_{event}", side=self._key, **fields)
        self._whole.advance(1)
        if event == "step":
            self._begin(str(fields["step"]), None, "steps")
        elif event == "iteration":
            self._show("choosing pieces", None, "iterations", int(fields["iteration"]))
        elif event == "merges":
            self._show("merging", int(fields["target"]), "pieces", int(fields["size"]))

    def _show(self, step: str, total: int | None, unit: str, done: int) -> None:
        if self._step != step:
            self._begin(step, total, unit)
        assert self._meter is not None
        self._meter.advance(done - self._meter.done)

    def _begin(self, step: str, total: int | None, unit: str) -> None:
        self.close()
        self._step = step
        self._meter = self.enter_context(self._whole.part(f"vocab {self._key}: {step}", total, unit))


def build_vocabulary(task: VocabularyTask, meter: Meter) -> DescribedVocabulary:
    """Trains one vocabulary and writes it; the meter counts steps of the training."""
    if not any(sample.size for sample in task.samples):
        raise TrainingError(
            f"vocab {task.key}: there is no text to learn from, since the corpora of train have no pairs left; "
            "nmt-prep rejects CONFIG shows what cleaning drops"
        )
    dialect = dialect_of(task.options)
    _train(task, meter).save(task.output)
    layout = dialect.id_layout(task.options)
    tokenizer = dialect.load(task.output, id_layout=layout)
    return describe_vocabulary(tokenizer, task.output.name, layout, task.options.own_pieces)


def _train(task: VocabularyTask, meter: Meter) -> Tokenizer:
    dialect = dialect_of(task.options)
    with TrainingMeters(meter, task.key) as report:
        counts = dialect.new_counts(task.options)
        text = _lines(task, meter) if counts is None else _filled(counts, task, meter)
        other = dialect.new_counts(task.options) if task.other else None
        if task.other is not None and other is not None:
            other = _filled(other, task.other, meter)
        return dialect.train(text, task.options, Training(report, task.threads, task.memory, other))


def _filled(counts: TextCounts[Any], task: VocabularyTask, meter: Meter) -> TextCounts[Any]:
    """Fills empty counts from the files of the count round, or from the samples if there are none."""
    if not task.counted:
        counts.add(_lines(task, meter), task.threads if task.other is None else 1)  # one thread keeps the order
    for counted in task.counted:
        counts.add_counted(read_counts(counted))
        counts.check_memory(task.memory)  # before the counts themselves exhaust the memory
    return counts


def _lines(task: VocabularyTask, meter: Meter) -> Iterator[pa.Array]:
    size = sum(sample.size for sample in task.samples)
    with meter.part(f"vocab {task.key}: reading the sample", size, "bytes") as read:
        for sample in task.samples:
            for lines, read_bytes in sample.lines(threads=task.threads):
                yield lines
                read.advance(read_bytes)


TRAIN = Round(
    "train",
    build_vocabulary,
    DescribedVocabulary,
    unit="steps",
    here=True,
    words="training the vocabulary",
)
