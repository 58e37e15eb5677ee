"""The ``translation`` rule learned in memory, with re-paired pairs, whose scores stand for misaligned pairs.

The targets of pairs are exchanged. Pairs that the model learned from score higher than other pairs, even without their
own counts, because similar pairs shaped the model too. So the model also learns from a few re-paired pairs, and the
histogram of the other re-paired pairs is moved by the difference of the means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.align.learning import learn
from nmt_prep.cleaning.align.model import Model
from nmt_prep.cleaning.align.settings import SCORE_SETTINGS
from nmt_prep.cleaning.corpus_rules.translation import SCORE_EDGES, other_targets
from nmt_prep.cleaning.dedup.records import keys_of
from nmt_prep.cleaning.pair_sample import KEY, ORDER, PairSample, Read, below, column_of, first_by, lines_of
from nmt_prep.cleaning.rejects import histogram
from nmt_prep.cleaning.rule import Values

LEAST_PAIRS = 1500  # Minimum number of distinct pairs that a model can be learned from
REPAIRED_PAIRS = 20_000  # Approximate number of pairs per corpus whose targets are exchanged

_LEARNED_SHARE, _LEAST_LEARNED, _MOST_LEARNED = 0.05, 100, 5000

FINE = 10  # Number of fine bins per bin in a reported histogram

EDGES = [
    round(edge + (SCORE_EDGES[1] - SCORE_EDGES[0]) * place / FINE, 6)
    for edge in SCORE_EDGES[:-1]
    for place in range(FINE)
] + [SCORE_EDGES[-1]]
"""Edges of the fine bins, which thresholds are found with."""

Bins: TypeAlias = "npt.NDArray[np.int64]"


@dataclass(frozen=True)
class BadScores:
    """Scores of a corpus's artificial bad pairs."""

    bins: tuple[tuple[int, ...], ...]  # for each defect, the histogram of the scores in fine bins
    certain: int = 0  # how many scores the estimate of their mean rests on


@dataclass(frozen=True)
class DrawnPairs:
    """The pairs of a corpus that were drawn for a sample."""

    read: Read  # yields the drawn pairs
    pairs: int  # pair count of the corpus
    limit: int  # its pairs with smaller random numbers were drawn
    teaches: bool = True  # false if a model must not learn from them

    def repaired(self, *, learns: bool) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """Returns re-paired pairs: pairs to learn a model from, and others."""
        drawn = (self.pairs * self.limit) >> 64
        learned = min(max(int(_LEARNED_SHARE * drawn), min(_LEAST_LEARNED, drawn // 10)), _MOST_LEARNED)
        used = min(self.limit, (1 << 64) * REPAIRED_PAIRS // max(self.pairs, 1))
        chosen = [below(batch, used) for batch in self.read([*SIDES, KEY, ORDER])]
        pairs = _exchanged(first_by(KEY, chosen))
        return (pairs[:learned], pairs[learned:]) if learns and self.teaches else (pairs[:0], pairs)


def _exchanged(pairs: pa.RecordBatch) -> pa.RecordBatch:
    """Returns sources with the targets of other pairs, in random order."""
    lengths = pc.utf8_length(pairs.column("target")).to_numpy(zero_copy_only=False).astype(np.int64)
    keys = keys_of(pairs, SIDES, "normalized")
    sources, targets = other_targets(lengths, column_of(pairs, ORDER), *(keys[side][:, 0] for side in SIDES))
    shuffled = np.argsort(column_of(pairs, KEY)[sources])  # paired at random, not by length
    rows = zip(SIDES, (sources, targets), strict=True)
    return pa.record_batch([pairs.column(side).take(pa.array(own[shuffled])) for side, own in rows], names=SIDES)


def learn_translation(
    sample: PairSample,
    corpora: Sequence[DrawnPairs],
    prior: Model | None = None,
    threads: int = 1,
    tick: Callable[[int], None] = lambda _: None,
) -> tuple[Model, list[BadScores]]:
    """Learns a model from a sample of some corpora, and scores re-paired pairs in each corpus."""
    repaired = [corpus.repaired(learns=True) for corpus in corpora]
    added = [lines_of(learned) for learned, _ in repaired]
    model = learn(lambda: chain(sample.text(), added), SCORE_SETTINGS, prior, threads, tick)
    return model, repaired_scores(model, repaired, threads)


def repaired_scores(
    model: Model, repaired: Iterable[tuple[pa.RecordBatch, pa.RecordBatch]], threads: int = 1
) -> list[BadScores]:
    """Scores each corpus's re-paired pairs, both learned and unlearned ones.

    Returns:
        Estimates the scores of a model that had also learned from all re-paired pairs.
    """
    scored = [(_scores(model, own, 1, threads), _scores(model, others, 0, threads)) for own, others in repaired]
    learned = sum(len(own) for own, _ in scored)
    higher = sum(len(own) * (_mean(own) - _mean(others)) for own, others in scored) / max(learned, 1)
    moved = [_moved(others, higher) for _, others in scored]
    return [BadScores((bins,), learned or sum(bins)) for bins in moved]


def _scores(model: Model, pairs: pa.RecordBatch, copies: int, threads: int) -> Values:
    scores = model.score(*lines_of(pairs), copies, threads)
    return scores[~np.isnan(scores)]


def _mean(scores: Values) -> float:
    return float(scores.mean()) if len(scores) else 0.0


def _moved(scores: Values, by: float) -> tuple[int, ...]:
    """Returns a fine histogram of scores, with a number added to each."""
    bins = np.array(bins_of(scores), np.int64)
    places = np.arange(len(bins)) + round(by / (EDGES[1] - EDGES[0]))
    moved = np.zeros_like(bins)
    np.add.at(moved, np.clip(places, 0, len(bins) - 1), bins)
    return tuple(moved.tolist())


def bins_of(scores: Values) -> tuple[int, ...]:
    """Returns the number of scores in each fine bin."""
    counts = histogram(scores[np.newaxis], EDGES, np.ones(len(scores), np.bool_))
    return tuple(counts[0, 1].tolist())


def total_bins(histograms: Iterable[Sequence[int]]) -> Bins:
    """Returns the sum of fine histograms: int64, shape ``[bins]``."""
    total = np.zeros(len(EDGES) - 1, np.int64)
    for bins in histograms:
        total += np.array(bins, np.int64)
    return total
