"""Re-paired pairs, whose targets were exchanged: their scores stand for the scores of misaligned pairs.

Pairs that the model learned from score higher than other pairs, even without their own counts, because similar pairs
shaped the model too. So the model also learns from a few re-paired pairs, and the histogram of the other re-paired
pairs is moved by the difference of the means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.align.model import shared_model
from nmt_prep.cleaning.corpus_rules.translation import SCORE_EDGES, other_targets
from nmt_prep.cleaning.counts import histogram
from nmt_prep.cleaning.dedup.records import keys_of
from nmt_prep.cleaning.rule import Values
from nmt_prep.columns import TextColumn
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import BatchFile
from nmt_prep.engines import Tick
from nmt_prep.sides import SIDES
from nmt_prep.stages.pair_sample import KEY, ORDER, column_of

REPAIRED_PAIRS = 20_000
"""Approximate number of pairs of a corpus whose targets are exchanged."""

_LEARNED_SHARE, _LEAST_LEARNED, _MOST_LEARNED = 0.05, 100, 5000

FINE = 10
"""Number of fine bins per bin of a reported histogram."""

EDGES = [
    round(edge + (SCORE_EDGES[1] - SCORE_EDGES[0]) * place / FINE, 6)
    for edge in SCORE_EDGES[:-1]
    for place in range(FINE)
] + [SCORE_EDGES[-1]]
"""Edges of the fine bins, which thresholds are found with."""

Bins: TypeAlias = "npt.NDArray[np.int64]"


@dataclass(frozen=True)
class RepairTask:
    """A corpus whose targets are exchanged.

    Attributes:
        key: name of the task.
        files: files with a sample of its pairs.
        limit: pairs with smaller random numbers are used.
        learned: number of re-paired pairs that a model is to learn from.
        files_made: files for these pairs, and for other re-paired pairs.
    """

    key: str
    files: tuple[Path, ...]
    limit: int
    learned: int
    files_made: tuple[Path, Path]

    @classmethod
    def of(
        cls, key: str, files: tuple[Path, ...], pairs: int, limit: int, scratch: Path, *, learns: bool
    ) -> RepairTask:
        """Returns the task of a corpus.

        Args:
            key: name of the task.
            files: files with a sample of its pairs.
            pairs: number of its pairs.
            limit: pairs with smaller random numbers are in the sample.
            scratch: directory for the files.
            learns: true if a model learns from the corpus.
        """
        drawn = (pairs * limit) >> 64
        learned = min(max(int(_LEARNED_SHARE * drawn), min(_LEAST_LEARNED, drawn // 10)), _MOST_LEARNED)
        used = min(limit, (1 << 64) * REPAIRED_PAIRS // max(pairs, 1))
        made = scratch / f"{key}-learned.parquet", scratch / f"{key}.parquet"
        return cls(key, files, used, learned if learns else 0, made)


@dataclass(frozen=True)
class Repaired:
    """Numbers of re-paired pairs that a model is to learn from, and of others; a number of 0 has no file."""

    learned: int
    others: int


def exchange_targets(task: RepairTask, tick: Tick) -> Repaired:
    """Writes re-paired pairs: sources with the targets of other pairs. It ticks for each pair that it reads.

    Raises:
        CorpusError: a file cannot be read.
        OutputError: a file cannot be written.
    """
    drawn = []
    for path in task.files:
        for batch in iter_pairs(path):
            inside = column_of(batch, ORDER) <= np.uint64(task.limit - 1) if task.limit else np.zeros(len(batch), bool)
            drawn.append(batch.filter(pa.array(inside)))
            tick(len(batch))
    batches = pa.Table.from_batches(drawn).combine_chunks().to_batches(max_chunksize=None) if drawn else []
    if not batches:
        return Repaired(0, 0)
    (pairs,) = batches
    _, first = np.unique(column_of(pairs, KEY), return_index=True)
    pairs = pairs.take(pa.array(first))
    lengths = pc.utf8_length(pairs.column("target")).to_numpy(zero_copy_only=False).astype(np.int64)
    keys = keys_of(pairs, SIDES, "normalized")
    sources, targets = other_targets(lengths, column_of(pairs, ORDER), *(keys[side][:, 0] for side in SIDES))
    shuffled = np.argsort(column_of(pairs, KEY)[sources])  # paired at random, not by length
    columns = [pairs.column("source").take(pa.array(sources)), pairs.column("target").take(pa.array(targets))]
    repaired = pa.record_batch(columns, names=["source", "target"]).take(pa.array(shuffled))
    for path, chosen in zip(task.files_made, (repaired[: task.learned], repaired[task.learned :]), strict=True):
        with BatchFile(path) as output:
            output.write(chosen)
    learned = min(task.learned, len(repaired))
    return Repaired(learned, len(repaired) - learned)


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
        bins: histogram in fine bins of the scores of pairs that the model did not learn from.
        mean: mean of these scores; 0 without scores.
        learned: number of scores of pairs that it learned from.
        learned_mean: mean of the scores of learned pairs; 0 without scores.
    """

    bins: tuple[int, ...]
    mean: float
    learned: int
    learned_mean: float


def score_repaired(task: NullTask, tick: Tick) -> NullScores:
    """Scores re-paired pairs. It ticks for each pair.

    Raises:
        AlignmentModelError: the model cannot be read.
        CorpusError: a file cannot be read.
    """
    model = shared_model(task.model)

    def scores_in(path: Path | None, copies: int) -> Values:
        values: list[Values] = [np.zeros(0)]
        for batch in () if path is None else iter_pairs(path):
            source, target = (TextColumn.from_arrow(batch.column(side)) for side in SIDES)
            values.append(model.score(source, target, copies))
            tick(len(batch))
        scores = np.concatenate(values)
        return scores[~np.isnan(scores)]

    learned, others = scores_in(task.learned, 1), scores_in(task.others, 0)
    mean, learned_mean = (float(scores.mean()) if len(scores) else 0.0 for scores in (others, learned))
    return NullScores(bins_of(others), mean, len(learned), learned_mean)


@dataclass(frozen=True)
class RepairedScores:
    """Scores of re-paired pairs of a corpus.

    Attributes:
        bins: histogram of the scores in fine bins.
        certain: number of scores that the estimate of the mean rests on.
    """

    bins: Bins
    certain: int


def moved_scores(scored: Sequence[NullScores]) -> list[RepairedScores]:
    """Returns the scores for each corpus of a text, as if the model had learned from all of the pairs."""
    learned = sum(scores.learned for scores in scored)
    higher = sum(scores.learned * (scores.learned_mean - scores.mean) for scores in scored) / max(learned, 1)
    return [RepairedScores(_moved(total_bins([scores.bins]), higher), learned or sum(scores.bins)) for scores in scored]


def _moved(bins: Bins, by: float) -> Bins:
    """Returns a fine histogram of the scores with a number added to each."""
    places = np.arange(len(bins)) + round(by / (EDGES[1] - EDGES[0]))
    moved = np.zeros_like(bins)
    np.add.at(moved, np.clip(places, 0, len(bins) - 1), bins)
    return moved


def bins_of(scores: Values) -> tuple[int, ...]:
    """Returns the number of scores in each fine bin."""
    counts = histogram(scores[np.newaxis], EDGES, np.ones(len(scores), np.bool_))
    return tuple(counts[0, 1].tolist())


def total_bins(histograms: Sequence[Sequence[int]]) -> Bins:
    """Returns the sum of fine histograms: int64, shape ``[bins]``."""
    total = np.zeros(len(EDGES) - 1, np.int64)
    for bins in histograms:
        total += np.array(bins, np.int64)
    return total
