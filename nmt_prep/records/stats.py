"""Counts of pairs, tokens and lengths, which tasks return and which can be summed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from nmt_prep.columns import Ragged


@dataclass(frozen=True)
class PairStats:
    """Counts over pairs of id rows, each with its EOS.

    Attributes:
        pairs: number of pairs.
        source_tokens: ids of the source side.
        target_tokens: ids of the target side.
        source_lengths: number of pairs for each source length.
        target_lengths: number of pairs for each target length.
        max_lengths: number of pairs for each length of the longer side.
    """

    pairs: int = 0
    source_tokens: int = 0
    target_tokens: int = 0
    source_lengths: Counter[int] = field(default_factory=Counter)
    target_lengths: Counter[int] = field(default_factory=Counter)
    max_lengths: Counter[int] = field(default_factory=Counter)

    @classmethod
    def of(cls, inputs: Ragged, targets: Ragged) -> PairStats:
        """Counts a batch of pairs."""
        source, target = inputs.lengths, targets.lengths
        return cls(
            len(inputs),
            int(source.sum()),
            int(target.sum()),
            _histogram(source),
            _histogram(target),
            _histogram(np.maximum(source, target)),
        )

    def __add__(self, other: PairStats) -> PairStats:
        return PairStats(
            self.pairs + other.pairs,
            self.source_tokens + other.source_tokens,
            self.target_tokens + other.target_tokens,
            self.source_lengths + other.source_lengths,
            self.target_lengths + other.target_lengths,
            self.max_lengths + other.max_lengths,
        )


def _histogram(lengths: npt.NDArray[np.int64]) -> Counter[int]:
    values, counts = np.unique(lengths, return_counts=True)
    return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))
