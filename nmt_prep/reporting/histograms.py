"""Histograms of the report: lengths on a logarithmic scale, ratios of lengths, and their sums over a split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.reporting.summary import UNITS, Json
from nmt_prep.sides import SIDES

LENGTH_EDGES = (*range(1, 8), *(step << octave for octave in range(1, 19) for step in (4, 5, 6, 7)))
"""First length of each bin. Lengths of 1 to 8 have a bin each, then an octave has four; the last bin has no end."""

RATIO_EDGES = tuple(2.0 ** (step / 4) for step in range(-15, 16))
"""Upper ends of the bins of target length / source length, four an octave from 1/16 to 16; a last bin has no end."""

Numbers: TypeAlias = "npt.NDArray[np.integer[Any]]"


def length_bins(lengths: Numbers) -> npt.NDArray[np.int64]:
    """Returns the bin of each length, int64; the first bin for lengths below 1."""
    return np.maximum(np.searchsorted(LENGTH_EDGES, lengths, side="right") - 1, 0)


def count_bins(bins: npt.NDArray[np.int64], weights: Numbers | None = None) -> list[int]:
    """Returns the number of elements in each bin, up to the last bin that is not empty."""
    return [int(count) for count in np.bincount(bins, weights).tolist()] if len(bins) else []


def length_counts(lengths: dict[int, int]) -> list[int]:
    """Returns a histogram over :data:`LENGTH_EDGES`, given the number of elements of each length."""
    values, counts = (np.array([*part], np.int64) for part in (lengths.keys(), lengths.values()))
    return count_bins(length_bins(values), counts)


def ratio_counts(source: Numbers, target: Numbers) -> list[int]:
    """Returns the histogram of the ratios target / source; pairs with a length of 0 are left out."""
    both = (source > 0) & (target > 0)
    bins = np.searchsorted(RATIO_EDGES, target[both] / source[both], side="right")
    return [int(count) for count in np.bincount(bins, minlength=len(RATIO_EDGES) + 1)]


def joint_counts(source: Numbers, target: Numbers) -> list[tuple[int, int, int]]:
    """Returns the cells of the histogram of source and target lengths: both bins and the count. Omits empty cells."""
    bins = length_bins(source) * len(LENGTH_EDGES) + length_bins(target)
    cells, counts = np.unique(bins, return_counts=True)
    return [(*divmod(int(cell), len(LENGTH_EDGES)), int(count)) for cell, count in zip(cells, counts, strict=True)]


def combined(corpora: Json) -> Json:
    """Returns the histograms of a split: those of its corpora, scaled from samples to all pairs, added and rounded.

    Args:
        corpora: profiles by name of the corpus, as JSON values.

    Returns:
        ``pairs`` and ``sampled``; ``tokens_by_length``, ``lengths``, ``joint`` and ``ratios`` as in a profile; and
        ``means``, the mean lengths by side and unit.
    """
    sampled = [corpus for corpus in corpora.values() if corpus["sampled"]]
    pairs = sum(corpus["pairs"] for corpus in sampled)
    total = max(pairs, 1)
    return {
        "pairs": pairs,
        "sampled": sum(corpus["sampled"] for corpus in sampled),
        "tokens_by_length": {side: summed(corpus["tokens_by_length"][side] for corpus in sampled) for side in SIDES},
        "lengths": {
            side: {unit: _scaled((corpus, corpus["lengths"][side][unit]) for corpus in sampled) for unit in UNITS}
            for side in SIDES
        },
        "means": {
            side: {
                unit: round(sum(_whole(corpus, corpus["totals"][side][unit]) for corpus in sampled) / total, 3)
                for unit in UNITS
            }
            for side in SIDES
        },
        "joint": {unit: _cells(sampled, unit) for unit in UNITS},
        "ratios": {unit: _scaled((corpus, corpus["ratios"][unit]) for corpus in sampled) for unit in UNITS},
    }


def summed(histograms: Iterable[Sequence[float]]) -> list[float]:
    """Returns the sum of histograms of any length."""
    listed = list(histograms)
    size = max(map(len, listed), default=0)
    return [sum(counts[place] for counts in listed if place < len(counts)) for place in range(size)]


def _scaled(histograms: Iterable[tuple[Json, Sequence[int]]]) -> list[int]:
    """Returns the sum of histograms of samples, scaled to all pairs of their corpora."""
    return [
        round(value) for value in summed([_whole(corpus, count) for count in counts] for corpus, counts in histograms)
    ]


def _cells(corpora: Sequence[Json], unit: str) -> list[list[int]]:
    cells: Counter[tuple[int, int]] = Counter()
    for corpus in corpora:
        for source, target, count in corpus["joint"][unit]:
            cells[source, target] += _whole(corpus, count)  # type: ignore[assignment]
    return [[*cell, max(round(count), 1)] for cell, count in sorted(cells.items())]


def _whole(corpus: Json, count: float) -> float:
    """Returns a count in the sample of a corpus, scaled to all its pairs."""
    scaled: float = count if corpus["sampled"] == corpus["pairs"] else count * corpus["pairs"] / corpus["sampled"]
    return scaled
