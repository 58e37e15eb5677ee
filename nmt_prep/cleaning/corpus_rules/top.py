"""Rule ``top``: the best pairs of a corpus by a score.

``top: {score: cometkiwi, keep: 80%}`` keeps the best 80 % of the pairs that pass all other rules. The threshold is the
k-th best score of these pairs, where k is 80 % of their number, rounded up. A pair passes if ``score >= threshold``, so
pairs with equal scores are either all kept or all dropped. A pair without score is dropped.

Unlike other rules it needs the whole corpus, so it is applied in separate rounds after the others. The threshold is
exact, and found in bounded memory by radix selection: scores are mapped to unsigned integers of the same order, and
each of four passes over the scores determines 16 more bits of the threshold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field

from nmt_prep.cleaning.rule import Values
from nmt_prep.config import Section

TOP = "top"  # The name of the rule

EDGES = tuple(round(-1 + step / 20, 2) for step in range(41))
"""Edges of the score histogram, from -1 to 1; most scores are between 0 and 1."""

_DIGITS = 16
_SIGN = 1 << 63


def _share(value: object) -> object:
    """Returns ``80%`` as 0.8."""
    if isinstance(value, str) and (match := re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*", value)):
        return float(match[1]) / 100
    return value


class TopOptions(Section):
    """The best pairs of a corpus by a score."""

    score: str = Field(min_length=1)
    """a name of a score in the corpus: what the pairs are ordered by"""
    keep: Annotated[float, BeforeValidator(_share)] = Field(gt=0, le=1, strict=False)
    """a share such as 80% or 0.8: how many of the pairs are kept"""


def top_threshold(scores: Callable[[], Iterable[Values]], keep: float) -> float:
    """Returns the lowest score that passes.

    Args:
        scores: returns the scores of all pairs, in batches. It is called four times, and must return the same scores
            each time.

    Returns:
        The threshold; NaN if there are no scores.
    """
    wanted, prefix = 0, np.uint64(0)
    for shift in range(64 - _DIGITS, -1, -_DIGITS):
        counts = np.zeros(1 << _DIGITS, np.int64)
        for batch in scores():
            bits = sortable(batch)
            if shift < 64 - _DIGITS:
                bits = bits[bits >> np.uint64(shift + _DIGITS) == prefix]
            digits = (bits >> np.uint64(shift)) & np.uint64((1 << _DIGITS) - 1)
            counts += np.bincount(digits.astype(np.int64), minlength=len(counts))
        if shift == 64 - _DIGITS:
            wanted = kept_count(int(counts.sum()), keep)
            if not wanted:
                return math.nan
        better = np.cumsum(counts[::-1])  # numbers of scores with this digit or a larger one, from the largest down
        place = int(np.searchsorted(better, wanted))
        wanted -= int(better[place - 1]) if place else 0
        prefix = (prefix << np.uint64(_DIGITS)) | np.uint64(len(counts) - 1 - place)
    return _score(prefix)


def kept_count(pairs: int, keep: float) -> int:
    """Returns how many pairs a share has, rounded up; errors of binary fractions are not rounded up."""
    return math.ceil(round(pairs * keep, 9))


def sortable(scores: Values) -> npt.NDArray[np.uint64]:
    """Returns unsigned integers that have the order of the scores; 0.0 and -0.0 give the same integer."""
    bits = (np.asarray(scores, np.float64) + 0.0).view(np.uint64)
    sign = np.uint64(_SIGN)
    return np.where(bits & sign, ~bits, bits | sign)


def _score(bits: np.uint64) -> float:
    """Returns the score that :func:`sortable` maps to an integer."""
    sign = np.uint64(_SIGN)
    plain = bits & ~sign if bits & sign else ~bits
    return float(np.array([plain], np.uint64).view(np.float64)[0])
