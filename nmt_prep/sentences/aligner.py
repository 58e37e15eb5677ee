"""Aligns the sentences of documents by their lengths and by a model of their words, which it learns from them.

The passes are

1. lengths alone, coarse to fine for long documents, then again with the lengths of the beads found;
2. words that both sides have, such as names and numbers, and those that a prior model knows;
3. words: a model of word alignment is learned from the beads of the pass before; a sentence is compared without what
   the model learned from its own bead. This pass is repeated.

All documents are aligned together: they share the model. Each pass finds the path of the highest value (see
``core/sentences/path.h``) within a band around the path before.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import ALIGN_ONE, BeadCounts, NumberedPairs, SentenceSide, WordLinks, align_sentences

from nmt_prep.align.model import Model
from nmt_prep.align.settings import Settings
from nmt_prep.align.training import Counter, count, equal_words, known_cells, updated
from nmt_prep.align.vocabulary import Integers, Vocabulary
from nmt_prep.columns import TextColumn

Lengths: TypeAlias = "npt.NDArray[np.float64]"
Beads: TypeAlias = Integers
"""Beads in order: int64, shape ``[beads, 4]``. Rows are ``source, source_end, target, target_end``: bead 0 joins the
source sentences from ``source`` to before ``source_end`` with the target sentences from ``target`` to before
``target_end``; one of the sides may be empty."""

_LEAST_VARIANCE = 0.3
_FIRST_VARIANCE = 6.8
"""Variance of the length of a translation for each character, before anything is known (Gale and Church, 1993)."""

_MEDIAN_SQUARE = 0.549
"""Median of the square of a variable with Student's distribution of 4 degrees of freedom."""

_LEAST_CALIBRATED = 20
"""Least number of beads of one sentence a side that the variance is calibrated from."""

_FEW_BEADS = 100
_SHORTEST = 5.0


@dataclass(frozen=True)
class Sentences:
    """The sentences of one side of a document.

    Attributes:
        words: numbers of all words: int32.
        offsets: sentence i has ``words[offsets[i]:offsets[i + 1]]``: int64, shape ``[sentences + 1]``.
        lengths: characters of each sentence without spaces, at least 1: float64, shape ``[sentences]``.
    """

    words: npt.NDArray[np.int32]
    offsets: Integers
    lengths: Lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def native(self) -> SentenceSide:
        """Returns the side in the form that the native core takes."""
        return SentenceSide(self.words, self.offsets, self.lengths)

    def merged(self, size: int) -> Sentences:
        """Returns units of ``size`` consecutive sentences each; the last one may be shorter."""
        starts = np.arange(0, len(self), size)
        offsets = np.append(self.offsets[:-1][starts], self.offsets[-1])
        return Sentences(self.words, offsets, np.add.reduceat(self.lengths, starts))


Document: TypeAlias = "tuple[Sentences, Sentences]"
"""Both sides of a document."""


def lengths_of(lines: pa.Array) -> Lengths:
    """Returns the characters of each sentence without spaces, at least 1: float64, shape ``[sentences]``."""
    characters = pc.utf8_length(pc.replace_substring(lines, " ", ""))
    lengths: Lengths = np.maximum(characters.to_numpy(zero_copy_only=False), 1).astype(np.float64)
    return lengths


def calibrated(
    document: Document, beads: Beads | None
) -> tuple[float, float, tuple[float, float], tuple[float, float]]:
    """Returns how the lengths of translations are distributed: ratio, variance, and gamma distributions of both sides.

    ``core/sentences/lengths.h`` has the model.

    Args:
        document: the document.
        beads: an earlier path, whose beads of one sentence a side tell ratio and variance; None if there is none.
    """
    source, target = (side.lengths for side in document)
    ratio, variance = float(target.sum()) / float(source.sum()), _FIRST_VARIANCE
    if beads is not None:
        single = beads[(beads[:, 1] - beads[:, 0] == 1) & (beads[:, 3] - beads[:, 2] == 1)]
        if len(single) > _LEAST_CALIBRATED:
            x, y = source[single[:, 0]], target[single[:, 2]]
            ratio = float(np.median(y / x)) if len(single) < _FEW_BEADS else float(y.sum()) / float(x.sum())
            squares = (y - ratio * x) ** 2 / (ratio * np.maximum(x, _SHORTEST))
            variance = max(_LEAST_VARIANCE, float(np.median(squares)) / _MEDIAN_SQUARE)
    return ratio, variance, _gamma(source), _gamma(target)


def _gamma(lengths: Lengths) -> tuple[float, float]:
    """Returns shape and scale of the gamma distribution with the mean and variance of lengths."""
    mean = float(lengths.sum()) / len(lengths)  # sums of whole numbers are exact
    variance = float((lengths * lengths).sum()) / len(lengths) - mean * mean + 1
    return mean * mean / variance, variance / mean


KINDS = ((1, 1), *((1, n) for n in range(2, 6)), *((n, 1) for n in range(2, 6)), (2, 2), (2, 3), (3, 2), (3, 3))
"""Numbers of sentences of beads with both sides."""

DELETION = -7.0
"""Log probability of a sentence without counterpart, after one with a counterpart."""

EXTENSION = -1.5
"""Log probability of a sentence without counterpart that follows another such sentence."""

_COARSE_KINDS = ((1, 1), (1, 2), (2, 1), (2, 2))
_COARSE_DELETION = -3.0

_PSEUDO_COUNT = 2.0
"""Count of links that each word has with all words of the other side, spread by their shares."""

_MIXED = 0.2
"""Part of a word's share in the text that its probability has at least."""

_WORD_WEIGHT = 0.25
"""Weight of the log probabilities of words: words of a sentence are not independent of each other."""

_FREE = -5.0
"""Log probability that a bead is a free translation, whose words tell nothing."""

_PASSES = 2
"""Number of passes with a learned model."""

_WIDTH = 40
"""Sentences on each side of the path before that a path may pass. It exceeds most gaps."""

_WIDEST = 1000
_FULL_CELLS = 3_000_000
"""Most cells that the first pass searches as a whole."""

_FULL_WORD_CELLS = 400_000
"""Most cells that the first pass with words searches as a whole: lengths alone may misplace a long passage."""

_COARSER = 4

_PRIOR_WORDS = 1.0
"""Words of the prior model for each word of the documents, at most: a larger one would outvote them."""

SETTINGS = Settings(jumps=False)

_Cells: TypeAlias = "tuple[Integers, ...]"
_Kinds: TypeAlias = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class _Lexicon:
    """What is known of the words of all documents.

    Attributes:
        source: links of source words, and the shares of target words.
        target: links of target words, and the shares of source words.
        bead_counts: for each document, what the model learned from each of its beads.
    """

    source: WordLinks
    target: WordLinks
    bead_counts: Sequence[BeadCounts]


class Aligner:
    """Aligns documents together."""

    def __init__(
        self, documents: Sequence[tuple[pa.Array, pa.Array]], prior: Model | None = None, threads: int = 1
    ) -> None:
        """Reads the words of documents.

        Args:
            documents: the sentences of both sides of each document: Arrow ``large_string`` arrays without nulls and
                not empty.
            prior: a finished model of word alignment of other text; None to learn from the documents alone.
            threads: number of threads; it does not change the result.

        Raises:
            AlignmentModelError: the prior has other words.
            InvalidTextError: a sentence is not UTF-8.
        """
        self._threads = threads
        sides = [pa.concat_arrays([document[side] for document in documents]) for side in (0, 1)]
        longest = max(map(len, sides))
        padded = [TextColumn.from_arrow(pa.concat_arrays([side, _blank(longest - len(side))])) for side in sides]
        start = Model.start(SETTINGS, None if prior is None else _capped(prior, sum(map(len, documents))))
        self._start = updated(start, count(start, padded[0], padded[1], threads), threads)
        self.documents = [(self._sentences(0, source), self._sentences(1, target)) for source, target in documents]

    def _sentences(self, side: int, lines: pa.Array) -> Sentences:
        column = TextColumn.from_arrow(lines)
        words, offsets = self._start.vocabularies[side].numbers(column, SETTINGS, self._threads)
        return Sentences(words, offsets, lengths_of(lines))

    def align(self) -> list[Beads]:
        """Returns the beads of each document."""
        paths = self._pass(None, None)
        paths = self._pass(paths, None)
        paths = self._pass(paths, self._lexicon(None, paths), _FULL_WORD_CELLS)
        for _ in range(_PASSES):
            paths = self._pass(paths, self._lexicon(self._learned(paths), paths))
        return paths

    def _pass(self, before: Sequence[Beads] | None, lexicon: _Lexicon | None, full_cells: int = 0) -> list[Beads]:
        def path(number: int) -> Beads:
            document = self.documents[number]
            if before is None:
                return _first_path(document)
            n, m = map(len, document)
            width = m if n * m <= full_cells else _WIDTH
            return _path(document, before[number], lexicon, number, width)

        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(path, range(len(self.documents))))

    @cached_property
    def _shares(self) -> list[npt.NDArray[np.float32]]:
        """The share of each word of a side in the documents, whatever the prior says."""
        shares = []
        for side, vocabulary in enumerate(self._start.vocabularies):
            counts = np.full(len(vocabulary), 0.5)
            for document in self.documents:
                counts += np.bincount(document[side].words, minlength=len(vocabulary))
            shares.append((counts / counts.sum()).astype(np.float32))
        return shares

    def _pairs(self, paths: Sequence[Beads]) -> NumberedPairs:
        """Returns the beads of all documents as pairs. Those without a counterpart have an empty side."""
        arrays = []
        for side, column in ((0, 1), (1, 3)):
            words = [document[side].words for document in self.documents]
            firsts = np.cumsum([0, *map(len, words)])
            ends = [
                first + document[side].offsets[path[:, column]]
                for first, document, path in zip(firsts, self.documents, paths, strict=False)
            ]
            arrays += [np.concatenate(words), np.concatenate([np.zeros(1, np.int64), *ends])]
        return NumberedPairs(*arrays)

    def _learned(self, paths: Sequence[Beads]) -> Model:
        model, pairs = self._start, self._pairs(paths)
        while not model.finished:
            counter = Counter(model, self._threads)
            counter.add_numbered(pairs)
            model = updated(model, counter.counts(), self._threads)
        return model

    def _lexicon(self, model: Model | None, paths: Sequence[Beads]) -> _Lexicon:
        """Returns what a model knows; without one, what the prior knows, and equal words."""
        vocabularies = self._start.vocabularies
        cells = _entries(*equal_words(vocabularies))
        known = None
        if model is not None:
            assert model.lexicon is not None
            known = _entries(*model.lexicon.table.rows_of(model.evidence, 1))
        elif self._start.prior is not None:
            known = _entries(*known_cells(self._start.prior, vocabularies))
        if known is not None:
            size = len(vocabularies[1])
            new = ~np.isin(cells[0] * size + cells[1], known[0] * size + known[1])
            cells = tuple(np.concatenate([array, added[new]]) for array, added in zip(known, cells, strict=True))
        links = [_links(cells, self._shares, side) for side in (0, 1)]
        counts = [_nothing()] * len(self.documents) if model is None else self._bead_counts(model, paths)
        return _Lexicon(links[0], links[1], counts)

    def _bead_counts(self, model: Model, paths: Sequence[Beads]) -> list[BeadCounts]:
        offsets, source, target, counts = model.aligner.counts_by_pair(self._pairs(paths), self._threads)
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


def _blank(lines: int) -> pa.Array:
    return pa.array([""] * lines, pa.large_string())


def _capped(prior: Model, sentences: int) -> Model:
    """Returns a prior with no more words than documents have, about."""
    words = sentences * 20
    scale = min(1.0, _PRIOR_WORDS * words / max(int(prior.vocabularies[0].counts.sum()), 1))
    vocabularies = tuple(
        Vocabulary(known.hashes, np.maximum(1, (known.counts * scale).astype(np.int64))) for known in prior.vocabularies
    )
    return replace(prior, vocabularies=vocabularies, evidence=(prior.evidence * scale).astype(np.int64))


def _entries(offsets: Integers, targets: npt.NDArray[np.int32], counts: Integers) -> _Cells:
    """Returns source words, target words and counts of cells."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), targets.astype(np.int64), counts


def _links(cells: _Cells, shares: Sequence[npt.NDArray[np.float32]], side: int) -> WordLinks:
    """Returns the rows of the words of a side."""
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


def _priors(kinds: _Kinds) -> npt.NDArray[np.float64]:
    """Returns the log probability of each kind of bead, but for a constant: fewer sentences are more probable."""
    return np.array([-0.15 if a + b == 2 else 0.4 - a - b - (min(a, b) > 1) for a, b in kinds])


def _path(document: Document, before: Beads, lexicon: _Lexicon | None, number: int, width: int) -> Beads:
    """Returns the best path around another one; widens the band where the path touches its edge."""
    while True:
        beads, at_edge = _searched(document, _band(document, before, width), before, lexicon, number)
        if not at_edge or width >= _WIDEST:
            return beads
        width *= 2


def _searched(
    document: Document,
    band: tuple[Integers, Integers],
    before: Beads | None,
    lexicon: _Lexicon | None = None,
    number: int = 0,
    kinds: _Kinds = KINDS,
    deletion: float = DELETION,
) -> tuple[Beads, bool]:
    ratio, variance, source_gamma, target_gamma = calibrated(document, before)
    source_links, target_links, bead_counts = (
        (None, None, None) if lexicon is None else (lexicon.source, lexicon.target, lexicon.bead_counts[number])
    )
    beads, at_edge = align_sentences(
        document[0].native(),
        document[1].native(),
        *band,
        np.array(kinds, np.int32),
        _priors(kinds),
        deletion,
        max(deletion, EXTENSION),
        ratio,
        variance,
        source_gamma,
        target_gamma,
        source_links,
        target_links,
        bead_counts,
        _PSEUDO_COUNT,
        _MIXED,
        _WORD_WEIGHT,
        _FREE,
    )
    return beads.reshape(-1, 4), at_edge


def _band(document: Document, path: Beads, width: int) -> tuple[Integers, Integers]:
    """Returns the target sentences that may precede each place of the source side, around a path."""
    n, m = map(len, document)
    ends = np.concatenate([[[0, 0]], path[:, [1, 3]]])
    centre = np.interp(np.arange(n + 1), ends[:, 0], ends[:, 1])
    low, high = (np.clip(np.rint(centre).astype(np.int64) + by, 0, m) for by in (-width, width))
    low[0], high[-1] = 0, m
    low, high = np.minimum.accumulate(low[::-1])[::-1].copy(), np.maximum.accumulate(high)
    high[:-1] = np.maximum(high[:-1], low[1:])  # where many target sentences have no counterpart
    return low, high


def _first_path(document: Document) -> Beads:
    """Returns the best path by lengths alone: of merged sentences first if there are many."""
    n, m = map(len, document)
    size = 1
    while -(-n // size) * -(-m // size) > _FULL_CELLS:
        size *= _COARSER
    whole = np.zeros(-(-n // size) + 1, np.int64), np.full(-(-n // size) + 1, -(-m // size))
    path: Beads | None = None
    while True:
        units = document if size == 1 else (document[0].merged(size), document[1].merged(size))
        band = whole if path is None else _band(units, path, 2 * _WIDTH)
        if size == 1:
            return _searched(units, band, None)[0]
        path, _ = _searched(units, band, None, kinds=_COARSE_KINDS, deletion=_COARSE_DELETION)
        size //= _COARSER
        path = np.minimum(path * _COARSER, [-(-n // size)] * 2 + [-(-m // size)] * 2)
