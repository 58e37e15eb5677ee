"""The first round of vocab: counts the texts of a large sample, one slice per task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_prep.config.vocab import VocabOptions
from nmt_prep.corpora.slices import line_from
from nmt_prep.engines import Tick
from nmt_prep.lines.blocks import iter_lines, text_bytes
from nmt_prep.lines.chunks import LineSlice
from nmt_prep.pipeline.rounds import Round
from nmt_prep.sides import Side
from nmt_prep.subwords import dialect_of
from nmt_prep.subwords.counts import write_counts

SLICE_BYTES = 64 << 20
"""Bytes of a sample that one task counts; a sample that is no larger needs no such tasks."""


@dataclass(frozen=True)
class SampleFile:
    """The file with the sampled lines of a side; ``size`` is in bytes."""

    side: Side
    path: Path
    size: int


@dataclass(frozen=True)
class CountedTexts:
    """The number of distinct texts that a task counted."""

    texts: int


@dataclass(frozen=True)
class CountTask:
    """A slice of a sample to count: the lines that start at or after byte ``start`` and before byte ``end``.

    Attributes:
        key: name of the task.
        sample: file with the sampled lines.
        start: byte offset in the file, inclusive.
        end: byte offset in the file, exclusive.
        options: options of the vocabulary.
        output: file to write.
    """

    key: str
    sample: Path
    start: int
    end: int
    options: VocabOptions
    output: Path


def count_tasks(samples: Sequence[SampleFile], options: VocabOptions, scratch: Path) -> Iterator[CountTask]:
    """Yields tasks that count the samples of one vocabulary; none if they are small or the dialect needs no counts."""
    if sum(sample.size for sample in samples) <= SLICE_BYTES or dialect_of(options).new_counts(options) is None:
        return
    for sample in samples:
        for number, start in enumerate(range(0, sample.size, SLICE_BYTES)):
            key = f"count-{sample.side}-{number:05d}"
            yield CountTask(key, sample.path, start, min(start + SLICE_BYTES, sample.size), options, scratch / key)


def count_slice(task: CountTask, tick: Tick) -> CountedTexts:
    """Counts the texts of a slice and writes the counts; ``tick`` gets bytes.

    Raises:
        OutputError: the file cannot be written.
    """
    counts = dialect_of(task.options).new_counts(task.options)
    assert counts is not None
    start, end = (line_from(task.sample, position) for position in (task.start, task.end))
    for lines in iter_lines(task.sample, LineSlice(start, end, 1)):
        counts.add(lines, threads=1)
        tick(text_bytes(lines) + len(lines))
    columns = counts.columns()
    write_counts(task.output, columns)
    return CountedTexts(len(columns.counts))


COUNT = Round(
    "count", count_slice, CountedTexts, unit="bytes", made=lambda task, _: [task.output], words="counting words"
)
