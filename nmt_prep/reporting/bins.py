"""Bins of the report's histograms: lengths on a logarithmic scale, and ratios of lengths."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

LENGTH_EDGES = (*range(1, 8), *(step << octave for octave in range(1, 19) for step in (4, 5, 6, 7)))
"""First length of each bin. Lengths of 1 to 8 have a bin each, then an octave has four; the last bin has no end."""

RATIO_EDGES = tuple(2.0 ** (step / 4) for step in range(-15, 16))
"""Upper ends of the bins of target length / source length, four an octave from 1/16 to 16; a last bin has no end."""

Numbers: TypeAlias = "npt.NDArray[np.integer[Any]]"


def length_bins(lengths: Numbers) -> npt.NDArray[np.int64]:
    """Returns the bin of each length, int64; lengths below 1 are in the first bin."""
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
