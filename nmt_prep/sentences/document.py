"""Documents as the aligner of sentences reads them: words as numbers, and lengths in characters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import SentenceSide

from nmt_prep.align.vocabulary import Integers

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


@dataclass(frozen=True)
class Document:
    """Both sides of a document."""

    source: Sentences
    target: Sentences


@dataclass(frozen=True)
class LengthModel:
    """How lengths of translations are distributed; see ``core/sentences/lengths.h``."""

    ratio: float
    variance: float
    source_gamma: tuple[float, float]
    target_gamma: tuple[float, float]


def lengths_of(lines: pa.Array) -> Lengths:
    """Returns the characters of each sentence without spaces, at least 1: float64, shape ``[sentences]``."""
    characters = pc.utf8_length(pc.replace_substring(lines, " ", ""))
    lengths: Lengths = np.maximum(characters.to_numpy(zero_copy_only=False), 1).astype(np.float64)
    return lengths


def calibrated(document: Document, beads: Beads | None) -> LengthModel:
    """Returns the model of the lengths of a document.

    Args:
        document: the document.
        beads: an earlier path, whose beads of one sentence a side tell ratio and variance; None if there is none.
    """
    source, target = document.source.lengths, document.target.lengths
    ratio, variance = float(target.sum()) / float(source.sum()), _FIRST_VARIANCE
    if beads is not None:
        single = beads[(beads[:, 1] - beads[:, 0] == 1) & (beads[:, 3] - beads[:, 2] == 1)]
        if len(single) > _LEAST_CALIBRATED:
            x, y = source[single[:, 0]], target[single[:, 2]]
            ratio = float(np.median(y / x)) if len(single) < _FEW_BEADS else float(y.sum()) / float(x.sum())
            squares = (y - ratio * x) ** 2 / (ratio * np.maximum(x, _SHORTEST))
            variance = max(_LEAST_VARIANCE, float(np.median(squares)) / _MEDIAN_SQUARE)
    return LengthModel(ratio, variance, _gamma(source), _gamma(target))


def _gamma(lengths: Lengths) -> tuple[float, float]:
    """Returns shape and scale of the gamma distribution with the mean and variance of lengths."""
    mean = float(lengths.sum()) / len(lengths)  # sums of whole numbers are exact
    variance = float((lengths * lengths).sum()) / len(lengths) - mean * mean + 1
    return mean * mean / variance, variance / mean
