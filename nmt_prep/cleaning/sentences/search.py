"""Finds the best path of beads through a document, by its sentences' lengths and by known word links.

A first path follows from lengths alone, coarse to fine for long documents. Later paths are found within a band around
the previous path (see ``core/sentences/path.h``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import BeadCounts, SentenceSide, WordLinks, align_sentences

from nmt_prep.cleaning.align.word_vocabulary import Integers

Lengths: TypeAlias = "npt.NDArray[np.float64]"
Beads: TypeAlias = Integers
"""Beads in order: int64, shape ``[beads, 4]``. Rows are ``source, source_end, target, target_end``: bead 0 joins the
source sentences from ``source`` to before ``source_end`` with the target sentences from ``target`` to before
``target_end``; one of the sides may be empty."""

_LEAST_VARIANCE = 0.3
_FIRST_VARIANCE = 6.8
"""Initial variance of a translation's length, per source character (Gale and Church, 1993)."""

_MEDIAN_SQUARE = 0.549  # Median of a squared variable with Student's distribution (4 degrees of freedom)
_LEAST_CALIBRATED = 20  # Minimum number of beads with one sentence per side from which the variance is calibrated

_FEW_BEADS = 100
_SHORTEST = 5.0


@dataclass(frozen=True)
class Sentences:
    """The sentences on one side of a document."""

    words: npt.NDArray[np.int32]  # numbers of all words: int32
    offsets: Integers  # sentence i has `words[offsets[i]:offsets[i + 1]]`: int64, shape `[sentences + 1]`
    lengths: Lengths  # characters of each sentence without spaces, at least 1: float64, shape `[sentences]`
    cut: int = 0  # number of sentences that have more words than these

    def __len__(self) -> int:
        return len(self.lengths)

    def native(self) -> SentenceSide:
        """Returns the side as arguments of the native core."""
        return SentenceSide(self.words, self.offsets, self.lengths)

    @classmethod
    def without_words(cls, lengths: Lengths) -> Sentences:
        """Returns sentences of which only the lengths are known."""
        return cls(np.zeros(0, np.int32), np.zeros(len(lengths) + 1, np.int64), lengths)

    def merged(self, size: int) -> Sentences:
        """Returns units of ``size`` consecutive sentences each; the last one may be shorter."""
        starts = np.arange(0, len(self), size)
        offsets = np.append(self.offsets[:-1][starts], self.offsets[-1])
        return Sentences(self.words, offsets, np.add.reduceat(self.lengths, starts))


Document: TypeAlias = "tuple[Sentences, Sentences]"  # Both sides of a document


def lengths_of(lines: pa.Array) -> Lengths:
    """Returns each sentence's characters without spaces, at least 1: float64, shape ``[sentences]``."""
    characters = pc.utf8_length(pc.replace_substring(lines, " ", ""))
    lengths: Lengths = np.maximum(characters.to_numpy(zero_copy_only=False), 1).astype(np.float64)
    return lengths


def calibrated(
    document: Document, beads: Beads | None
) -> tuple[float, float, tuple[float, float], tuple[float, float]]:
    """Returns how translation lengths are distributed: ratio, variance, and gamma distributions for both sides.

    ``core/sentences/lengths.h`` describes the model.
    """
    # One-to-one beads of an earlier path give ratio and variance. Some of these beads are wrong and have arbitrary
    # lengths, so the median of the squared deviations is taken, divided by the median that Student's distribution has.
    # Few beads also give the median ratio; with many, the ratio of the sums has less variance.
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
    """Returns shape and scale of the gamma distribution with the lengths' mean and variance."""
    mean = float(lengths.sum()) / len(lengths)  # sums of whole numbers are exact
    variance = float((lengths * lengths).sum()) / len(lengths) - mean * mean + 1
    return mean * mean / variance, variance / mean


KINDS = ((1, 1), *((1, n) for n in range(2, 6)), *((n, 1) for n in range(2, 6)), (2, 2), (2, 3), (3, 2), (3, 3))
"""Sentence counts of beads with both sides."""

DELETION = -7.0  # Lowest log probability of a sentence without counterpart after a sentence with one

_MOST_DELETION = -4.0
_DELETION_BELOW_SHARE = -0.5
_PRIOR_BEADS = 1000
"""Pseudo-count of beads added to a path's beads; one of these beads precedes a sentence without counterpart."""

_PRIOR_PAIRED = 100  # Pseudo-count of expected bead kinds that is added to a path's beads

_LEAST_SEVERAL, _MOST_SEVERAL = -3.0, 1.0

EXTENSION = -1.5  # Log probability of a sentence without counterpart that follows another such sentence

_COARSE_KINDS = ((1, 1), (1, 2), (2, 1), (2, 2))
_COARSE_DELETION = -3.0

_PSEUDO_COUNT = 2.0  # Pseudo-count of each word's links with all words on the other side, spread by their shares
_MIXED = 0.2  # Minimum probability of a word, divided by its share in the text

_WINDOW = 50
"""Number of sentences before and after a sentence that also predict its words; they weigh less than words of the
bead."""

_BACKGROUND = 3000.0
"""How many words from all documents are added to the window's words to estimate a word's share."""

_WORD_WEIGHT = 0.25  # Weight of words' log probabilities: words in a sentence are not independent of each other
_FREE = -5.0  # Minimum score of a bead's words: the score of a free translation, whose words carry no information
WIDTH = 40  # Sentences on each side of the previous path that a path may pass. It exceeds most gaps.

_WIDEST = 1000
_REACH = 10
"""Distance, in widths of the band, from a point where a path touches the edge, within which the band is widened."""

_MOST_CELLS = 250_000_000  # Maximum cell count of a widened band: the search takes a byte for each
_FULL_CELLS = 3_000_000  # Maximum number of cells that the first pass searches as a whole
FIRST_WORD_WIDTH = 80  # The same for the first pass with words: lengths alone may misplace a long passage

_COARSER = 4

_Kinds: TypeAlias = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class KnownWords:
    """Links and shares of a document's words."""

    source: WordLinks  # source word links, and target word shares
    target: WordLinks  # target word links, and source word shares
    bead_counts: BeadCounts  # the counts that each bead of the earlier path added to the model


def _priors(kinds: _Kinds) -> npt.NDArray[np.float64]:
    """Returns each bead kind's log probability, up to a constant: fewer sentences are more probable."""
    return np.array([-0.15 if a + b == 2 else 0.4 - a - b for a, b in kinds])


@dataclass(frozen=True)
class Priors:
    """Prior probabilities of bead kinds."""

    deletion: float = DELETION  # log probability of a sentence without counterpart
    several: float = 0.0  # number added to the log probability of each bead kind with more than one sentence per side


USUAL = Priors()  # The priors before any path is known


@dataclass(frozen=True)
class BeadTotals:
    """Bead counts of some paths."""

    gaps: int  # how many runs of sentences without counterpart
    paired: int  # number of beads with both sides
    single: int  # how many beads with one sentence per side

    @classmethod
    def of(cls, paths: Iterable[Beads]) -> BeadTotals:
        gaps = paired = single = 0
        for path in paths:
            source, target = path[:, 1] - path[:, 0], path[:, 3] - path[:, 2]
            alone = (source == 0) | (target == 0)
            gaps += int(np.count_nonzero(np.diff(alone.astype(np.int8), prepend=0) == 1))
            paired += int(np.count_nonzero(~alone))
            single += int(np.count_nonzero((source == 1) & (target == 1)))
        return cls(gaps, paired, single)

    @classmethod
    def sum(cls, totals: Iterable[BeadTotals]) -> BeadTotals:
        every = list(totals)
        return cls(*(sum(getattr(one, name) for one in every) for name in ("gaps", "paired", "single")))

    def priors(self) -> Priors:
        """Returns the priors for the next path that follow from these beads."""
        # Pseudo-counts keep the priors of short documents near the usual ones, and the limits keep a bad path from
        # confirming itself: many wrong gaps would make gaps cheap. `odds / usual` is how much more often beads of
        # several sentences occur than their usual priors say. Rounding makes the result the same on all processors.
        share = (self.gaps + 1) / (self.paired + _PRIOR_BEADS)
        deletion = min(max(round(math.log(share), 6) + _DELETION_BELOW_SHARE, DELETION), _MOST_DELETION)
        single, *others = np.exp(_priors(KINDS)).tolist()
        usual = math.fsum(others) / single
        expected = _PRIOR_PAIRED / (1 + usual)
        odds = (self.paired - self.single + expected * usual) / (self.single + expected)
        several = min(max(round(math.log(odds / usual), 6), _LEAST_SEVERAL), _MOST_SEVERAL)
        return Priors(deletion, several)


def path_by_lengths(source: Lengths, target: Lengths) -> Beads:
    """Returns the best path by lengths alone, searched again with the ratio and variance of the first path."""
    document = Sentences.without_words(source), Sentences.without_words(target)
    return path_near(document, _first_path(document))


def path_near(
    document: Document,
    before: Beads,
    known: KnownWords | None = None,
    priors: Priors = USUAL,
    width: int = WIDTH,
) -> Beads:
    """Returns the best path near another one, by lengths alone unless words are known."""
    # A path that touches the edge of its band may want to leave it, so the band is widened there, and the search is
    # repeated. It ends because widths only grow, up to `_WIDEST`, and cells are bounded.
    widths = np.full(len(document[0]) + 1, width)
    while True:
        band = _band(document, before, widths)
        beads = _searched(document, band, before, known, priors=priors)
        wider = _widened(widths, beads, band)
        if (wider == widths).all() or 2 * int(wider.sum()) > _MOST_CELLS:
            return beads
        widths = wider


def _widened(widths: Integers, beads: Beads, band: tuple[Integers, Integers]) -> Integers:
    """Returns a band's widths, doubled around the points where a path touches its edge."""
    # Edges that are also edges of the document do not count. `changes` holds +1 where a stretch to widen begins and -1
    # after its end, so the cumulative sum is positive within any of the stretches, which may overlap.
    low, high = band
    places, targets = beads[:, 1], beads[:, 3]
    at_low = (targets == low[places]) & (targets > 0) & (places < len(low) - 1)
    at_high = (targets == high[places]) & (targets < high[-1]) & (places > 0)
    touched = places[at_low | at_high]
    changes = np.zeros(len(widths) + 1, np.int64)
    reach = _REACH * widths[touched]
    np.add.at(changes, np.maximum(touched - reach, 0), 1)
    np.add.at(changes, np.minimum(touched + reach + 1, len(widths)), -1)
    return np.where(np.cumsum(changes[:-1]) > 0, np.minimum(2 * widths, np.maximum(widths, _WIDEST)), widths)


def _searched(
    document: Document,
    band: tuple[Integers, Integers],
    before: Beads | None,
    known: KnownWords | None = None,
    kinds: _Kinds = KINDS,
    priors: Priors = USUAL,
) -> Beads:
    ratio, variance, source_gamma, target_gamma = calibrated(document, before)
    source_links, target_links, bead_counts = (
        (None, None, None) if known is None else (known.source, known.target, known.bead_counts)
    )
    beads = align_sentences(
        document[0].native(),
        document[1].native(),
        *band,
        np.array(kinds, np.int32),
        _priors(kinds) + np.array([0.0 if kind == (1, 1) else priors.several for kind in kinds]),
        priors.deletion,
        max(priors.deletion, EXTENSION),
        ratio,
        variance,
        source_gamma,
        target_gamma,
        source_links,
        target_links,
        bead_counts,
        _PSEUDO_COUNT,
        _MIXED,
        _WINDOW,
        _BACKGROUND,
        _WORD_WEIGHT,
        _FREE,
    )
    return beads.reshape(-1, 4)


def _band(document: Document, path: Beads, width: Integers | int) -> tuple[Integers, Integers]:
    """Returns the range of target sentences that may precede each source boundary, around a path."""
    # The core needs a band whose edges never fall, that begins at (0, 0) and ends at (n, m), and in which the ranges of
    # neighboring boundaries overlap, so that some path leads through. The last three lines see to it.
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
    # A search of all cells is quadratic. So 4^k sentences become one unit, until all cells of the units can be searched
    # at once; each finer level is searched in a band around the path of the coarser one. In units, what looks like a
    # sentence without counterpart is mostly a shift within the units, so it is cheaper there.
    n, m = map(len, document)
    size = 1
    while -(-n // size) * -(-m // size) > _FULL_CELLS:
        size *= _COARSER
    whole = np.zeros(-(-n // size) + 1, np.int64), np.full(-(-n // size) + 1, -(-m // size))
    path: Beads | None = None
    while True:
        units = document if size == 1 else (document[0].merged(size), document[1].merged(size))
        band = whole if path is None else _band(units, path, 2 * WIDTH)
        if size == 1:
            return _searched(units, band, None, kinds=_COARSE_KINDS)
        path = _searched(units, band, None, kinds=_COARSE_KINDS, priors=Priors(_COARSE_DELETION))
        size //= _COARSER
        path = np.minimum(path * _COARSER, [-(-n // size)] * 2 + [-(-m // size)] * 2)
