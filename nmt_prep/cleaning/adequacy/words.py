"""Pairs as numbers and marks of words, from which defective pairs are made without their text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import NumberedPairs

from nmt_prep.align.model import Model
from nmt_prep.columns import TextColumn

Integers: TypeAlias = "npt.NDArray[np.int64]"


@dataclass(frozen=True)
class Words:
    """The words of lines: line i has the words ``offsets[i]`` to ``offsets[i + 1]``.

    Attributes:
        numbers: numbers of the words in the vocabulary of a model: int32, shape ``[words]``.
        marks: what punctuation or number a word is, and how long it is: uint32, shape ``[words]``.
        offsets: int64, shape ``[lines + 1]``.
    """

    numbers: npt.NDArray[np.int32]
    marks: npt.NDArray[np.uint32]
    offsets: Integers

    @property
    def sizes(self) -> Integers:
        """The number of words of each line: int64, shape ``[lines]``."""
        return np.diff(self.offsets)

    @property
    def plain(self) -> npt.NDArray[np.bool_]:
        """True for words and numbers, false for punctuation and symbols: shape ``[words]``."""
        return (self.marks & 15) <= 1

    def joined(self, begins: Integers, ends: Integers) -> Words:
        """Returns lines that consist of stretches of the words.

        Args:
            begins: first word of each stretch: int64, shape ``[lines, stretches]``.
            ends: the word after its last word, in the same shape.
        """
        sizes = np.maximum(ends - begins, 0)
        offsets = np.concatenate([[0], np.cumsum(sizes.sum(axis=1))])
        flat = sizes.reshape(-1)
        starts = np.cumsum(flat) - flat
        places = np.repeat(begins.reshape(-1) - starts, flat) + np.arange(int(flat.sum()))
        return Words(self.numbers[places], self.marks[places], offsets)

    def take(self, lines: Integers) -> Words:
        """Returns some of the lines."""
        return self.joined(self.offsets[lines][:, None], self.offsets[lines + 1][:, None])


@dataclass(frozen=True)
class MarkedPairs:
    """The words of both sides of pairs."""

    source: Words
    target: Words

    @classmethod
    def of(cls, model: Model, source: TextColumn, target: TextColumn, threads: int = 1) -> Self:
        """Returns the words of pairs of lines.

        Raises:
            InvalidTextError: a line is not UTF-8.
            ValueError: the sides have different numbers of lines.
        """
        if len(source) != len(target):
            raise ValueError("the sides have different numbers of lines")
        sides = zip(model.vocabularies, (source, target), strict=True)
        first, second = (vocabulary.marked(lines, model.settings, threads) for vocabulary, lines in sides)
        return cls(Words(first[0], first[2], first[1]), Words(second[0], second[2], second[1]))

    def __len__(self) -> int:
        return len(self.source.offsets) - 1

    def numbered(self) -> NumberedPairs:
        """Returns the numbers of the words."""
        source, target = self.source, self.target
        return NumberedPairs(source.numbers, source.offsets, target.numbers, target.offsets)

    def take(self, pairs: Integers) -> MarkedPairs:
        """Returns some of the pairs."""
        return MarkedPairs(self.source.take(pairs), self.target.take(pairs))

    @classmethod
    def concatenated(cls, several: list[MarkedPairs]) -> MarkedPairs:
        """Returns all pairs of several, in order."""
        return cls(
            _concatenated([pairs.source for pairs in several]), _concatenated([pairs.target for pairs in several])
        )


def _concatenated(several: list[Words]) -> Words:
    sizes = np.concatenate([words.sizes for words in several])
    numbers, marks = (np.concatenate([getattr(words, name) for words in several]) for name in ("numbers", "marks"))
    return Words(numbers, marks, np.concatenate([[0], np.cumsum(sizes)]))
