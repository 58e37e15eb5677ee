"""Pairs that do not belong together: each source of a sample with the target of another pair of like length."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

_TRIES = 16

Numbers: TypeAlias = "npt.NDArray[np.int64]"
Keys: TypeAlias = "npt.NDArray[np.uint64]"


def other_targets(lengths: Numbers, order: Keys, sources: Keys, targets: Keys) -> tuple[Numbers, Numbers]:
    """Chooses a target for the source of each pair from another pair whose target is about as long.

    The pairs are sorted by the length of their targets, and at random where these are equal. Each takes the target of
    the next pair. If that pair has the same source or the same target, it takes the one after it, and so on; a pair
    that finds none among the next 16 is left out. The pair with the longest target takes the one before it.

    Args:
        lengths: length of each target: int64, shape ``[pairs]``.
        order: random numbers, different for each pair: uint64.
        sources: keys of the sources: uint64; equal sources have equal keys.
        targets: keys of the targets: uint64.

    Returns:
        The numbers of the pairs whose sources are used, and for each the number of the pair whose target it gets.
    """
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
