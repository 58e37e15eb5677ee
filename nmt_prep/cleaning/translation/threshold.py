"""The threshold of the rule ``translation``, from the scores of the pairs and of pairs that do not belong together.

The scores of a corpus are a mixture: a share of its pairs is misaligned, and scores like pairs whose targets were
exchanged at random ("re-paired"). With F(t) for the share of real pairs below a score t and N(t) for the share of
re-paired ones, F(t) = (1 - noise) C(t) + noise N(t), where C(t) is the share of clean pairs below t. Where N(t) is
large and C(t) is still zero, F(t) / N(t) is the share of noise, and it is larger everywhere else. So the share of noise
is the smallest F(t) / N(t), and C(t), the share of clean pairs that a threshold t would lose, follows from it. Because
the smallest of many estimates is one with a large error, half its standard error is added to each before they are
compared, and the estimate for the highest score that is no larger than the smallest sum is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FOUND = 0.98
"""Share of the misaligned pairs that the threshold finds, unless it would lose too many clean pairs."""

LOST = 0.005
"""Greatest share of the clean pairs that the threshold may lose, by estimate."""

_SEEN = 0.5
"""Least share of the re-paired pairs below a score that may tell the share of noise. The lowest scores tell less,
because not all noise scores like re-paired pairs."""

Shares: TypeAlias = "npt.NDArray[np.float64]"


@dataclass(frozen=True)
class AutoThreshold:
    """A threshold and what is expected of it.

    Attributes:
        score: the lowest score that passes.
        noise: estimated share of misaligned pairs in the corpus.
        found: estimated share of the misaligned pairs that have lower scores.
        lost: estimated share of the clean pairs that have lower scores.
    """

    score: float
    noise: float
    found: float
    lost: float


def auto_threshold(edges: Sequence[float], real: Sequence[int], repaired: Sequence[int]) -> AutoThreshold:
    """Returns the threshold that separates the misaligned pairs of a corpus from the others.

    It is the lowest edge below which :data:`FOUND` of the re-paired pairs are. It is higher if that finds more
    misaligned pairs than it loses clean ones, and lower if it would lose more than :data:`LOST` of the clean pairs.

    Args:
        edges: ascending edges of the bins of both histograms.
        real: number of pairs of the corpus in each bin.
        repaired: number of re-paired pairs in each bin; at least one pair.
    """
    noise, noisy, lost = _mixture(real, repaired)
    wanted = int(np.argmax(noisy >= FOUND))
    highest = int(np.flatnonzero(lost <= LOST)[-1])
    chosen = min(wanted, highest)
    if chosen == wanted:
        gain = noise * noisy - (1 - noise) * lost  # misaligned pairs found less clean pairs lost, as shares of all
        chosen += int(np.argmax(gain[wanted : highest + 1]))
    return AutoThreshold(float(edges[chosen]), noise, float(noisy[chosen]), float(lost[chosen]))


def expected(edges: Sequence[float], real: Sequence[int], repaired: Sequence[int], score: float) -> AutoThreshold:
    """Returns what is expected of a given threshold; see :func:`auto_threshold`. It counts whole bins."""
    noise, noisy, lost = _mixture(real, repaired)
    place = min(int(np.searchsorted(np.asarray(edges), score)), len(noisy) - 1)
    return AutoThreshold(score, noise, float(noisy[place]), float(lost[place]))


def _mixture(real: Sequence[int], repaired: Sequence[int]) -> tuple[float, Shares, Shares]:
    """Returns the share of noise, and the shares of re-paired and of clean pairs below each edge."""
    pairs, others = max(sum(real), 1), max(sum(repaired), 1)
    below, noisy = _below(real), _below(repaired)
    telling = noisy >= _SEEN
    f, n = below[telling], noisy[telling]
    ratios = f / n
    errors = np.sqrt(f * (1 - f) / pairs + 1 / pairs**2) / n + ratios * np.sqrt((1 - n) / (n * others))
    noise = min(float(ratios[ratios <= np.min(ratios + errors / 2)][-1]), 1.0)
    if noise == 1.0:
        return noise, noisy, np.zeros(len(below))
    clean = np.clip((below - noise * noisy) / (1 - noise), 0, 1)
    return noise, noisy, np.minimum.accumulate(clean[::-1])[::-1]  # never falls from one edge to the next


def _below(counts: Sequence[int]) -> Shares:
    """Returns the share of the pairs below each edge."""
    sums = np.concatenate([[0], np.cumsum(np.asarray(counts, np.int64))])
    return sums / max(int(sums[-1]), 1)
