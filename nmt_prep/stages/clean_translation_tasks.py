"""The tasks of the rule ``translation`` in the stage clean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.align.loading import check_known, shared_model
from nmt_prep.artefacts import atomic_write, writing
from nmt_prep.cleaning.counts import CleanCounts, Histogram
from nmt_prep.cleaning.dedup.keys import keys_of
from nmt_prep.cleaning.judging import histogram
from nmt_prep.cleaning.rule import Values
from nmt_prep.cleaning.translation import TRANSLATION
from nmt_prep.cleaning.translation.mismatched import other_targets
from nmt_prep.cleaning.translation.options import SCORE_EDGES
from nmt_prep.columns import TextColumn
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import BatchFile, score_column
from nmt_prep.engines import Tick
from nmt_prep.sides import SIDES, Side
from nmt_prep.stages.clean_tasks import CorpusTask, PartFiles, PartOutput, PartResult
from nmt_prep.stages.pair_sample import KEY, ORDER, column_of

FINE = 10
"""Fine bins for each bin of a histogram that is reported."""

EDGES = [
    round(edge + (SCORE_EDGES[1] - SCORE_EDGES[0]) * place / FINE, 6)
    for edge in SCORE_EDGES[:-1]
    for place in range(FINE)
] + [SCORE_EDGES[-1]]
"""Edges of the fine bins, which thresholds are found with."""


@dataclass(frozen=True)
class ScoreTask:
    """A part to score.

    Attributes:
        key: name of the task.
        part: file to read.
        model: the model.
        learned: files with the pairs that the model was learned from; empty for a model that was given.
        output: file for the scores.
    """

    key: str
    part: Path
    model: Path
    learned: tuple[Path, ...]
    output: Path


@dataclass(frozen=True)
class Scored:
    """Numbers of scores in fine bins."""

    bins: tuple[int, ...]


@dataclass(frozen=True)
class RepairTask:
    """A corpus whose targets are exchanged.

    Attributes:
        key: name of the task.
        files: files with a sample of its pairs.
        limit: pairs with smaller random numbers are used.
        learned: number of the re-paired pairs that a model is to learn from.
        files_made: files for those pairs, and for the others.
    """

    key: str
    files: tuple[Path, ...]
    limit: int
    learned: int
    files_made: tuple[Path, Path]


@dataclass(frozen=True)
class Repaired:
    """Numbers of re-paired pairs that a model is to learn from, and of others; there is no file for none."""

    learned: int
    others: int


@dataclass(frozen=True)
class NullTask:
    """Files with re-paired pairs to score: those that the model was learned from, and others; None for no pairs."""

    key: str
    model: Path
    learned: Path | None
    others: Path | None


@dataclass(frozen=True)
class NullScores:
    """Scores of re-paired pairs.

    Attributes:
        bins: numbers of scores in fine bins, of the pairs that the model did not learn from.
        mean: mean of these scores; 0 without any.
        learned: number of scores of pairs that it learned from.
        learned_mean: mean of those; 0 without any.
    """

    bins: tuple[int, ...]
    mean: float
    learned: int
    learned_mean: float


@dataclass(frozen=True)
class DropTask:
    """A part whose pairs are dropped if their score is below the threshold; without both it only gets the column."""

    key: str
    of: CorpusTask
    files: PartFiles
    scores: Path | None
    threshold: float | None


def score_part(task: ScoreTask, tick: Tick) -> Scored:
    """Writes the scores of the pairs of a part. It ticks for each pair.

    Raises:
        AlignmentModelError: the model cannot be read, or was given and knows few words of the part.
        CorpusError: a file cannot be read.
        OutputError: the scores cannot be written.
    """
    model = shared_model(task.model)
    learned = _learned_keys(task.learned)
    scores: list[Values] = [np.zeros(0)]
    for batch in iter_pairs(task.part, columns=["source", "target"]):
        if not learned.size and not any(map(len, scores)):
            check_known(model, task.part, _text(batch, "source"), _text(batch, "target"))
        own = np.isin(keys_of(batch, ["pair"], "normalized")["pair"][:, 0], learned).astype(np.int64)
        scores.append(model.score(_text(batch, "source"), _text(batch, "target"), own))
        tick(len(batch))
    values = np.concatenate(scores)
    with atomic_write(task.output) as beside, writing(task.output), beside.open("wb") as file:
        np.save(file, values)
    return Scored(bins_of(values))


def exchange_targets(task: RepairTask, tick: Tick) -> Repaired:
    """Writes re-paired pairs: sources with the targets of other pairs. It ticks for each pair that it reads.

    Raises:
        CorpusError: a file cannot be read.
        OutputError: a file cannot be written.
    """
    found = []
    for path in task.files:
        for batch in iter_pairs(path):
            inside = column_of(batch, ORDER) <= np.uint64(task.limit - 1) if task.limit else np.zeros(len(batch), bool)
            found.append(batch.filter(pa.array(inside)))
            tick(len(batch))
    batch = (
        pa.Table.from_batches(found, found[0].schema).combine_chunks().to_batches(max_chunksize=None) if found else []
    )
    if not batch:
        return Repaired(0, 0)
    (pairs,) = batch
    _, first = np.unique(column_of(pairs, KEY), return_index=True)
    pairs = pairs.take(pa.array(first))
    lengths = pc.utf8_length(pairs.column("target")).to_numpy(zero_copy_only=False).astype(np.int64)
    keys = keys_of(pairs, SIDES, "normalized")
    own, other = other_targets(lengths, column_of(pairs, ORDER), *(keys[side][:, 0] for side in SIDES))
    shuffled = np.argsort(column_of(pairs, KEY)[own])  # not by length
    columns = [pairs.column("source").take(pa.array(own)), pairs.column("target").take(pa.array(other))]
    repaired = pa.record_batch(columns, names=["source", "target"]).take(pa.array(shuffled))
    for path, chosen in zip(task.files_made, (repaired[: task.learned], repaired[task.learned :]), strict=True):
        with BatchFile(path) as output:
            output.write(chosen)
    learned = min(task.learned, len(repaired))
    return Repaired(learned, len(repaired) - learned)


def score_repaired(task: NullTask, tick: Tick) -> NullScores:
    """Scores re-paired pairs. It ticks for each pair.

    Raises:
        AlignmentModelError: the model cannot be read.
        CorpusError: a file cannot be read.
    """
    model = shared_model(task.model)
    scores = []
    for path, own in ((task.learned, 1), (task.others, 0)):
        values: list[Values] = [np.zeros(0)]
        for batch in () if path is None else iter_pairs(path):
            values.append(model.score(_text(batch, "source"), _text(batch, "target"), own))
            tick(len(batch))
        each = np.concatenate(values)
        scores.append(each[~np.isnan(each)])
    learned, others = scores
    means = (float(each.mean()) if len(each) else 0.0 for each in (others, learned))
    mean, learned_mean = means
    return NullScores(bins_of(others), mean, len(learned), learned_mean)


def drop_misaligned(task: DropTask, tick: Tick) -> PartResult:
    """Writes a part with its scores, and without the pairs whose scores are too low. It ticks for each pair.

    A pair without score is kept.

    Raises:
        CorpusError: the part cannot be read.
        OutputError: a file cannot be written.
    """
    threshold = -np.inf if task.threshold is None else task.threshold
    scores = None if task.scores is None else _read_scores(task.scores)
    bins = np.zeros((1, 2, len(SCORE_EDGES) - 1), np.int64)
    first = dropped = 0
    with PartOutput(task.of, task.files) as output:
        for batch in iter_pairs(task.files.part):
            own = np.full(len(batch), np.nan) if scores is None else scores[first : first + len(batch)]
            kept = ~(own < threshold)
            lost = len(kept) - int(kept.sum())
            scored = batch.schema.append(pa.field(score_column(TRANSLATION), pa.float64()))
            columns = [*batch.columns, pa.array(own, from_pandas=True)]  # NaN becomes null
            names = pa.array([TRANSLATION] * lost, pa.string())
            output.write(pa.record_batch(columns, schema=scored), kept, names, own[~kept], np.full(lost, threshold))
            bins += histogram(own[np.newaxis], SCORE_EDGES, kept)
            first, dropped = first + len(batch), dropped + lost
            tick(len(batch))
    if scores is None:
        return output.result(CleanCounts())
    ((without, with_),) = bins.tolist()
    values = {TRANSLATION: {"pair": Histogram(SCORE_EDGES, tuple(with_), tuple(without), dropped)}}
    counts = CleanCounts(0, -dropped, {TRANSLATION: dropped}, {TRANSLATION: {TRANSLATION: dropped}}, {}, values)
    return output.result(counts)


def bins_of(scores: Values) -> tuple[int, ...]:
    """Returns the number of scores in each fine bin."""
    counts = histogram(scores[np.newaxis], EDGES, np.ones(len(scores), np.bool_))
    return tuple(counts[0, 1].tolist())


def _text(batch: pa.RecordBatch, side: Side) -> TextColumn:
    return TextColumn.from_arrow(batch.column(side))


def _learned_keys(shards: Sequence[Path]) -> npt.NDArray[np.uint64]:
    keys = [column_of(batch, KEY) for path in shards for batch in iter_pairs(path, columns=[KEY])]
    return np.concatenate([np.zeros(0, np.uint64), *keys])


def _read_scores(path: Path) -> Values:
    with writing(path):
        scores: Values = np.load(path)
    return scores
