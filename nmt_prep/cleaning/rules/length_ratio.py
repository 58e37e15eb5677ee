"""Rule ``length_ratio``: sides of very different lengths.

a and b are the lengths of the two sides (:mod:`nmt_prep.cleaning.lengths`).

- ``formula: linear``: value = max(a, b) / min(a, b); 0 if both are 0, infinite if one is 0. A pair passes if ``value <
  max``. With ``unit: token`` or ``char`` and no factors, this is OpusFilter's LengthRatioFilter.
- ``formula: log``: value = log(min(a, b) + 1) / log(max(a, b) + 1); 1 if both are 0. A pair passes if ``value >=
  min``. This formula allows larger ratios for short texts. Without factors it is OpusCleaner's src_trg_ratio with LOG.

With ``factors``, each side's length is first divided by a factor: the length of equivalent texts in its language
(NLLB's length_factor). A config can give the factors as numbers. ``auto`` takes them from
:mod:`nmt_prep.cleaning.lengths`, for the units char, letter and byte; they do not depend on the corpus.

A pair is not judged if the lengths of both sides, divided by the factors, are less than ``min_length``. Its value is
then 1, as for sides of equal length.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from _nmt_prep_core import natural_logarithms
from pydantic import Field

from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.lengths import Unit, expansion, lengths
from nmt_prep.cleaning.rule import Bounds, Context, PairRule, Pairs, PerSide, Values
from nmt_prep.config import Section


class LengthRatioOptions(Section):
    """The limits for the length ratio."""

    unit: PerSide[Unit] = PerSide[Unit].both("char")
    """char, byte, letter, token or word, or one a side: what is counted"""
    formula: Literal["linear", "log"] = "linear"
    """linear or log: the formula"""
    factors: Literal["auto", "off"] | PerSide[float] = "off"
    """off, auto or {source: …, target: …}: lengths of equivalent texts, the divisors of the lengths"""
    max: float = 3
    """a number > 1: a ratio of this size does not pass (formula: linear)"""
    min: float = 0.6
    """a number from 0 to 1: the least value that passes (formula: log)"""
    min_length: float = Field(0, ge=0)
    """a number >= 0: pairs pass if both sides are shorter"""


class LengthRatioRule(PairRule[LengthRatioOptions]):
    """The ratio between the sides' lengths."""

    edges = (0, 0.2, 0.4, 0.6, 0.8, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.25, 2.5, 3, 3.5, 4, 5, 6, 8, 10, 15, 20)

    def __init__(self, options: LengthRatioOptions, context: Context) -> None:
        super().__init__(options, context)
        self._factors = {side: _factor(options, context, side) for side in SIDES}
        self.bounds = (Bounds(low=options.min) if options.formula == "log" else Bounds(high=options.max, below=True),)

    def pair_values(self, pairs: Pairs) -> Values:
        first, second = (lengths(pairs, side, self.given.unit.of(side)) / self._factors[side] for side in SIDES)
        shorter, longer = np.minimum(first, second), np.maximum(first, second)
        if self.given.formula == "log":
            whole = natural_logarithms(longer + 1)
            shares: Values = np.divide(natural_logarithms(shorter + 1), whole, out=np.ones(len(pairs)), where=whole > 0)
            return self._judged(shares, longer)
        ratios: Values = np.where(longer > 0, np.inf, 0.0)
        np.divide(longer, shorter, out=ratios, where=shorter > 0)
        return self._judged(ratios, longer)

    def _judged(self, values: Values, longer: Values) -> Values:
        """Returns the values with 1 for pairs that are too short to be judged."""
        values[longer < self.given.min_length] = 1.0
        return values


def _factor(options: LengthRatioOptions, context: Context, side: Side) -> float:
    if options.factors == "off":
        return 1.0
    if options.factors == "auto":
        return expansion(context.language(side), options.unit.of(side))
    factor = options.factors.of(side)
    if not factor > 0:
        raise ValueError(f"factors must be greater than 0, but that of the {side} is {factor}")
    return factor
