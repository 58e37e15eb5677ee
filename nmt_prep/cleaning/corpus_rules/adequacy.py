"""Rule ``adequacy``: its options, and its threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from nmt_prep.cleaning.corpus_rules.threshold import AutoThreshold
from nmt_prep.cleaning.corpus_rules.translation import TranslationOptions

ADEQUACY = "adequacy"
"""The name of the rule, and of its score."""

_FEWEST = 5
"""Fewest pairs below an edge that tell the share of incomplete pairs."""

_FEWEST_DEFECTIVE = 50
"""Fewest pairs with a defect that tell how frequent it is."""

_LOST = 0.004
"""Greatest share of the complete pairs that the threshold may lose, by estimate; really, it is a little more."""


class AdequacyOptions(TranslationOptions):
    """The model that judges pairs, and the lowest value that passes."""

    min: Literal["auto"] | Annotated[float, Field(strict=False)] = "auto"
    """a number, or auto: the lowest value that passes; auto loses about 0.5 to 1 % of the complete pairs or fewer"""
    model: str | None = Field(None, min_length=1)
    """a path, or null to learn from the corpora: a model that nmt-prep align --adequacy --save wrote; with learn: true,
    one that nmt-prep align --save wrote"""


def incomplete_threshold(
    edges: Sequence[float], real: Sequence[int], defective: Sequence[Sequence[int]], score: float | None = None
) -> AutoThreshold:
    """Returns the highest threshold that loses few complete pairs, with estimates.

    The share of pairs with a defect is at most the number of pairs below an edge, divided by the share of the pairs
    made with this defect below it. The least of these bounds counts, and of the defects the most frequent one. The
    other pairs below an edge are complete, and at most :data:`_LOST` of the complete pairs may be lost. Where the
    incomplete pairs of a corpus are many, the classifier took them for good ones; then they are less clear than those
    that were made, their share is estimated too low, and the threshold is lower than it could be.

    Args:
        edges: ascending edges of the bins of all histograms.
        real: number of pairs of the corpus in each bin.
        defective: for each defect the number of pairs in each bin that were made with it; at least one pair in all.
        score: a given threshold, for which the estimates are; None to find it.
    """
    counts, pairs = _sums(real), max(sum(real), 1)
    noise, bad = 0.0, _sums([sum(bins) for bins in zip(*defective, strict=True)])
    bad /= bad[-1]
    for bins in defective:
        shares = _sums(bins) / max(sum(bins), 1)
        known = (counts >= _FEWEST) & (shares > 0)
        if sum(bins) >= _FEWEST_DEFECTIVE and known.any():
            bound = min(float((counts[known] / pairs / shares[known]).min()), 1.0)
            noise, bad = max((noise, bad), (bound, shares), key=lambda found: found[0])
    lost = np.clip(np.maximum.accumulate(counts / pairs - noise * bad), 0, 1) / max(1 - noise, 1 / pairs)
    place = int(np.flatnonzero(lost <= _LOST)[-1]) if score is None else int(np.searchsorted(edges, score))
    place = min(place, len(edges) - 1)
    estimates = (round(float(value), 6) for value in (noise, bad[place], min(lost[place], 1.0)))
    return AutoThreshold(float(edges[place]) if score is None else score, *estimates)


def _sums(bins: Sequence[int]) -> npt.NDArray[np.float64]:
    """Returns the number of values below each edge."""
    return np.concatenate([[0.0], np.cumsum(np.asarray(bins, np.float64))])
