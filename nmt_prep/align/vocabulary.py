"""The words of one side that a model knows, numbered from 1 by falling count; 0 is any other word."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import WordNumbers

from nmt_prep.align.settings import Settings
from nmt_prep.columns import TextColumn

Hashes: TypeAlias = "npt.NDArray[np.uint64]"
Integers: TypeAlias = "npt.NDArray[np.int64]"

_UNKNOWN_COUNT = 0.5
MOST_WORDS = 1 << 22

_MOST_COUNTED = 1 << 53
"""Most words of a text: their number is exact as a float."""


@dataclass(frozen=True)
class Vocabulary:
    """The known words of a side.

    Attributes:
        hashes: of the word with each number, from 1: uint64, shape ``[words]``.
        counts: how often each is in the text: int64, shape ``[words]``.
    """

    hashes: Hashes
    counts: Integers

    @classmethod
    def of(cls, stems: Hashes, counts: Integers) -> Vocabulary:
        """Numbers stems, which need not be distinct; keeps the most frequent.

        Args:
            stems: hashes: uint64, shape ``[n]``.
            counts: of the stems: int64, shape ``[n]``.
        """
        hashes, places = np.unique(stems, return_inverse=True)
        totals = np.zeros(len(hashes), np.int64)
        np.add.at(totals, places, counts)
        order = np.lexsort((hashes, -totals))[:MOST_WORDS]
        return cls(hashes[order], totals[order])

    @classmethod
    def restored(cls, hashes: Hashes, counts: Integers) -> Vocabulary:
        """Returns the words that a file holds.

        Raises:
            ValueError: they cannot be the words of a text.
        """
        if len(hashes) != len(counts) or not len(np.unique(hashes)) == len(hashes) <= MOST_WORDS:
            raise ValueError("its words are not distinct, too many, or not as many as their counts")
        if len(counts) and (counts.min() < 1 or counts.sum(dtype=np.float64) > _MOST_COUNTED):
            raise ValueError("the counts of its words are not positive, or too large")
        return cls(hashes, counts)

    def __len__(self) -> int:
        """Returns the size of arrays by word: one more than there are known words."""
        return len(self.hashes) + 1

    @cached_property
    def shares(self) -> npt.NDArray[np.float32]:
        """The share of each word in the text: float32, shape ``[len(self)]``."""
        counts = np.concatenate([[_UNKNOWN_COUNT], self.counts.astype(np.float64)])
        return (counts / (float(self.counts.sum()) + _UNKNOWN_COUNT)).astype(np.float32)

    @cached_property
    def _numbers(self) -> WordNumbers:
        return WordNumbers(np.ascontiguousarray(self.hashes))

    def numbers(
        self, lines: TextColumn, settings: Settings, threads: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Returns the numbers of the words of lines, and the offsets of each line's words.

        Raises:
            InvalidTextError: a line is not UTF-8.
        """
        return self._numbers.encode(lines.data, lines.offsets, settings.pretokenized, settings.stem, threads)

    def numbers_of(self, hashes: Hashes) -> npt.NDArray[np.int64]:
        """Returns the numbers of words given by their hashes, 0 for those that are not known."""
        order = np.argsort(self.hashes)
        if not len(order):
            return np.zeros(len(hashes), np.int64)
        places = order[np.minimum(np.searchsorted(self.hashes, hashes, sorter=order), len(order) - 1)]
        return np.where(self.hashes[places] == hashes, places + 1, 0)
