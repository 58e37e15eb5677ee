"""Rule ``adequacy``: its options, and its threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from nmt_prep.cleaning.corpus_rules.translation import AutoThreshold, Shares, Tail, TranslationOptions, shares_below

ADEQUACY = "adequacy"  # The name of the rule and its score

_TAIL = 0.5
"""Share of the pairs, the lowest values first, to which the shares of complete and incomplete pairs are fitted."""

_MERGED = 5  # Number of fine bins that are fitted as one

_FIRST_SHARE, _ITERATIONS = 0.02, 150

_CLEARLY = 2  # The threshold drops values at which this many incomplete pairs are expected for each complete one

_LOST = 0.0075
"""Greatest share of the complete pairs that the threshold may lose, by estimate; the true share is a little greater."""

_LOST_ANYWAY = 0.001
"""Estimated share of the complete pairs that may always be lost, because the lowest values belong to incomplete
pairs."""


class AdequacyOptions(TranslationOptions):
    """The model that judges pairs, and the lowest value that passes."""

    min: Literal["auto"] | Annotated[float, Field(strict=False)] = "auto"
    """a number, or auto: the lowest value that passes; auto drops pairs that are more likely incomplete than complete,
    by the corpus's values, and loses about 1 % of the complete pairs or fewer"""
    model: str | None = Field(None, min_length=1)
    """a path, or null to learn from the corpora: a model that nmt-prep align --adequacy --save wrote; with learn: true,
    one that nmt-prep align --save wrote"""
    written_by: ClassVar[str] = "nmt-prep align --adequacy --save"


def incomplete_threshold(
    edges: Sequence[float], real: Sequence[int], defective: Sequence[Sequence[int]], score: float | None = None
) -> AutoThreshold:
    """Returns the highest threshold below which pairs are incomplete rather than complete, with estimates.

    A corpus's values are a mixture: values of complete pairs, whose lower tail is a
    :class:`~nmt_prep.cleaning.corpus_rules.translation.Tail`, and values of incomplete pairs. The values for a kind of
    defect are distributed like the values of pairs made with this defect. Expectation maximization finds the shares and
    the tail that make the lower half of the values most likely.

    Args:
        edges: ascending bin edges of all histograms, all bins with the same width; 5 bins are fitted as one.
        score: a given threshold to make estimates for; None to find it.
    """
    counts = _merged(real)
    pairs = max(float(counts.sum()), 1.0)
    shapes = np.array([bins / bins.sum() for bins in map(_merged, defective) if bins.sum()])
    end = min(max(int(np.searchsorted(shares_below(counts), _TAIL)), 3), len(counts))
    scores = (edges[_MERGED] - edges[0]) * np.arange(1 - end, 1, dtype=np.float64)
    tail = Tail(scores, max(float(counts[max(end - 10, 0) : end].mean()), 1e-3))
    shares, unseen = np.full(len(shapes), _FIRST_SHARE / len(shapes)), 1 - shapes[:, :end].sum(axis=1)
    for _ in range(_ITERATIONS):
        incomplete = pairs * (shares[:, None] * shapes[:, :end]).sum(axis=0)
        tail.improve(counts[:end], incomplete, 0)
        of_expected = counts[:end] / (tail.expected + incomplete + 1e-12)
        shares *= (shapes[:, :end] * of_expected).sum(axis=1) + unseen
    noise = min(float(shares.sum()), 1.0)
    bad = shares_below((shares[:, None] * shapes).sum(axis=0))
    complete = tail.expected
    lost = np.minimum(np.cumsum(np.append(0.0, complete)) / max((1 - noise) * pairs, 1.0), 1.0)
    clear = np.append(True, pairs * np.diff(noise * bad)[:end] >= _CLEARLY * complete)
    place = int(np.flatnonzero((lost <= _LOST_ANYWAY) | (clear & (lost <= _LOST)))[-1])
    if score is not None:
        place = min(int(np.searchsorted(edges[::_MERGED], score)), len(bad) - 1)
    gone = lost[place] if place <= end else shares_below(counts)[place]
    estimates = (round(float(value), 6) for value in (noise, bad[place], gone))
    return AutoThreshold(edges[place * _MERGED] if score is None else score, *estimates)


def _merged(bins: Sequence[int]) -> Shares:
    return np.asarray(np.reshape(bins, (-1, _MERGED)).sum(axis=1), np.float64)
