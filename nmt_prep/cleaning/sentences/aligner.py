"""Aligns the sentences in documents by their lengths and by a word alignment model, learned from the documents.

The passes are

1. lengths alone (:func:`~nmt_prep.cleaning.sentences.search.path_by_lengths`);
2. words that occur on both sides, such as names and numbers, and words that a prior model knows;
3. words: a word alignment model is learned from the beads of the previous pass; the counts of a bead do not count
   for its own sentences. This pass is repeated.

All documents share the model. :func:`align_documents` does everything in memory; the ``sentences`` stage divides the
documents into tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import ALIGN_ONE, BeadCounts, NumberedPairs, WordLinks

from nmt_prep.base.columns import TextColumn
from nmt_prep.cleaning.align.learning import count, equal_words, finished, known_cells, updated
from nmt_prep.cleaning.align.model import Model, Scores
from nmt_prep.cleaning.align.settings import Settings
from nmt_prep.cleaning.align.word_vocabulary import Integers, Vocabulary
from nmt_prep.cleaning.sentences.search import (
    FIRST_WORD_WIDTH,
    USUAL,
    WIDTH,
    Beads,
    BeadTotals,
    KnownWords,
    Priors,
    Sentences,
    lengths_of,
    path_by_lengths,
    path_near,
)

Texts: TypeAlias = "tuple[pa.Array, pa.Array]"
"""The sentences on both sides of a document: Arrow ``large_string`` arrays without nulls and not empty."""

PASSES = 2  # Number of passes with a learned model

SETTINGS = Settings(jumps=False)

_PRIOR_WORDS = 20
"""Maximum word count of the prior model per document sentence; a larger prior would outweigh the documents."""

_LEAST_JUDGED = 200  # Minimum number of beads from which to judge whether documents translate each other

_LEAST_DISTANCE = 2.0

MOST_WORDS = 1000
"""Maximum compared words per sentence: the search stores a value for each word and partner."""

_Cells: TypeAlias = "tuple[Integers, ...]"


@dataclass(frozen=True)
class Level:
    """The scores of beads, and of the same sources with other beads' targets."""

    score: float = 0.0  # sum of the bead scores
    beads: int = 0  # number of beads
    shuffled: float = 0.0  # sum of the scores with other targets
    others: int = 0  # number of the scores with other targets
    cut: int = 0  # number of sentences with more than `MOST_WORDS` words

    @classmethod
    def of(cls, scores: Scores, shuffled: Scores, cut: int) -> Level:
        """Returns the sums of scores; NaN does not count."""
        known = [some[~np.isnan(some)] for some in (scores, shuffled)]
        (score, beads), (other, others) = ((round(math.fsum(some), 6), len(some)) for some in known)
        return cls(score, beads, other, others, cut)

    @classmethod
    def sum(cls, levels: Iterable[Level]) -> Level:
        every = list(levels)
        return cls(
            math.fsum(level.score for level in every),
            sum(level.beads for level in every),
            math.fsum(level.shuffled for level in every),
            sum(level.others for level in every),
            sum(level.cut for level in every),
        )

    @property
    def distance(self) -> float:
        """The mean score of the beads minus their mean score with other targets."""
        return self.score / max(self.beads, 1) - self.shuffled / max(self.others, 1)

    @property
    def unrelated(self) -> bool:
        """True if the sides of the documents, taken together, do not seem to be translations."""
        return self.beads >= _LEAST_JUDGED and self.distance < _LEAST_DISTANCE

    def fidelity(self, aligned: float, score: float) -> float:
        """Returns how well a document is translated: about 1 for a corpus's mean, 0 for unrelated documents."""
        distance = self.distance
        return aligned * (score - self.shuffled / max(self.others, 1)) / distance if distance > 0 else 1.0


def align_documents(
    documents: Sequence[Texts], prior: Model | None = None, threads: int = 1
) -> tuple[list[Beads], Level]:
    """Aligns documents together, with the help of a finished prior; returns each document's beads, and the level."""
    # Each pass learns anew, from the beads of the previous pass: a model that kept what it learned from a wrong bead
    # would confirm that bead. For the same reason a bead's own counts do not count for its sentences.
    aligner = Aligner(documents, Lexicon.begun(documents, prior, threads), threads)
    paths = before = aligner.first_paths()
    begun = aligner
    for _ in range(PASSES):
        before = paths
        aligner = replace(begun, lexicon=Lexicon(begun.learned(before), begun.lexicon.prior))
        paths = aligner.paths(before, BeadTotals.of(before).priors())
    return paths, Level.of(aligner.scores(paths, before), aligner.shuffled_scores(paths), aligner.cut)


@dataclass(frozen=True)
class Lexicon:
    """The known words of documents."""

    model: Model  # a model of the documents: finished, or with counts of words only
    prior: Model | None = None  # the model that the lexicon began with; None without one

    @classmethod
    def begun(cls, documents: Sequence[Texts], prior: Model | None, threads: int = 1) -> Lexicon:
        """Returns the lexicon before the first beads: equal words, and a prior of no more words than the documents."""
        prior = None if prior is None else capped(prior, sum(len(source) for source, _ in documents))
        sides = [pa.concat_arrays([document[side] for document in documents]) for side in (0, 1)]
        longest = max(map(len, sides))
        blank = pa.array([""] * longest, pa.large_string())
        padded = [TextColumn.from_arrow(pa.concat_arrays([side, blank[len(side) :]])) for side in sides]
        start = Model.start(SETTINGS, prior)
        return cls(updated(start, count(start, padded[0], padded[1], threads), threads), prior)

    @cached_property
    def shares(self) -> list[npt.NDArray[np.float32]]:
        """The share of each word on a side in the documents, whatever the prior says: float32, shape ``[words]``."""
        shares = []
        for side, vocabulary in enumerate(self.model.vocabularies):
            counts = np.full(len(vocabulary), 0.5)
            counts[1:] += vocabulary.counts
            if self.prior is not None:
                known = self.prior.vocabularies[side]
                places = vocabulary.numbers_of(known.hashes)
                counts[places[places > 0]] -= known.counts[places > 0]
            shares.append((counts / counts.sum()).astype(np.float32))
        return shares

    @cached_property
    def links(self) -> tuple[WordLinks, WordLinks]:
        """Links for source and target words; before learning, links between equal words and the prior's links."""
        vocabularies = self.model.vocabularies
        cells = _entries(*equal_words(vocabularies))
        known = None
        if self.model.finished:
            assert self.model.lexicon is not None
            known = _entries(*self.model.lexicon.table.rows_of(self.model.evidence, 1))
        elif self.prior is not None:
            known = _entries(*known_cells(self.prior, vocabularies))
        if known is not None:
            size = len(vocabularies[1])
            new = ~np.isin(cells[0] * size + cells[1], known[0] * size + known[1])
            cells = tuple(np.concatenate([array, added[new]]) for array, added in zip(known, cells, strict=True))
        return _links(cells, self.shares, 0), _links(cells, self.shares, 1)


@dataclass(frozen=True)
class Aligner:
    """Aligns documents with a lexicon."""

    texts: Sequence[Texts]
    lexicon: Lexicon
    threads: int = 1

    @cached_property
    def documents(self) -> list[tuple[Sentences, Sentences]]:
        """The documents with the numbers of their words."""
        return [(self._sentences(0, source), self._sentences(1, target)) for source, target in self.texts]

    def _sentences(self, side: int, lines: pa.Array) -> Sentences:
        vocabulary, column = self.lexicon.model.vocabularies[side], TextColumn.from_arrow(lines)
        words, offsets = vocabulary.numbers(column, self.lexicon.model.settings, self.threads)
        counts = np.diff(offsets)
        cut = int(np.count_nonzero(counts > MOST_WORDS))
        if cut:
            words = words[np.arange(len(words)) - np.repeat(offsets[:-1], counts) < MOST_WORDS]
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.minimum(counts, MOST_WORDS))])
        return Sentences(words, offsets, lengths_of(lines), cut)

    @property
    def cut(self) -> int:
        """How many sentences had only their first :data:`MOST_WORDS` words compared."""
        return sum(side.cut for document in self.documents for side in document)

    def first_paths(self) -> list[Beads]:
        """Returns paths found by lengths, then refined by equal words and the prior's words."""
        documents = self.documents  # computed once, before threads use it
        before = self._each(lambda number: path_by_lengths(*(side.lengths for side in documents[number])))
        return self.paths(before, learned=False)

    def paths(self, before: Sequence[Beads], priors: Priors = USUAL, *, learned: bool = True) -> list[Beads]:
        """Returns the path of each document near its previous path, which the model has learned from or not."""
        counts = self._bead_counts(before) if learned else [_nothing()] * len(before)
        width = WIDTH if self.lexicon.model.finished else FIRST_WORD_WIDTH
        documents, links = self.documents, self.lexicon.links

        def path(number: int) -> Beads:
            return path_near(documents[number], before[number], KnownWords(*links, counts[number]), priors, width)

        return self._each(path)

    def learned(self, paths: Sequence[Beads]) -> Model:
        """Returns the model that is learned from the beads of paths, starting from the initial lexicon."""
        pairs = [self._pairs(paths)]
        return finished(self.lexicon.model, lambda _: pairs, self.threads)

    def scores(self, paths: Sequence[Beads], before: Sequence[Beads] | None) -> Scores:
        """Returns each bead's score in all documents; see :meth:`nmt_prep.cleaning.align.model.Model.score`.

        Args:
            before: the paths that the model learned from, if it did; their beads do not count for themselves.
        """
        copies: Integers | int = 0
        if before is not None:
            copies = np.concatenate([_known(path, old) for path, old in zip(paths, before, strict=True)])
        return self.lexicon.model.score_numbered(self._pairs(paths), copies, self.threads)

    def shuffled_scores(self, paths: Sequence[Beads]) -> Scores:
        """Returns scores for all beads with exchanged targets: each source has a distant bead's target."""
        source, source_offsets, target, target_offsets = self._words_of(paths)
        half = int(target_offsets[len(target_offsets) // 2])
        starts = np.roll(np.diff(target_offsets), -(len(target_offsets) // 2))
        rolled = np.concatenate([target[half:], target[:half]])
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(starts)])
        return self.lexicon.model.score_numbered(
            NumberedPairs(source, source_offsets, rolled, offsets), 0, self.threads
        )

    def _each(self, path: Callable[[int], Beads]) -> list[Beads]:
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(path, range(len(self.texts))))

    def _pairs(self, paths: Sequence[Beads]) -> NumberedPairs:
        """Returns the beads of all documents as pairs. A bead without a counterpart has an empty side."""
        return NumberedPairs(*self._words_of(paths))

    def _words_of(self, paths: Sequence[Beads]) -> list[npt.NDArray[Any]]:
        """Returns, for each side, the words in the beads of all documents and their offsets."""
        arrays: list[npt.NDArray[Any]] = []
        for side, column in ((0, 1), (1, 3)):
            words = [document[side].words for document in self.documents]
            firsts = np.cumsum([0, *map(len, words)])
            ends = [
                first + document[side].offsets[path[:, column]]
                for first, document, path in zip(firsts, self.documents, paths, strict=False)
            ]
            arrays += [np.concatenate(words), np.concatenate([np.zeros(1, np.int64), *ends])]
        return arrays

    def _bead_counts(self, paths: Sequence[Beads]) -> list[BeadCounts]:
        counted = self.lexicon.model.aligner.counts_by_pair(self._pairs(paths), self.threads)
        offsets, source, target, counts = counted
        of_documents, first = [], 0
        for path in paths:
            bounds = offsets[first : first + len(path) + 1]
            inside = slice(int(bounds[0]), int(bounds[-1]))
            beads = np.arange(len(path), dtype=np.int32)
            of_sentences = [np.repeat(beads, path[:, end] - path[:, end - 1]) for end in (1, 3)]
            words = (source[inside], target[inside])
            of_documents.append(BeadCounts(bounds - bounds[0], *words, counts[inside], *of_sentences))
            first += len(path)
        return of_documents


def cut_text(sentences: int) -> str:
    """Returns a warning about sentences with too many words."""
    return f"{sentences:,} sentences have more than {MOST_WORDS:,} words, of which only the first are compared"


def capped(prior: Model, sentences: int) -> Model:
    """Returns a prior with about as many words as a number of sentences has, or fewer."""
    scale = min(1.0, _PRIOR_WORDS * sentences / max(int(prior.vocabularies[0].counts.sum()), 1))
    vocabularies = tuple(
        Vocabulary(known.hashes, np.maximum(1, (known.counts * scale).astype(np.int64))) for known in prior.vocabularies
    )
    return replace(prior, vocabularies=vocabularies, evidence=(prior.evidence * scale).astype(np.int64))


def _known(path: Beads, before: Beads) -> Integers:
    """Returns 1 for each bead that is among the previous beads, else 0."""
    old = {tuple(bead) for bead in before.tolist()}
    return np.array([tuple(bead) in old for bead in path.tolist()], np.int64)


def _entries(offsets: Integers, targets: npt.NDArray[np.int32], counts: Integers) -> _Cells:
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), targets.astype(np.int64), counts


def _links(cells: _Cells, shares: Sequence[npt.NDArray[np.float32]], side: int) -> WordLinks:
    words, others, counts = cells[side], cells[1 - side], cells[2]
    order = np.argsort(words, kind="stable")
    first = np.searchsorted(words[order], np.arange(len(shares[side]) + 1))
    totals = np.bincount(words, counts, len(shares[side])) / ALIGN_ONE
    return WordLinks(
        first.astype(np.int64),
        others[order].astype(np.int32),
        (counts[order] / ALIGN_ONE).astype(np.float32),
        totals.astype(np.float32),
        shares[1 - side],
    )


def _nothing() -> BeadCounts:
    none = np.zeros(0, np.int32)
    return BeadCounts(np.zeros(1, np.int64), none, none, np.zeros(0, np.float32), none, none)
