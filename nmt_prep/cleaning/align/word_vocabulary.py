"""Words of lines, and the words that a model knows, numbered from 1 by falling count; 0 is any other word."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import WordNumbers, word_spans

from nmt_prep.base.columns import TextColumn
from nmt_prep.cleaning.align.settings import Settings

Hashes: TypeAlias = "npt.NDArray[np.uint64]"
Integers: TypeAlias = "npt.NDArray[np.int64]"

_UNKNOWN_COUNT = 0.5
MOST_WORDS = 1 << 22

_MOST_COUNTED = 1 << 53  # Maximum word count of a text; the count is still exact as a float


@dataclass(frozen=True, slots=True)
class Words:
    """Word positions in lines: words ``offsets[i]`` to ``offsets[i + 1]`` are in line i."""

    begins: npt.NDArray[np.int32]  # byte offset of each word in its line: int32, shape `[words]`
    ends: npt.NDArray[np.int32]  # position after the last byte of each word: int32, shape `[words]`
    offsets: npt.NDArray[np.int64]  # int64, shape `[lines + 1]`


def words_of(lines: TextColumn, *, pretokenized: bool = False) -> Words:
    """Splits lines into words.

    By default, a word is a run of letters, marks, numbers and underscores. A point or comma between digits belongs to
    the number. A Chinese or Hiragana character is a word, and so is a run of Katakana; Thai, Lao, Khmer and Burmese are
    divided into clusters of a consonant with its vowels and marks. A punctuation mark or symbol is a word, together
    with equal ones that follow it. Spaces belong to no word.

    Args:
        pretokenized: true for words separated by ASCII white space.
    """
    return Words(*word_spans(lines.data, lines.offsets, pretokenized))


@dataclass(frozen=True)
class Vocabulary:
    """The known words of a side."""

    hashes: Hashes  # word hashes, in ID order: uint64, shape `[words]`
    counts: Integers  # count of each word in the text: int64, shape `[words]`

    @classmethod
    def of(cls, stems: Hashes, counts: Integers) -> Vocabulary:
        """Numbers the most frequent stems.

        Args:
            stems: hashes of stems, perhaps with repetitions: uint64, shape ``[n]``.
            counts: counts of the stems: int64, shape ``[n]``.
        """
        hashes, places = np.unique(stems, return_inverse=True)
        totals = np.zeros(len(hashes), np.int64)
        np.add.at(totals, places, counts)
        order = np.lexsort((hashes, -totals))[:MOST_WORDS]
        return cls(hashes[order], totals[order])

    @classmethod
    def restored(cls, hashes: Hashes, counts: Integers) -> Vocabulary:
        if len(hashes) != len(counts) or not len(np.unique(hashes)) == len(hashes) <= MOST_WORDS:
            raise ValueError("its words are not distinct, too many, or not as many as their counts")
        if len(counts) and (counts.min() < 1 or counts.sum(dtype=np.float64) > _MOST_COUNTED):
            raise ValueError("the counts of its words are not positive, or too large")
        return cls(hashes, counts)

    def __len__(self) -> int:
        """Returns the length of arrays that are indexed by word ID: the known word count plus 1."""
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
        """Returns the word IDs of lines, and the offsets of each line's words."""
        return self._numbers.encode(lines.data, lines.offsets, settings.pretokenized, settings.stem, threads)

    def marked(
        self, lines: TextColumn, settings: Settings, threads: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
        """Returns the word IDs of lines, the offsets of each line's words, and the words' marks.

        A mark holds the kind of punctuation or the number that a word is, and its length.
        """
        return self._numbers.encode_marked(lines.data, lines.offsets, settings.pretokenized, settings.stem, threads)

    def numbers_of(self, hashes: Hashes) -> npt.NDArray[np.int64]:
        """Returns the numbers of words, given their hashes; 0 for an unknown word."""
        order = np.argsort(self.hashes)
        if not len(order):
            return np.zeros(len(hashes), np.int64)
        places = order[np.minimum(np.searchsorted(self.hashes, hashes, sorter=order), len(order) - 1)]
        return np.where(self.hashes[places] == hashes, places + 1, 0)
