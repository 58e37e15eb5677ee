"""Passes over a corpus's parts: their tasks and files, and the samples of rejected pairs.

A task of a pass reads a part, and writes the kept pairs to one file and the rejected pairs to another. The kept pairs
go to the scratch directory if another pass follows, and so do the rejected pairs if they are to be sampled. Kept pairs
in the scratch directory are not compressed, since that would take longer than reading and writing them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.artefacts import writing
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.computed_rules import ComputedUse
from nmt_prep.cleaning.dedup.records import ALL, Group
from nmt_prep.cleaning.dedup.spill import SpillFiles, SpillWriter
from nmt_prep.cleaning.leaks import Against, Leaks
from nmt_prep.cleaning.presets import Cleaning
from nmt_prep.cleaning.rejects import (
    CleanCounts,
    Histogram,
    RejectNotes,
    RejectSample,
    Verdict,
    dropped_counts,
    histogram,
    notes_of,
)
from nmt_prep.cleaning.rule import Context
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import PairFile, PartFile, score_column, scores_of
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round

if TYPE_CHECKING:
    from nmt_prep.cleaning.cleaner import Judged

REJECTED = "rejected"  # The directory of rejected pairs


@dataclass(frozen=True)
class CorpusTask:
    """The settings that all tasks of one corpus share."""

    name: str  # key of the corpus in the config, such as `splits.train.news`
    corpus: str
    cleaning: Cleaning
    context: Context  # the languages and sides of the corpus
    rejects: Literal["none", "sample", "all"]  # which rejected pairs to write: none, a sample, or all
    seed: int  # seed of the sample
    group: Group = ALL  # the pairs that its pairs are compared with
    against: Against | None = None  # the evaluation sets that its pairs are compared with; None if there is none
    computed: Mapping[str, ComputedUse] = field(default_factory=dict)  # the values that are computed for it, by name
    words: bool = False  # true to keep the words that `limits.tokens` counts


@dataclass(frozen=True)
class PartTask:
    """A part that a pass rewrites. All passes but the pass of the rules add fields."""

    key: str
    of: CorpusTask  # the settings that all tasks of the corpus share
    part: PairFile
    kept: Path  # output file for kept pairs, written if there are any
    rejected: Path  # output file for rejected pairs, written if there are any
    last: bool  # true if no other pass follows
    spill: SpillFiles | None  # output files for the keys of kept pairs; None if the pairs are not compared with others

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the part's batches."""
        return iter_pairs(self.part.path)

    def refused(self, batch: pa.RecordBatch) -> Verdict | None:
        """Returns which pairs are dropped before the rules, or None if none is."""
        del batch
        return None

    @property
    def cleaned(self) -> Side | None:
        """The side whose lines were cleaned before, if only one was."""
        return None

    @property
    def stem(self) -> str:
        """Split and part name, for tasks and files."""
        return f"{self.kept.parent.name}-{self.part.path.stem}"


@dataclass(frozen=True)
class PartResult:
    """The result of a pass over a part."""

    counts: CleanCounts
    kept: PairFile | None  # the file of kept pairs; None if there are none
    rejected: PairFile | None  # the file of rejected pairs; None if there are none
    leaks: Leaks = field(default_factory=dict)
    notes: RejectNotes = field(default_factory=RejectNotes)


T = TypeVar("T", bound=PartTask)


def part_round(name: str, work: Callable[[T, Tick], PartResult], words: str) -> Round[T, PartResult]:
    """Returns the round of a pass, given its name, its function, and its description for the progress."""
    return Round(name, work, PartResult, made=_made_files, words=words)


def _made_files(task: PartTask, result: PartResult) -> Iterator[Path]:
    if result.kept is not None:
        yield task.kept
    if result.rejected is not None:
        yield task.rejected
    if task.spill is not None:
        yield from task.spill.paths


class PartOutput(ExitStack):
    """A task's output files: one for kept pairs, one for rejected pairs, and files for the keys of kept pairs."""

    def __init__(self, task: PartTask) -> None:
        super().__init__()
        self._of = task.of
        self._kept = PartFile(task.kept, task.of.corpus, compressed=task.last)
        self._rejected = PartFile(task.rejected, task.of.corpus)
        self._sample = RejectSample(task.of.seed, task.of.corpus) if task.of.rejects == "sample" else None
        self._spill = None if task.spill is None else SpillWriter(task.spill)
        self._kind = None if task.spill is None else task.spill.comparisons[0].kind
        self._notes, self._refused = RejectNotes(), CleanCounts()

    def __enter__(self) -> PartOutput:
        for file in (self._kept, self._rejected, self._spill):
            if file is not None:
                self.enter_context(file)
        self.push(self._end)
        return self

    def _end(self, kind: object, error: object, trace: object) -> None:
        if self._sample is not None and kind is None:
            self._rejected.write(self._sample.sample())

    def write(self, batch: pa.RecordBatch, verdict: Verdict, judged: Judged | None = None) -> None:
        """Writes the kept and the rejected pairs of a batch; ``judged`` is None after passes other than the rules."""
        chosen = batch if verdict.kept.all() else batch.filter(pa.array(verdict.kept))
        self._kept.write(chosen)
        if self._spill is not None and self._kind is not None:
            self._spill.add(chosen, None if judged is None else judged.line_keys(self._kind, verdict.kept))
        if len(chosen) < len(batch):
            self._reject(batch, verdict)

    def refuse(self, batch: pa.RecordBatch, verdict: Verdict) -> pa.RecordBatch:
        """Rejects pairs that the rules do not judge; returns the others."""
        dropped = Counter(verdict.reasons.to_pylist())
        self._refused += replace(dropped_counts(dropped), pairs_in=dropped.total(), pairs_out=0)
        self._reject(batch, verdict)
        return batch.filter(pa.array(verdict.kept))

    def _reject(self, batch: pa.RecordBatch, verdict: Verdict) -> None:
        rejected = verdict.rejected(batch)
        self._notes += notes_of(rejected, text=self._of.rejects != "none")
        if self._sample is not None:
            self._sample.add(rejected)
        elif self._of.rejects == "all":
            self._rejected.write(rejected)

    def result(self, counts: CleanCounts) -> PartResult:
        """Returns the result of the task. Requires that the files are closed."""
        return PartResult(counts + self._refused, self._kept.made(), self._rejected.made(), notes=self._notes)


@dataclass(frozen=True)
class DropBelowTask(PartTask):
    """A part whose pairs are dropped if their score is below a threshold."""

    rule: str  # name of the rule, which is the reason for dropping pairs
    score: str
    threshold: float | None  # the lowest score that passes; None to keep all pairs
    column: str  # name of the score column in the counts
    edges: tuple[float, ...]  # edges of the score histogram
    unscored: bool  # true to keep pairs without score
    # file with the scores, for a part without them; None if the part has scores, or they could not be computed
    computed: Path | None = None
    # file with the position of the words in each pair that have the weakest counterpart (`unanswered`); None if the
    # rule does not give it
    unanswered: Path | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the part's batches with their scores."""
        scores, first = None, 0
        if self.computed is not None:
            with writing(self.computed):
                scores = np.load(self.computed)
        name = score_column(self.score)
        for batch in iter_pairs(self.part.path):
            if name in batch.schema.names:
                yield batch
                continue
            values = np.full(len(batch), np.nan) if scores is None else scores[first : first + len(batch)]
            columns = [*batch.columns, pa.array(values, from_pandas=True)]  # NaN becomes null
            yield pa.record_batch(columns, schema=batch.schema.append(pa.field(name, pa.float64())))
            first += len(batch)


def drop_below(task: DropBelowTask, tick: Tick) -> PartResult:
    """Writes a part without the pairs whose score is below a threshold. Reports progress per pair."""
    dropped, first, bins = 0, 0, np.zeros((1, 2, len(task.edges) - 1), np.int64)
    unanswered = None
    if task.unanswered is not None:
        with writing(task.unanswered):
            unanswered = np.load(task.unanswered)
    with PartOutput(task) as output:
        for batch in task.batches():
            scores = scores_of(batch)[task.score]
            if task.threshold is None:
                kept = np.ones(len(batch), np.bool_)
            else:
                kept = ~(scores < task.threshold) if task.unscored else scores >= task.threshold
            lost = len(kept) - int(kept.sum())
            reasons, columns, words = pa.array([task.rule] * lost, pa.string()), pa.nulls(lost, pa.string()), None
            if unanswered is not None:
                columns, words = _words_at(batch, kept, unanswered[first : first + len(batch)])
            thresholds = np.full(lost, task.threshold)
            output.write(batch, Verdict(kept, reasons, columns, scores[~kept], thresholds, unanswered=words))
            first += len(batch)
            bins += histogram(scores[np.newaxis], task.edges, kept)
            dropped += lost
            tick(len(batch))
    ((without, with_),) = bins.tolist()
    histograms = {task.rule: {task.column: Histogram(task.edges, tuple(with_), tuple(without), dropped)}}
    return output.result(dropped_counts({task.rule: dropped}, histograms))


def _words_at(
    batch: pa.RecordBatch, kept: npt.NDArray[np.bool_], places: npt.NDArray[np.int32]
) -> tuple[pa.Array, pa.Array]:
    """Returns the side and the words at each dropped pair's recorded position, or null without a position."""
    columns, words = [], []
    for row in np.flatnonzero(~kept).tolist():
        side, begin, end = places[row].tolist()
        line = batch.column(SIDES[side])[row].as_py().encode() if side >= 0 else b""
        columns.append(SIDES[side] if side >= 0 else None)
        words.append(line[begin:end].decode() if side >= 0 else None)
    return pa.array(columns, pa.string()), pa.array(words, pa.string())


@dataclass(frozen=True)
class RejectsTask:
    """The files with the samples of a corpus's parts, to be sampled again."""

    key: str
    of: CorpusTask
    files: tuple[Path, ...]
    output: Path


def sample_rejects(task: RejectsTask, tick: Tick) -> PairFile:
    """Writes the sample of a corpus's rejected pairs. Reports progress per pair that it reads."""
    sample = RejectSample(task.of.seed, task.of.corpus)
    for file in task.files:
        for batch in iter_pairs(file):
            sample.add(batch)
            tick(len(batch))
    with PartFile(task.output, task.of.corpus) as output:
        output.write(sample.sample())
    written = output.made()
    assert written is not None
    return written


REJECTS = Round("clean-rejects", sample_rejects, PairFile, words="sampling dropped pairs")
