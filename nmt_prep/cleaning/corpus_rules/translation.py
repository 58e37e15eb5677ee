"""Rule ``translation``: its options, and its threshold, which is estimated from pairs with exchanged targets.

A corpus's scores are a mixture: a share of its pairs is misaligned, and scores like pairs whose targets were
exchanged at random ("re-paired"); the others are clean. What a threshold loses is the lower tail of the clean scores,
which is mostly hidden below the misaligned pairs. So the tail is modelled: its logarithm is a parabola that opens
downwards, or a line. It is fitted, by maximum likelihood, to the counts of scores that few misaligned pairs reach, and
continued to lower scores. All further pairs with lower scores count as misaligned. The mean and the deviation of the
misaligned scores are estimated at the same time, from the corpus's scores and the scores of re-paired pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import Field

from nmt_prep.cleaning.rule import Bounds
from nmt_prep.config import Section
from nmt_prep.config.section import Count

TRANSLATION = "translation"  # The name of the rule and its score
SCORE_EDGES = tuple(round(number / 10, 1) for number in range(-80, 161))  # Edges of score histograms

_TRIES = 16

Numbers: TypeAlias = "npt.NDArray[np.int64]"
Keys: TypeAlias = "npt.NDArray[np.uint64]"


class TranslationOptions(Section):
    """The model that scores pairs, and the lowest score that passes."""

    min: Literal["auto"] | Annotated[float, Field(strict=False)] = "auto"
    """a number, or auto: the lowest score that passes; auto finds 98 % of pairs with exchanged targets, or fewer if
    more than 0.5 % of the clean pairs would be lost"""
    model: str | None = Field(None, min_length=1)
    """a path, or null to learn from the corpora: a model that nmt-prep align --save wrote"""
    learn: bool = False
    """true or false: learn from the corpora even if there is a model, and start from the model"""
    pairs: Count = Field(100_000, ge=1000)
    """an integer >= 1000: the maximum pair count per split to learn from, drawn at random"""
    action: Literal["drop", "report"] = "drop"
    """drop or report: report gives scores and estimates, and drops nothing"""

    written_by: ClassVar[str] = "nmt-prep align --save"
    """The command that writes models."""

    @property
    def lowest(self) -> float | None:
        """The lowest score that passes, if the config sets it."""
        return None if self.min == "auto" else self.min

    @property
    def learns(self) -> bool:
        """True if a model is learned from the corpora."""
        return self.model is None or self.learn

    def in_stream(self, base_dir: Path) -> tuple[Path, Bounds]:
        """Returns the file of the model and the scores that pass, for a stream."""
        path, lowest = self.model_file(base_dir), self.lowest
        if path is None or lowest is None:
            raise ValueError(
                f"without the whole corpus it needs a model, which {self.written_by} writes, and a number for min"
            )
        return path, Bounds(low=lowest if self.action == "drop" else -math.inf)

    def model_file(self, base_dir: Path) -> Path | None:
        """Returns the path of the config's model, if it names one."""
        return None if self.model is None else base_dir / Path(self.model).expanduser()


def other_targets(lengths: Numbers, order: Keys, sources: Keys, targets: Keys) -> tuple[Numbers, Numbers]:
    """Chooses a target for each pair's source from another pair whose target is about as long.

    The pairs are sorted by the length of their targets, and at random where these are equal. Each takes the target of
    the next pair. If that pair has the same source or the same target, it takes the one after it, and so on; a pair
    that finds none among the next 16 is left out. The pair with the longest target takes the one before it.

    Args:
        lengths: length of each target: int64, shape ``[pairs]``.
        order: random numbers, different for each pair: uint64.
        sources: keys of the sources: uint64; equal sources have equal keys.
        targets: keys of the targets: uint64.

    Returns:
        The indexes of the pairs whose sources are used, and for each the index of the pair whose target it gets.
    """
    # Targets of similar length make the hard case: a model tells sides of very different lengths apart too easily, and
    # the threshold would be too low for the misaligned pairs of a corpus, whose lengths often fit.
    count = len(lengths)
    places = np.lexsort((order, lengths))
    chosen = np.full(count, -1, np.int64)
    for step in range(1, min(_TRIES, count - 1) + 1):
        missing = np.flatnonzero(chosen < 0)
        near = missing + step
        near = np.where(near < count, near, missing - step)
        own, other = places[missing], places[near]
        fits = (sources[own] != sources[other]) & (targets[own] != targets[other])
        chosen[missing[fits]] = near[fits]
    found = np.flatnonzero(chosen >= 0)
    return places[found], places[chosen[found]]


THRESHOLD_VERSION = 2  # To be increased if the same scores would give another threshold
FOUND = 0.98  # Share of the misaligned pairs that the threshold finds, unless it would lose too many clean pairs
LOST = 0.005  # Greatest share of the clean pairs that the threshold may lose, by estimate

_LOST_FOR_MORE = LOST / 4
"""Greatest share of the clean pairs that the threshold may lose in order to find more than :data:`FOUND`."""

_BELOW_FIT = 0.9  # Share of the misaligned pairs with scores below those that the tail is fitted to
_TAIL = 0.5  # Approximate share of the clean pairs that belong to the tail

_SMOOTHED = 0.2
"""Standard deviation of the kernel that smooths the scores of re-paired pairs, which are fewer than others."""

_ITERATIONS = 40
_LONGEST_STEP = 1.0
_LEAST_FITTED_BINS = 3

Shares: TypeAlias = "npt.NDArray[np.float64]"


@dataclass(frozen=True)
class AutoThreshold:
    """A threshold, and estimates of its effect."""

    score: float  # the lowest score that passes
    noise: float  # estimated share of misaligned pairs in the corpus
    found: float  # estimated share of the misaligned pairs that have lower scores
    lost: float  # estimated share of the clean pairs that have lower scores


def auto_threshold(
    edges: Sequence[float],
    real: Sequence[int],
    repaired: Sequence[int],
    certain: int | None = None,
    score: float | None = None,
) -> AutoThreshold:
    """Returns the threshold that separates the misaligned pairs of a corpus from the others, with estimates.

    The threshold is the lowest edge with a share :data:`FOUND` of the re-paired pairs below it. It is lower if it would
    lose more than :data:`LOST` of the clean pairs. It is higher if this drops more misaligned than clean pairs
    in addition, and hardly any clean pairs.

    Args:
        edges: ascending bin edges of both histograms, all bins with the same width.
        certain: weight of the mean and the deviation of the re-paired pairs, as a number of scores; their number by
            default.
        score: a given threshold to make estimates for, in whole bins; None to find it.
    """
    # `certain` also weighs the given scores against those of the corpus when their mean is estimated. Estimates of gain
    # are rounded before they are compared, so that the last bits, which differ between processors, decide nothing.
    mixture = _Mixture(edges, real, repaired, certain)
    noise, noisy, lost = mixture.noise, mixture.noisy, mixture.lost
    if score is not None:
        return mixture.at(score, min(int(np.searchsorted(np.asarray(edges), score)), len(edges) - 1))
    wanted = int(np.argmax(noisy >= FOUND))
    chosen = min(wanted, _last(lost <= LOST))
    if chosen == wanted:
        highest = max(wanted, _last(lost <= _LOST_FOR_MORE))
        gain = noise * noisy - (1 - noise) * lost  # misaligned pairs found less clean pairs lost, as shares of all
        chosen += int(np.argmax(np.round(gain[wanted : highest + 1], 6)))
    return mixture.at(float(edges[chosen]), chosen)


class _Mixture:
    """The estimated parts of a corpus.

    Attributes:
        noise: the share of misaligned pairs.
        noisy: the share of the misaligned pairs below each edge.
        lost: the share of the clean pairs below each edge
    """

    def __init__(
        self, edges: Sequence[float], real: Sequence[int], repaired: Sequence[int], certain: int | None
    ) -> None:
        # First guess: half of the misaligned pairs score below their median, and hardly any clean ones, so the noise is
        # the corpus's share below this median, divided by theirs. The bins up to `end` hold the noise and the lower
        # half of the clean pairs, which is what the tail describes.
        width = (edges[-1] - edges[0]) / (len(edges) - 1)
        counts, shape = np.asarray(real, np.float64), np.asarray(repaired, np.float64)
        misaligned = _Misaligned(_smoothed(shape, _SMOOTHED / width), sum(repaired) if certain is None else certain)
        pairs, below = max(float(counts.sum()), 1.0), shares_below(counts)
        middle = int(np.argmax(misaligned.below >= 0.5))
        noise = min(below[middle] / misaligned.below[middle], 1.0)
        end = min(int(np.searchsorted(below, noise + (1 - noise) * _TAIL)) + 1, len(counts))
        end = max(end, _LEAST_FITTED_BINS)
        tail = Tail(width * np.arange(1 - end, 1, dtype=np.float64), max((1 - noise) * pairs * _TAIL * width, 1e-9))
        # Each round fits the tail where few misaligned pairs score (from `begin` on), takes what the tail leaves below
        # as noise, and moves the misaligned distribution to the scores that are then expected to be theirs.
        for _ in range(_ITERATIONS):
            begin = min(int(np.searchsorted(misaligned.below, _BELOW_FIT)), end - _LEAST_FITTED_BINS)
            noisy = noise * pairs * misaligned.density
            tail.improve(counts[:end], noisy[:end], begin)
            clean = tail.expected
            rest = below[begin] - clean[:begin].sum() / pairs
            noise = float(np.clip(rest / max(misaligned.below[begin], 1e-9), 0, 1))
            noisy = noise * pairs * misaligned.density
            noisy[:end] *= counts[:end] / (clean + noisy[:end] + 1e-12)
            misaligned.refit(noisy)
        # Above the fitted bins, the clean pairs are all but the noise; within them, the tail gives their number.
        lost = (below - noise * misaligned.below) / max(1 - noise, 1 / pairs)
        lost[: end + 1] = _sums(clean) / max((1 - noise) * pairs, 1.0)
        self.noise, self.noisy = noise, misaligned.below
        self.lost = np.minimum(np.maximum.accumulate(lost), 1.0)  # never falls from one edge to the next

    def at(self, score: float, place: int) -> AutoThreshold:
        """Returns the estimates for a score and its index among the edges."""
        noise, found, lost = (round(float(each), 6) for each in (self.noise, self.noisy[place], self.lost[place]))
        return AutoThreshold(score, noise, found, lost)


class _Misaligned:
    """The distribution of misaligned pairs' scores: the scores of re-paired pairs, moved and stretched.

    Attributes:
        density: the share of the pairs in each bin.
        below: the share of the pairs below each edge.
    """

    def __init__(self, shape: Shares, certain: int) -> None:
        self._places = np.arange(len(shape), dtype=np.float64)
        self._shape = shape / max(float(shape.sum()), 1e-9)
        self._mean, self._variance = self._moments(self._shape)
        self._certain = certain
        self.density, self.below = self._shape, shares_below(self._shape)

    def refit(self, counts: Shares) -> None:
        """Moves and stretches the distribution."""
        # Mean and variance are pooled from the expected counts in the corpus and from `certain` re-paired scores: a
        # corpus with little noise says little about it, and keeps the distribution where the re-paired pairs put it.
        total = float(counts.sum()) + self._certain
        if total <= 0:
            return
        mean, variance = self._moments(counts)
        own, known = counts.sum() / total, self._certain / total
        center = own * mean + known * self._mean
        spread = own * (variance + (mean - center) ** 2) + known * (self._variance + (self._mean - center) ** 2)
        stretched = np.sqrt(max(self._variance, 1e-9) / max(spread, 1e-9))
        edges = np.arange(len(self._shape) + 1) - 0.5
        at = (edges - center) * stretched + self._mean
        self.below = np.interp(at, edges, shares_below(self._shape), left=0.0, right=1.0)
        self.below[0], self.below[-1] = 0.0, 1.0
        self.density = np.diff(self.below)

    def _moments(self, counts: Shares) -> tuple[float, float]:
        total = max(float(counts.sum()), 1e-9)
        mean = float((counts * self._places).sum()) / total
        return mean, float((counts * (self._places - mean) ** 2).sum()) / total


class Tail:
    """The numbers of clean pairs in the lower bins: exp(a + b x + c x²), where c is not positive."""

    def __init__(self, scores: Shares, highest: float) -> None:
        self._terms = np.stack([np.ones_like(scores), scores, scores * scores], axis=1)
        self._weights = np.array([np.log(highest), 1.0, 0.0])

    @property
    def expected(self) -> Shares:
        """The expected number of clean pairs in each bin."""
        expected: Shares = np.exp(np.clip(self._terms @ self._weights, -50, 50))
        return expected

    def improve(self, counts: Shares, noise: Shares, begin: int) -> None:
        """Improves the fit to the counts by one step of expectation maximization, which contains one Newton step."""
        # Poisson regression of the clean counts on 1, x and x². Steps are clipped, since a full Newton step from a poor
        # start may diverge. If the step would make c positive, so that the tail rises again towards low scores, c is
        # set to 0 and a line is fitted instead.
        clean = self.expected
        clean_counts = counts * clean / (clean + noise + 1e-12)
        terms, seen = self._terms[begin:], clean[begin:]
        gradient = terms.T @ (clean_counts[begin:] - seen)
        curvature = (terms.T * seen) @ terms + 1e-9 * np.eye(3)
        step = _step(curvature, gradient)
        if self._weights[2] + step[2] > 0:
            step = np.append(_step(curvature[:2, :2], gradient[:2]), -self._weights[2])
        self._weights = self._weights + step


def _step(curvature: Shares, gradient: Shares) -> Shares:
    solved = np.linalg.solve(curvature, gradient).astype(np.float64)
    return np.clip(solved, -_LONGEST_STEP, _LONGEST_STEP)


def _smoothed(shares: Shares, deviation: float) -> Shares:
    """Returns shares smoothed by a Gaussian kernel; the first and the last bin get the shares beyond the ends."""
    reach = int(4 * deviation)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / max(deviation, 1e-9)) ** 2)
    wide = np.convolve(shares, kernel / kernel.sum())
    inner: Shares = wide[reach : reach + len(shares)]
    inner[0] += wide[:reach].sum()
    inner[-1] += wide[reach + len(shares) :].sum()
    return inner


def shares_below(counts: Shares) -> Shares:
    """Returns the share of the counts below each edge."""
    sums = _sums(counts)
    return sums / max(float(sums[-1]), 1e-9)


def _sums(counts: Shares) -> Shares:
    return np.concatenate([[0.0], np.cumsum(counts)])


def _last(true: npt.NDArray[np.bool_]) -> int:
    """Returns the index of the last true value; the first is true."""
    return int(np.flatnonzero(true)[-1])
