"""compile: from corpora of any format to Parquet parts of aligned, checked pairs.

There are three rounds of tasks. The first counts the lines of large files, the second the rows of other files before
the last slice of a corpus; the third compiles corpora, large ones a slice at a time. Pairs with an empty side are
dropped and counted, and so are pairs in which the reader finds a fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.config import Config, Corpus
from nmt_prep.config.section import Languages
from nmt_prep.corpora import (
    Fault,
    PairBatch,
    format_of,
    iter_pairs,
    open_corpus,
    parts_of,
    reader_of,
    row_groups,
    score_files,
)
from nmt_prep.corpora.lines import text_bytes
from nmt_prep.corpora.parts import Part, write_parts
from nmt_prep.corpora.reader import numbered
from nmt_prep.corpora.scores import ScoreLines, with_scores
from nmt_prep.corpora.slices import line_slice
from nmt_prep.engines import Tick
from nmt_prep.errors import CorpusError
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job, Result, Stage
from nmt_prep.stages.compile_slices import LINES, ROWS, CorpusFiles, CorpusSlice, slice_corpora
from nmt_prep.stages.extract import Extract, file_names

__all__ = ["DROP_REASONS", "Compile", "iter_pairs", "row_groups"]


_FAULTS = {fault: fault.name.lower() for fault in Fault if fault != Fault.BLANK}

FAULTS = tuple(_FAULTS.values())
"""Drop reasons that come from readers."""

DROP_REASONS = ("empty_source", "empty_target", "empty_both", *FAULTS, "vocab_only")


@dataclass(frozen=True)
class CompileTask:
    """One corpus of one split to compile, or a slice of it.

    Attributes:
        key: names the task.
        source: the corpus.
        slice: the part of the corpus to compile.
        number: of the slice.
        whole: true if the slice is the whole corpus.
        languages: of the config.
        directory: for the parts.
        written: the pairs are written to parts, also of a corpus of role vocab, whose lines are cleaned for the sample.
    """

    key: str
    source: CorpusFiles
    slice: CorpusSlice
    number: int
    whole: bool
    languages: Languages
    directory: Path
    written: bool = True


@dataclass(frozen=True)
class CorpusCounts:
    """Pairs and bytes of a corpus, or of a slice of one.

    Attributes:
        pairs_in: pairs read.
        pairs_out: pairs compiled.
        dropped: pairs by the reason for which they were dropped, all reasons.
        altered: lines by what was altered in them, such as ``carriage_returns`` removed.
        source_bytes: UTF-8 bytes of all lines read, with one byte for the end of each line.
        target_bytes: the same for the target side.
    """

    pairs_in: int
    pairs_out: int
    dropped: dict[str, int]
    altered: dict[str, int]
    source_bytes: int
    target_bytes: int

    def __add__(self, other: CorpusCounts) -> CorpusCounts:
        return CorpusCounts(
            self.pairs_in + other.pairs_in,
            self.pairs_out + other.pairs_out,
            {reason: count + other.dropped[reason] for reason, count in self.dropped.items()},
            {what: count + other.altered[what] for what, count in self.altered.items()},
            self.source_bytes + other.source_bytes,
            self.target_bytes + other.target_bytes,
        )


@dataclass(frozen=True)
class CompiledPart:
    """A Parquet file of pairs.

    Attributes:
        file: its path relative to the stage's directory.
        pairs: in the file.
        bytes: UTF-8 bytes of both sides.
        corpus: name of the corpus.
    """

    file: str
    pairs: int
    bytes: int
    corpus: str


@dataclass(frozen=True)
class CompiledSlice:
    """The result of a task.

    Attributes:
        parts: the files that it wrote.
        digests: SHA-256 of each of them.
        counts: of pairs and bytes.
        scored: the numbers of compiled pairs with a score, by the name of the score.
    """

    parts: tuple[CompiledPart, ...]
    digests: dict[str, str]
    counts: CorpusCounts
    scored: dict[str, int]


def compile_slice(task: CompileTask, tick: Tick) -> CompiledSlice:
    """Compiles one corpus or a slice of it. Ticks are bytes of text.

    Raises:
        CorpusError: the corpus is not aligned, not text, malformed, or has no pair with text on both sides; the message
            begins with its key in the config.
    """
    try:
        result = _compile(task, tick)
    except CorpusError as error:
        raise task.source.explained(error) from error
    if task.whole:
        check_result(task.source, [result])
    return result


COMPILE = Round(
    "compile",
    compile_slice,
    CompiledSlice,
    unit="bytes",
    made=lambda task, result: (task.directory.parent / part.file for part in result.parts),
)


def check_result(source: CorpusFiles, slices: Sequence[CompiledSlice]) -> CorpusCounts:
    """Checks the results of all slices of a corpus; returns the counts.

    Raises:
        CorpusError: no pair is left, or no pair has one of the scores.
    """
    counts = reduce(add, (each.counts for each in slices))
    if source.corpus.role == "vocab":
        return counts
    if not counts.pairs_out:
        raise _no_pairs(source, counts)
    for name in sorted(source.corpus.scores):
        if not sum(each.scored[name] for each in slices):
            raise CorpusError(f"{source.where}.scores.{name}: no pair has this score; correct it in the config")
    return counts


def _no_pairs(source: CorpusFiles, counts: CorpusCounts) -> CorpusError:
    """Returns the error to raise if no pair of a corpus is left."""
    names = " and ".join(str(path) for files in source.files for path in files.values())
    reasons = ", ".join(f"{reason} {count}" for reason, count in counts.dropped.items() if count)
    error = CorpusError(
        f"no pair has text on both sides ({counts.pairs_in} pairs in {names}"
        f"{'; dropped: ' * bool(reasons)}{reasons}); check its format and options in the config, or remove it"
    )
    return source.explained(error)


def _compile(task: CompileTask, tick: Tick) -> CompiledSlice:
    corpus = task.source.corpus
    counts = _Counting(corpus.scores)
    bounds = task.slice.bounds
    slices = {part: line_slice(path, bounds[part]) for part, path in task.slice.files[0].items()} if bounds else None
    reader = open_corpus(corpus, task.slice.files, task.languages, slices)
    files = [ScoreLines(name, path, task.slice.scores.get(name)) for name, path in task.source.scores.items()]
    rows = with_scores(reader.pairs(), files, last=task.slice.last)
    batches = _sound(numbered(rows, task.slice.first_row) if task.source.rows else rows, counts, tick)
    parts: list[Part] = []
    if not task.written:
        counts.dropped["vocab_only"] = sum(len(batch) for batch in batches)
    else:
        prefix = f"part-{task.source.index:03d}-{task.number:05d}"
        parts = write_parts(batches, corpus.name, task.directory, prefix)
    written = {f"{task.source.split}/{part.file}": part for part in parts}
    return CompiledSlice(
        tuple(CompiledPart(file, part.pairs, part.bytes, corpus.name) for file, part in written.items()),
        {file: part.sha256 for file, part in written.items()},
        counts.result(reader.counts),
        counts.scored,
    )


class _Counting:
    """Counts of a corpus while it is read."""

    def __init__(self, scores: Iterable[str]) -> None:
        self.scored = dict.fromkeys(sorted(scores), 0)
        self.pairs_in = 0
        self.bytes = {"source": 0, "target": 0}
        self.dropped = dict.fromkeys(DROP_REASONS, 0)

    def result(self, altered: Mapping[str, int]) -> CorpusCounts:
        return CorpusCounts(
            pairs_in=self.pairs_in,
            pairs_out=self.pairs_in - sum(self.dropped.values()),
            dropped=self.dropped,
            altered={what: altered.get(what, 0) for what in ("byte_order_marks", "carriage_returns")},
            source_bytes=self.bytes["source"],
            target_bytes=self.bytes["target"],
        )


def _sound(batches: Iterator[PairBatch], counts: _Counting, tick: Tick) -> Iterator[PairBatch]:
    """Drops pairs that have a fault or, once stripped, an empty side; counts them."""
    for batch in map(_without_blanks, batches):
        sizes = [text_bytes(side) + len(side) for side in (batch.source, batch.target)]
        counts.pairs_in += len(batch)
        counts.bytes["source"] += sizes[0]
        counts.bytes["target"] += sizes[1]
        if batch.faults is not None:
            for fault, reason in _FAULTS.items():
                counts.dropped[reason] += int(np.count_nonzero(batch.faults == fault))
        pairs = batch.sound()
        source_empty, target_empty = _empty(pairs.source), _empty(pairs.target)
        either, both = pc.or_(source_empty, target_empty), pc.and_(source_empty, target_empty)
        counts.dropped["empty_both"] += both.true_count
        counts.dropped["empty_source"] += source_empty.true_count - both.true_count
        counts.dropped["empty_target"] += target_empty.true_count - both.true_count
        if either.true_count:
            pairs = pairs.filter(~either.to_numpy(zero_copy_only=False))
        for name, values in pairs.scores.items():
            counts.scored[name] += len(values) - values.null_count
        yield pairs
        tick(sum(sizes))


def _without_blanks(batch: PairBatch) -> PairBatch:
    """Returns the pairs without the rows that are blank lines."""
    if batch.faults is None or not (blank := batch.faults == Fault.BLANK).any():
        return batch
    return batch.filter(~blank)


def _empty(lines: pa.Array) -> pa.Array:
    """Returns a mask of the lines that ``str.strip`` makes empty."""
    return pc.or_(pc.utf8_is_space(lines), pc.equal(pc.binary_length(lines), 0))


@dataclass(frozen=True)
class CompileOutput:
    """The compiled pairs.

    Attributes:
        parts: Parquet files by split, in order.
        corpora: counts by split and name of the corpus.
    """

    parts: dict[str, tuple[CompiledPart, ...]]
    corpora: dict[str, dict[str, CorpusCounts]]


Compiled: TypeAlias = "list[tuple[CorpusFiles, list[CompiledSlice]]]"
"""The results of the last round, by corpus."""


class Compile(Stage[CompileOutput, Compiled]):
    """Writes ``compiled/<split>/part-<corpus, 3 digits>-<slice, 5 digits>-<part, 5 digits>.parquet``."""

    name = "compile"
    directory = "compiled"
    reads = (Extract,)
    output = CompileOutput
    rounds = (LINES, ROWS, COMPILE)
    version = 2

    def settings(self, config: Config) -> dict[str, object]:
        settings: dict[str, object] = {}
        for split, corpora in config.splits.items():
            settings[f"splits.{split}"] = [corpus.name for corpus in corpora]
            for corpus in corpora:
                settings |= reading_settings(f"splits.{split}.{corpus.name}", corpus, config.languages)
                if _has_rows(config, corpus):
                    settings[f"splits.{split}.{corpus.name}.rows"] = True
                if corpus.role == "vocab" and _is_written(config, split, corpus):
                    settings[f"splits.{split}.{corpus.name}.written"] = True
        return settings

    def work(self, job: Job) -> Rounds[Compiled]:
        sources = [
            corpus_files(job, split, index, corpus)
            for split, corpora in job.config.splits.items()
            for index, corpus in enumerate(corpora)
        ]
        sliced = yield from slice_corpora(sources, job.config.languages)
        tasks = [
            CompileTask(
                key=f"{source.split}-{source.index:03d}-{number:05d}",
                source=source,
                slice=slice_,
                number=number,
                whole=len(slices) == 1,
                languages=job.config.languages,
                directory=job.directory / source.split,
                written=_is_written(job.config, source.split, source.corpus),
            )
            for source, slices in zip(sources, sliced, strict=True)
            for number, slice_ in enumerate(slices)
        ]
        total = sum(source.sizes[path] for source in sources for files in source.files for path in files.values())
        results = yield from COMPILE.run(tasks, total)
        pairs = list(zip(tasks, results, strict=True))
        return [(source, [result for task, result in pairs if task.source is source]) for source in sources]

    def finish(self, job: Job, made: Compiled) -> Result[CompileOutput]:
        for held_out, train in _same_files(job):
            job.progress.event("same_as_train", corpus=held_out, train=train)
        parts: dict[str, tuple[CompiledPart, ...]] = dict.fromkeys(job.config.splits, ())
        corpora: dict[str, dict[str, CorpusCounts]] = {split: {} for split in job.config.splits}
        digests: dict[str, str] = {}
        for source, slices in made:
            corpora[source.split][source.corpus.name] = check_result(source, slices)
            parts[source.split] += tuple(part for each in slices for part in each.parts)
            for each in slices:
                digests |= each.digests
        total = reduce(add, (counts for split in corpora.values() for counts in split.values()))
        return Result(
            CompileOutput(parts, corpora),
            Counts(pairs_in=total.pairs_in, pairs_out=total.pairs_out, dropped=total.dropped),
            files=list(digests),
            digests=digests,
        )


def _has_rows(config: Config, corpus: Corpus) -> bool:
    """Returns true if the parts of a corpus have the rows of its pairs, which cleaning and scores refer to.

    Other parts do not have them, so that those of a config without either keep their bytes.
    """
    return config.clean is not None or bool(corpus.scores)


def _is_written(config: Config, split: str, corpus: Corpus) -> bool:
    """Returns true if the pairs of a corpus are written to parts. Otherwise, only sample reads it."""
    return corpus.role != "vocab" or config.cleans(split)


def _same_files(job: Job) -> Iterator[tuple[str, str]]:
    """Yields pairs of config keys: a corpus outside of train, and one in train with the same files."""
    extracted = job.read(Extract).files
    train: dict[object, str] = {}
    for split, corpora in sorted(job.config.splits.items(), key=lambda item: item[0] != "train"):
        for corpus in corpora:
            parts = (extracted[f"{split}/{corpus.name}/{part}"] for part in parts_of(corpus))
            digests = tuple(tuple(stored.sha256 for stored in files) for files in parts)
            where = f"splits.{split}.{corpus.name}"
            if split == "train":
                train.setdefault(digests, where)
            elif digests in train:
                yield where, train[digests]


def corpus_files(job: Job, split: str, index: int, corpus: Corpus) -> CorpusFiles:
    """Returns a corpus with its files, for a stage that reads those of extract."""
    extracted = job.read(Extract)
    directory = job.directory_of(Extract)
    parts = {part: extracted.files[f"{split}/{corpus.name}/{part}"] for part in parts_of(corpus)}
    scores = {name: extracted.files[f"{split}/{corpus.name}/scores.{name}"] for name in score_files(corpus)}
    return CorpusFiles(
        split,
        index,
        corpus,
        # If a part is several files, the first files of all parts belong together, and so on.
        [
            {part: directory / stored.file for part, stored in zip(parts, together, strict=True)}
            for together in zip(*parts.values(), strict=True)
        ],
        {directory / stored.file: stored.size for files in (*parts.values(), *scores.values()) for stored in files},
        file_names(job, split, corpus),
        {name: directory / stored.file for name, (stored,) in scores.items()},
        _has_rows(job.config, corpus),
    )


def reading_settings(key: str, corpus: Corpus, languages: Languages) -> dict[str, object]:
    """Returns the settings that decide which pairs are read from the files of a corpus."""
    kind = format_of(corpus)
    reader = reader_of(kind)
    settings: dict[str, object] = {"format": kind, "role": corpus.role, "swap": corpus.swap, "reader": reader.version}
    settings |= corpus.model_dump(mode="json", include=set(reader.options))
    if reader.section is not None:
        settings["options"] = reader.section.model_validate(corpus.options).model_dump(mode="json")
    if corpus.scores:
        inside = reader.scores_inside(corpus)
        settings["scores"] = {name: inside.get(name) for name in sorted(corpus.scores)}
    if corpus.role == "monolingual":
        settings["placeholder"] = corpus.placeholder
    if reader.multilingual:
        settings["languages"] = (corpus.languages or languages).model_dump()
    return {f"{key}.{name}": value for name, value in settings.items()}
