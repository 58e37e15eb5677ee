"""The tasks of the stage clean.

Parts of a corpus are cleaned one by one. If the corpus has the rule ``top``, pairs that pass the other rules go to the
scratch directory; then the threshold of the corpus is found, and applied to each part. Rejected pairs go to one file
per part, which is in the scratch directory if they are to be sampled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.cleaning.cleaning import Cleaning
from nmt_prep.cleaning.counts import CleanCounts, Histogram
from nmt_prep.cleaning.decontamination.leaks import Against, Leaks
from nmt_prep.cleaning.dedup.spill import SpillFiles, SpillWriter
from nmt_prep.cleaning.judging import histogram
from nmt_prep.cleaning.nearest import RejectNotes, RejectNoting
from nmt_prep.cleaning.rejects import Instead, RejectSample, rejected_batch
from nmt_prep.cleaning.rule import Context, Values
from nmt_prep.cleaning.top import EDGES, TOP, TopOptions, top_threshold
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import BatchFile, score_column, scores_of
from nmt_prep.digests import sha256_of
from nmt_prep.engines import Tick
from nmt_prep.lines.blocks import text_bytes
from nmt_prep.pipeline.rounds import Round

if TYPE_CHECKING:
    from nmt_prep.cleaning.cleaner import Judged

FIRST_PAIRS = 1_000_000
"""Number of pairs after which it is an error if all pairs of the corpus were dropped."""

Kind = Literal["none", "sample", "all"]


@dataclass(frozen=True)
class CorpusTask:
    """The settings that all tasks of one corpus share.

    Attributes:
        name: key of the corpus in the config, such as ``splits.train.news``.
        corpus: name of the corpus.
        cleaning: the fixes and rules.
        context: the languages and sides of the corpus.
        rejects: the rejected pairs to write: none, a sample, or all.
        seed: seed of the sample.
        against: the evaluation sets that its pairs are compared with; None for none.
    """

    name: str
    corpus: str
    cleaning: Cleaning
    context: Context
    rejects: Kind
    seed: int
    against: Against | None = None


@dataclass(frozen=True)
class PartFiles:
    """The files of a task. The files for pairs are written only if there are any.

    Attributes:
        part: file to read.
        kept: output file for kept pairs.
        rejected: output file for rejected pairs.
        spill: output files for the keys of kept pairs; None if the pairs are not compared with others.
    """

    part: Path
    kept: Path
    rejected: Path
    spill: SpillFiles | None = None


@dataclass(frozen=True)
class CleanTask:
    """One compiled part to clean."""

    key: str
    of: CorpusTask
    files: PartFiles


@dataclass(frozen=True)
class TopTask:
    """One part whose pairs are dropped if their score is below the threshold, or missing.

    All pairs of a corpus without a threshold are kept, because none of them has a score.
    """

    key: str
    of: CorpusTask
    files: PartFiles
    options: TopOptions
    threshold: float | None


@dataclass(frozen=True)
class CleanedFile:
    """A file that a task wrote.

    Attributes:
        file: path of the file, relative to the directory of cleaned or rejected pairs.
        pairs: number of pairs in the file.
        source_bytes: UTF-8 bytes of the source lines, with one byte for the end of each line.
        target_bytes: UTF-8 bytes of the target lines, with one byte for the end of each line.
        sha256: digest of the file.
    """

    file: str
    pairs: int
    source_bytes: int
    target_bytes: int
    sha256: str


@dataclass(frozen=True)
class PartResult:
    """The result of cleaning a part.

    Attributes:
        counts: the counts.
        kept: the file of kept pairs; None if there are none.
        rejected: the file of rejected pairs; None if there are none.
        leaks: what the part contains of evaluation sets.
        notes: notes about the rejected pairs.
    """

    counts: CleanCounts
    kept: CleanedFile | None
    rejected: CleanedFile | None
    leaks: Leaks = field(default_factory=dict)
    notes: RejectNotes = field(default_factory=RejectNotes)


def clean_part(task: CleanTask, tick: Tick) -> PartResult:
    """Cleans one compiled part. It ticks for each pair.

    Raises:
        CleaningError: a rule failed; the message names its key and the corpus.
        CorpusError: the part cannot be read.
        OutputError: a file cannot be written.
    """
    from nmt_prep.cleaning.cleaner import Cleaner  # noqa: PLC0415  (loads all rules)
    from nmt_prep.cleaning.decontamination.finder import LeakFinder, verdict_of  # noqa: PLC0415  (loads all rules)

    cleaner = Cleaner(task.of.cleaning, task.of.context, task.of.name)
    finder = None if task.of.against is None else LeakFinder.of(task.of.against)
    with PartOutput(task.of, task.files) as output:
        for batch in iter_pairs(task.files.part):
            rows = batch.column("row").to_numpy()
            text = {side: batch.column(side) for side in task.of.context.sides}
            judged = cleaner.clean(text, scores_of(batch), partial(_pair_number, rows))
            verdict = verdict_of(finder, judged, rows)
            fixed = _with_text(batch, judged)
            output.write(fixed, verdict.kept, verdict.reasons, verdict.values, verdict.thresholds, verdict.instead)
            tick(len(batch))
    if finder is None:
        return output.result(cleaner.counts)
    return replace(output.result(cleaner.counts + finder.counts), leaks=finder.leaks)


def _pair_number(rows: npt.NDArray[np.int64], pair: int) -> str:
    """Returns the place of a pair of a batch in its corpus, for messages. Pairs count from 1."""
    return f"pair {rows[pair] + 1}"


def keep_top(task: TopTask, tick: Tick) -> PartResult:
    """Applies the threshold of a corpus to one of its parts. It ticks for each pair.

    Raises:
        CorpusError: the part cannot be read.
        OutputError: a file cannot be written.
    """
    dropped = 0
    bins = np.zeros((1, 2, len(EDGES) - 1), np.int64)
    threshold = -np.inf if task.threshold is None else task.threshold
    with PartOutput(task.of, task.files) as output:
        for batch in iter_pairs(task.files.part):
            scores = scores_of(batch)[task.options.score]
            kept = np.ones(len(scores), np.bool_) if task.threshold is None else scores >= threshold
            lost = len(kept) - int(kept.sum())
            output.write(batch, kept, pa.array([TOP] * lost, pa.string()), scores[~kept], np.full(lost, threshold))
            bins += histogram(scores[np.newaxis], EDGES, kept)
            dropped += lost
            tick(len(batch))
    ((without, with_),) = bins.tolist()
    values = {TOP: {task.options.score: Histogram(EDGES, tuple(with_), tuple(without), dropped)}}
    return output.result(CleanCounts(0, -dropped, {TOP: dropped}, {TOP: {TOP: dropped}}, {}, values))


class PartOutput:
    """The output files of a task: one for kept pairs, one for rejected pairs, and those for the keys of kept pairs."""

    def __init__(self, of: CorpusTask, files: PartFiles) -> None:
        self._of, self._files = of, files
        self._kept, self._rejected = BatchFile(files.kept), BatchFile(files.rejected)
        self._sample = RejectSample(of.seed, of.corpus) if of.rejects == "sample" else None
        self._bytes = {"source": 0, "target": 0}
        self._spill = None if files.spill is None else SpillWriter(files.spill)
        self._stack = ExitStack()
        self._noting = RejectNoting(text=of.rejects != "none")

    def __enter__(self) -> PartOutput:
        for file in (self._kept, self._rejected, self._spill):
            if file is not None:
                self._stack.enter_context(file)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._sample is not None and error is None:
            self._rejected.write(self._sample.sample())
        self._stack.__exit__(kind, error, trace)

    def write(
        self,
        batch: pa.RecordBatch,
        kept: Any,
        rules: pa.Array,
        values: Values,
        thresholds: Values,
        instead: Instead | None = None,
    ) -> None:
        """Writes a batch.

        Args:
            batch: all pairs, kept and rejected.
            kept: true for each pair that is kept: bool, shape ``[pairs]``.
            rules: the reason of each rejected pair.
            values: the refused value of each rejected pair.
            thresholds: the limit that each of these values violates.
            instead: the pairs that were kept in place of the rejected ones; None if there are none.
        """
        mask = pa.array(kept)
        chosen = batch if kept.all() else batch.filter(mask)
        self._kept.write(chosen)
        for side in self._bytes:
            self._bytes[side] += text_bytes(chosen.column(side)) + len(chosen)
        if self._spill is not None:
            self._spill.add(chosen)
        if len(chosen) == len(batch):
            return
        rejected = rejected_batch(batch.filter(pc.invert(mask)), rules, values, thresholds, instead)
        self._noting.add(rejected)
        if self._of.rejects == "none":
            return
        if self._sample is not None:
            self._sample.add(rejected)
        else:
            self._rejected.write(rejected)

    def result(self, counts: CleanCounts) -> PartResult:
        """Returns the result of the task. Requires that the files are closed."""
        return PartResult(counts, self._part(self._kept), self._part(self._rejected), notes=self._noting.notes())

    def _part(self, file: BatchFile) -> CleanedFile | None:
        if not file.pairs:
            return None
        sizes = self._bytes if file is self._kept else {"source": 0, "target": 0}
        name = f"{file.path.parent.name}/{file.path.name}"
        return CleanedFile(name, file.pairs, sizes["source"], sizes["target"], sha256_of(file.path))


def made_files(files: PartFiles, result: PartResult) -> Iterator[Path]:
    """Yields the files that a task wrote."""
    if result.kept is not None:
        yield files.kept
    if result.rejected is not None:
        yield files.rejected
    if files.spill is not None:
        yield from files.spill.paths


@dataclass(frozen=True)
class ThresholdTask:
    """A corpus with the rule ``top``, and the files of its pairs that pass all other rules."""

    key: str
    of: CorpusTask
    options: TopOptions
    parts: tuple[Path, ...]


@dataclass(frozen=True)
class Threshold:
    """The lowest score that passes; None for a corpus in which no pair passes the other rules."""

    score: float | None


def find_threshold(task: ThresholdTask, tick: Tick) -> Threshold:
    """Finds the threshold of the rule ``top`` for one corpus. It reads every part four times, and ticks each time.

    A pair without score counts as worse than all others.

    Raises:
        CorpusError: a part cannot be read.
    """

    def scores() -> Iterator[Values]:
        for part in task.parts:
            for batch in iter_pairs(part, columns=[score_column(task.options.score)]):
                values = scores_of(batch)[task.options.score]
                yield np.where(np.isnan(values), -np.inf, values)
            tick(1)

    found = top_threshold(scores, task.options.keep)
    return Threshold(None if np.isnan(found) else found)


@dataclass(frozen=True)
class RejectsTask:
    """The files with the samples of the parts of a corpus, to be sampled again."""

    key: str
    of: CorpusTask
    files: tuple[Path, ...]
    output: Path


@dataclass(frozen=True)
class RejectsResult:
    """The file with the sample of a corpus."""

    rejected: CleanedFile


def sample_rejects(task: RejectsTask, tick: Tick) -> RejectsResult:
    """Writes the sample of the rejected pairs of a corpus. It ticks for each pair that it reads.

    Raises:
        CorpusError: a file cannot be read.
        OutputError: the sample cannot be written.
    """
    sample = RejectSample(task.of.seed, task.of.corpus)
    for file in task.files:
        for batch in iter_pairs(file):
            sample.add(batch)
            tick(len(batch))
    with BatchFile(task.output) as output:
        output.write(sample.sample())
    name = f"{task.output.parent.name}/{task.output.name}"
    return RejectsResult(CleanedFile(name, output.pairs, 0, 0, sha256_of(task.output)))


FIRST = Round("clean-first", clean_part, PartResult, made=lambda task, result: made_files(task.files, result))
CLEAN = Round("clean", clean_part, PartResult, made=lambda task, result: made_files(task.files, result))
TopRounds: TypeAlias = "tuple[Round[ThresholdTask, Threshold], Round[TopTask, PartResult]]"
"""The rounds of the rule ``top``: the first finds the threshold of each corpus, the second applies it to the parts."""

TOP_ROUNDS: TopRounds = (
    Round("clean-threshold", find_threshold, Threshold, unit="parts"),
    Round("clean-top", keep_top, PartResult, made=lambda task, result: made_files(task.files, result)),
)
BEST_ROUNDS: TopRounds = (
    Round("translation-threshold", find_threshold, Threshold, unit="parts"),
    Round("translation-top", keep_top, PartResult, made=lambda task, result: made_files(task.files, result)),
)
"""The same, for ``top`` by the score of the rule ``translation``."""

REJECTS = Round("clean-rejects", sample_rejects, RejectsResult, made=lambda task, _: [task.output])


def _with_text(batch: pa.RecordBatch, judged: Judged) -> pa.RecordBatch:
    """Returns a batch of a part, with the text replaced by the fixed text."""
    columns = [
        judged.text[name].cast(field.type) if name in judged.text else batch.column(name)
        for name, field in zip(batch.schema.names, batch.schema, strict=True)
    ]
    return pa.record_batch(columns, schema=batch.schema)
