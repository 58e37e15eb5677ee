"""Learns a classifier from a corpus: from good pairs, and from defective pairs that are made of them.

Pairs are good if they score better than nearly all pairs with exchanged targets, as a whole and on either side. Without
this guard, the classifier would learn misaligned and cut pairs of the corpus as good pairs. The features of good and
defective pairs exclude the pairs' own counts in the word alignment model. The pairs are divided into halves by their
text; the trees learned from one half judge the other, so that no pair is judged by trees that learned from it. The
trees learn twice: the second time without the good pairs that the first trees doubt most, so that a corpus with many
incomplete pairs does not teach that they are good.

Arrays ``copies`` contain how often the model counted each pair: int64, shape ``[pairs]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import ADEQUACY_BINS, line_keys, train_trees

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import AlignmentModelError
from nmt_prep.cleaning.adequacy.classifier import (
    CLASSES,
    DIRECTIONS,
    SCORE,
    VALUES,
    Classifier,
    Floats,
    Forest,
    Reference,
    count_words,
    features,
    halves_of,
    length_classes,
    no_words,
)
from nmt_prep.cleaning.adequacy.defects import (
    KINDS,
    Draws,
    Integers,
    Made,
    MarkedPairs,
    defective,
    exchanged,
    good,
    joined,
)
from nmt_prep.cleaning.align.model import Model
from nmt_prep.cleaning.corpus_rules.adequacy import incomplete_threshold
from nmt_prep.cleaning.pair_sample import ORDER, below, column_of, first_by, lines_of

COPIES = "copies"  # Column with the number of equal pairs in a text, the pair itself included
LEAST_PAIRS = 1500  # Minimum number of good pairs to learn a classifier from
MOST_PAIRS = 15_000  # Maximum number of good pairs to learn a classifier from
SAMPLE_PAIRS = 5 * MOST_PAIRS  # Maximum number of pairs in which good pairs are sought; more pairs do not help

ADEQUACY_VERSION = 7
"""To be increased if the same pairs would give another classifier, or the same classifier other values."""

_GUARDED = [SCORE, *VALUES]
_GUARD = 0.98
"""Share of the pairs with exchanged targets that good pairs exceed by score, and by the mean value of either side."""

_DEFECTS = 3  # Defective pairs made of each good pair, besides one with an exchanged target
_JOINED = 0.25  # Share of the good pairs that are used a second time, joined to another good pair

_DOUBTFUL, _MOST_DOUBTFUL = 2, 0.25
"""The final trees do not learn from the most doubtful good pairs. Their share of the good pairs is the first number
times the estimated share of incomplete pairs, and at most the second number."""

_DEFECTIVE = 0.95
"""Share of the defective pairs whose log-odds are lower than the log-odds of any good pair that is not doubtful."""

_EDGES = [round(number / 50 - 12, 2) for number in range(1201)]  # Edges of log-odds histograms
_LOWEST = 0.01  # Share of good pairs with values below 0, in each length class

_LEAST_OF_LENGTH = 200
"""Minimum number of good pairs in a length class for which a separate lowest value is computed."""

_TREES, _LEAVES, _RATE, _PENALTY, _SMALLEST = 120, 8, 0.1, 1.0, 20

Keys: TypeAlias = "npt.NDArray[np.uint64]"
_Classes: TypeAlias = "npt.NDArray[np.bool_]"


def learn(
    model: Model,
    source: TextColumn,
    target: TextColumn,
    copies: Integers,
    seed: int = 1,
    threads: int = 1,
    sums: tuple[Integers, Integers] | None = None,
) -> tuple[Classifier, int]:
    """Learns a classifier; also returns the number of good pairs that it learned from.

    Args:
        sums: word sums (:func:`~nmt_prep.cleaning.adequacy.classifier.count_words`) of the whole text that the pairs
            are drawn from; None if the pairs are the whole text.
    """
    corpus = _Corpus.of(model, source, target, copies, threads, sums)
    rows, known = _good_rows(corpus, Draws(3 * seed))
    # Each step has its own stream of random numbers, so that a change in one half does not change the other.
    halves = [_Half.of(corpus, half, rows, known, Draws(3 * seed + 1 + half)) for half in (0, 1)]
    # Cross-fitting: log-odds always come from the other half's trees. Trees score pairs that they learned from too
    # well, which would hide incomplete pairs among the good ones and make the lowest values too high.
    forests = [trained(half.features, half.kinds < 0, threads) for half in halves]
    odds = _cross_odds(forests, halves, threads)
    doubtful = min(_DOUBTFUL * _incomplete(halves, odds), _MOST_DOUBTFUL)
    certain = [half.without_doubtful(values, doubtful) for half, values in zip(halves, odds, strict=True)]
    forests = [trained(half.features, half.kinds < 0, threads) for half in certain]
    # The final trees score all good pairs, the doubtful ones included: 1 % of good pairs are meant to fall below 0.
    odds = _cross_odds(forests, halves, threads)
    lengths = [length_classes(half.pairs) for half in halves]
    good = [half.kinds < 0 for half in halves]
    lowest = _lowest(*(np.concatenate([a[b] for a, b in zip(each, good, strict=True)]) for each in (odds, lengths)))
    return Classifier(model, corpus.reference, (forests[0], forests[1]), lowest), len(rows)


FirstPairs: TypeAlias = tuple[TextColumn, TextColumn, Integers]  # Source and target lines, and how often each occurs


def first_pairs(batches: Iterable[pa.RecordBatch], most: int = SAMPLE_PAIRS) -> FirstPairs:
    """Finds a text's distinct pairs with the smallest random numbers, in the order of these numbers."""
    held, rows, limit = list[pa.RecordBatch](), 0, 1 << 64
    for batch in batches:
        held.append(below(batch, limit))
        rows += len(held[-1])
        if rows > 2 * most:  # equal pairs have equal random numbers, so no pair that is dropped here is among the first
            held = [first_by(ORDER, held)[:most]]
            rows = len(held[0])
            if rows == most:
                limit = int(column_of(held[0], ORDER)[-1]) + 1
    pairs = first_by(ORDER, held)[:most]
    counted = COPIES in pairs.schema.names
    copies = pairs.column(COPIES).to_numpy(zero_copy_only=False) if counted else np.ones(len(pairs), np.int64)
    return *lines_of(pairs), np.asarray(copies, np.int64)


def learn_first(
    model: Model, batches: Iterable[pa.RecordBatch], seed: int = 1, threads: int = 1
) -> tuple[Classifier, FirstPairs]:
    """Learns a classifier from all words of a text and from its first pairs; also returns these pairs."""
    sums = no_words(model)

    def counted() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            copies = batch.column(COPIES).to_numpy() if COPIES in batch.schema.names else np.ones(len(batch), np.int64)
            count_words(model, model.numbered(*lines_of(batch), threads), copies, sums, threads)
            yield batch

    first = first_pairs(counted())
    return learn(model, *first, seed, threads, sums)[0], first


def _cross_odds(forests: list[Forest], halves: list[_Half], threads: int) -> list[Floats]:
    """Returns the log-odds of each half's pairs by the other half's trees."""
    return [
        forest.trees.predict(half.features, threads) for forest, half in zip(reversed(forests), halves, strict=True)
    ]


def _incomplete(halves: list[_Half], odds: list[Floats]) -> float:
    """Estimates the share of incomplete pairs among the good ones."""
    # The same mixture as for the rule's threshold: the log-odds of good pairs are those of complete pairs, plus a share
    # of values like those of each defect. Exchanged targets are excluded: the guard has removed misaligned pairs.
    kinds, values = np.concatenate([half.kinds for half in halves]), np.concatenate(odds)
    bins = [
        np.histogram(np.clip(values[of], _EDGES[0], _EDGES[-1]), _EDGES)[0].tolist()
        for of in (kinds < 0, *(kinds == kind for kind in range(1, len(KINDS))))
    ]
    return incomplete_threshold(_EDGES, bins[0], bins[1:]).noise if any(map(sum, bins[1:])) else 0.0


def defective_values(
    classifier: Classifier, source: TextColumn, target: TextColumn, copies: Integers, seed: int = 1, threads: int = 1
) -> list[Floats]:
    """Returns the values of defective pairs that are made from a text's first pairs, for each kind but ``exchanged``.

    Each defective pair is scored by the trees that did not learn from its original pair.
    """
    pairs = MarkedPairs.of(classifier.model, source, target, threads)
    rows = np.flatnonzero((pairs.source.sizes > 0) & (pairs.target.sizes > 0))[:MOST_PAIRS]
    draws = Draws(3 * seed)
    made = Made.concatenated([defective(pairs, rows, draws) for _ in range(_DEFECTS)])
    given = features(
        classifier.model, classifier.reference, made.pairs, copies, threads, sample=pairs, origins=made.origins
    )
    values = classifier.values(given[0], made.pairs, halves_of(source, target)[made.origins[:, 0]], threads)
    return [values[made.kinds == kind] for kind in range(1, len(KINDS))]


@dataclass(frozen=True)
class _Corpus:
    """The pairs that a classifier learns from."""

    model: Model  # a word alignment model that was learned from the pairs
    reference: Reference
    pairs: MarkedPairs
    copies: Integers
    keys: tuple[Keys, Keys]  # keys of sources and targets; equal lines have equal keys
    halves: Integers  # the half of each pair: int64, shape `[pairs]`
    threads: int

    @classmethod
    def of(
        cls,
        model: Model,
        source: TextColumn,
        target: TextColumn,
        copies: Integers,
        threads: int,
        sums: tuple[Integers, Integers] | None,
    ) -> _Corpus:
        pairs = MarkedPairs.of(model, source, target, threads)
        if sums is None:
            sums = no_words(model)
            count_words(model, pairs.numbered(), copies, sums, threads)
        reference = Reference.of(pairs, sums)
        keys = [line_keys(lines.data, lines.offsets, True)[:, 0] for lines in (source, target)]
        return cls(model, reference, pairs, copies, (keys[0], keys[1]), halves_of(source, target), threads)

    def features(self, made: Made) -> Floats:
        """Returns the features of pairs that are made from the corpus's pairs."""
        given = (self.model, self.reference, made.pairs, self.copies, self.threads)
        return features(*given, sample=self.pairs, origins=made.origins)[0]


@dataclass(frozen=True)
class _Half:
    """Good and defective pairs of one half."""

    pairs: MarkedPairs
    kinds: Integers  # the defect of each pair, as an index of `KINDS`; -1 for good pairs
    features: Floats

    @classmethod
    def of(cls, corpus: _Corpus, half: int, rows: Integers, known: Floats, draws: Draws) -> _Half:
        """Makes defective pairs from one half of the corpus."""
        mine = corpus.halves[rows] == half
        rows, known = rows[mine], known[mine]
        made = Made.concatenated(
            [
                joined(corpus.pairs, rows[draws.shares(len(rows)) < _JOINED], draws),
                exchanged(corpus.pairs, rows, draws, corpus.keys),
                *(defective(corpus.pairs, rows, draws) for _ in range(_DEFECTS)),
            ]
        )
        every = Made.concatenated([good(corpus.pairs, rows), made])
        return cls(every.pairs, every.kinds, np.concatenate([known, corpus.features(made)]))

    def without_doubtful(self, odds: Floats, share: float) -> _Half:
        """Returns the pairs without a share of the good pairs: those with the lowest log-odds, which look defective."""
        # Of the two limits the lower one counts: a good pair is dropped only if it also looks no better than nearly all
        # defective pairs. Otherwise a clean corpus would lose its rare but complete pairs, such as free translations.
        good = self.kinds < 0
        limits = (np.sort(odds[of])[int(most * of.sum())] for of, most in ((good, share), (~good, _DEFECTIVE)))
        kept = np.flatnonzero(~good | (odds >= min(limits)))
        return _Half(self.pairs.take(kept), self.kinds[kept], self.features[kept])


def _good_rows(corpus: _Corpus, draws: Draws) -> tuple[Integers, Floats]:
    """Returns the rows of good pairs, and their features."""
    rows = np.flatnonzero((corpus.pairs.source.sizes > 0) & (corpus.pairs.target.sizes > 0))
    rows = rows[:SAMPLE_PAIRS]
    # The guards are the values that 2 % of misaligned pairs exceed: the score catches misaligned pairs, and the value
    # of each side catches pairs of which one side is cut, since its other side then lacks counterparts.
    others = exchanged(corpus.pairs, rows[: 2 * MOST_PAIRS], draws, corpus.keys)
    guards = np.sort(corpus.features(others)[:, _GUARDED], axis=0)[int(_GUARD * len(others.pairs)) :][:1]
    known = corpus.features(good(corpus.pairs, rows))
    better = (known[:, _GUARDED] > guards).all(axis=1) if len(guards) else np.zeros(len(rows), np.bool_)
    kept = np.flatnonzero(better)[:MOST_PAIRS]
    if len(kept) < LEAST_PAIRS:
        raise AlignmentModelError(
            f"{len(kept):,} of {len(rows):,} pairs translate each other well enough to learn from; at least "
            f"{LEAST_PAIRS:,} are needed"
        )
    return rows[kept], known[kept]


def trained(rows: Floats, classes: _Classes, threads: int = 1) -> Forest:
    """Returns boosted trees that predict whether a pair is good from its features, as log-odds.

    Args:
        rows: features: float64, shape ``[pairs, features]``.
    """
    # The core learns from bin indexes, one byte per value: bins of equal count make the trees independent of the scale
    # of a feature. Afterwards each split gets the bin's upper edge, so that prediction needs no bins.
    places = np.arange(1, ADEQUACY_BINS) * len(rows) // ADEQUACY_BINS
    edges = [np.unique(np.sort(column)[places]) for column in rows.T]
    bins = np.stack([np.searchsorted(edge, column) for edge, column in zip(edges, rows.T, strict=True)])
    options = (_TREES, _LEAVES, _RATE, _PENALTY, _SMALLEST, threads)
    learned = train_trees(bins.astype(np.uint8), classes.astype(np.uint8), np.array(DIRECTIONS, np.int8), *options)
    feature, bound, child, value, roots = learned
    for node in np.flatnonzero(feature >= 0):
        bound[node] = edges[feature[node]][int(bound[node])]
    return Forest((feature, bound, child, value, roots))


def _lowest(odds: Floats, lengths: Integers) -> tuple[float, ...]:
    """Returns for each length class the log-odds that 1 % of the good pairs fall below."""
    every = np.sort(odds)
    lowest = []
    for length in range(len(CLASSES) + 1):
        some = np.sort(odds[lengths == length])
        of = some if len(some) >= _LEAST_OF_LENGTH else every
        lowest.append(float(of[int(_LOWEST * len(of))]))
    return tuple(lowest)
