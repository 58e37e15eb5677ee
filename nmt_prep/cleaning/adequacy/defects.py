"""Pairs as numbered words, and artificial defects in them, which are the training data of the classifier.

A defect changes the words of one side between its opening and its closing punctuation, which stay: otherwise the
classifier would learn that lines without a full stop are cut. Two joined pairs are also a good pair, so that the
classifier does not learn that one sentence more is a defect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import NumberedPairs

from nmt_prep.base.columns import TextColumn
from nmt_prep.cleaning.align.model import Model
from nmt_prep.cleaning.corpus_rules.translation import other_targets

Integers: TypeAlias = "npt.NDArray[np.int64]"


@dataclass(frozen=True)
class Words:
    """The words of lines: line i has the words ``offsets[i]`` to ``offsets[i + 1]``."""

    numbers: npt.NDArray[np.int32]  # numbers of the words in the vocabulary of a model: int32, shape `[words]`
    marks: npt.NDArray[np.uint32]  # kind of punctuation or number, and length, of each word: uint32, shape `[words]`
    offsets: Integers  # int64, shape `[lines + 1]`

    @property
    def sizes(self) -> Integers:
        """Word count of each line: int64, shape ``[lines]``."""
        return np.diff(self.offsets)

    @property
    def plain(self) -> npt.NDArray[np.bool_]:
        """True for words and numbers, false for punctuation and symbols: shape ``[words]``."""
        return (self.marks & 15) <= 1

    def joined(self, begins: Integers, ends: Integers) -> Words:
        """Returns lines made of word stretches, from ``begins`` to before ``ends``: int64, ``[lines, stretches]``."""
        # `repeat(begin - start) + arange` gives begin, begin + 1, … within each stretch: `start` is the stretch's place
        # in the result. An empty stretch contributes no word.
        sizes = np.maximum(ends - begins, 0)
        offsets = np.concatenate([[0], np.cumsum(sizes.sum(axis=1))])
        flat = sizes.reshape(-1)
        starts = np.cumsum(flat) - flat
        places = np.repeat(begins.reshape(-1) - starts, flat) + np.arange(int(flat.sum()))
        return Words(self.numbers[places], self.marks[places], offsets)

    def take(self, lines: Integers) -> Words:
        return self.joined(self.offsets[lines][:, None], self.offsets[lines + 1][:, None])


@dataclass(frozen=True)
class MarkedPairs:
    """The words on both sides of pairs."""

    source: Words
    target: Words

    @classmethod
    def of(cls, model: Model, source: TextColumn, target: TextColumn, threads: int = 1) -> Self:
        """Returns the words in pairs of lines."""
        if len(source) != len(target):
            raise ValueError("the sides have different numbers of lines")
        sides = zip(model.vocabularies, (source, target), strict=True)
        first, second = (vocabulary.marked(lines, model.settings, threads) for vocabulary, lines in sides)
        return cls(Words(first[0], first[2], first[1]), Words(second[0], second[2], second[1]))

    def __len__(self) -> int:
        return len(self.source.offsets) - 1

    def numbered(self) -> NumberedPairs:
        source, target = self.source, self.target
        return NumberedPairs(source.numbers, source.offsets, target.numbers, target.offsets)

    def take(self, pairs: Integers) -> MarkedPairs:
        return MarkedPairs(self.source.take(pairs), self.target.take(pairs))

    @classmethod
    def concatenated(cls, several: list[MarkedPairs]) -> MarkedPairs:
        """Returns the pairs of several objects as one, in their order."""
        return cls(
            _concatenated([pairs.source for pairs in several]), _concatenated([pairs.target for pairs in several])
        )


def _concatenated(several: list[Words]) -> Words:
    sizes = np.concatenate([words.sizes for words in several])
    numbers, marks = (np.concatenate([getattr(words, name) for words in several]) for name in ("numbers", "marks"))
    return Words(numbers, marks, np.concatenate([[0], np.cumsum(sizes)]))


Floats: TypeAlias = "npt.NDArray[np.float64]"

KINDS = ("exchanged", "cut", "gap", "sentence", "joined", "clause")
"""The defects: the target of another pair; the begin or the end cut off; a run of words left out; one sentence of
several left out; another line joined to a side; words of another line put in before the end.

Subtle defects, such as replaced words or other numbers, are left out: good pairs resemble these more than incomplete
pairs do, so a classifier that learns them finds fewer of the incomplete pairs in a corpus with many."""

_STOPS = (2, 3, 4)
_NONE = -1


class Draws:
    """Random numbers that depend on a seed and their order alone."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.Philox(key=seed)

    def integers(self, size: int) -> npt.NDArray[np.uint64]:
        """Returns random numbers of 64 bits: uint64, shape ``[size]``."""
        return np.asarray(self._bits.random_raw(size), np.uint64)

    def shares(self, size: int, low: float = 0.0, high: float = 1.0) -> Floats:
        """Returns random numbers from ``low`` to ``high``: float64, shape ``[size]``."""
        shares = (self.integers(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return low + (high - low) * shares

    def below(self, limits: Integers) -> Integers:
        """Returns random numbers from 0 to below each limit, which is at least 1: int64."""
        return np.minimum((self.shares(len(limits)) * limits).astype(np.int64), limits - 1)


@dataclass(frozen=True)
class Made:
    """Pairs made of other pairs."""

    pairs: MarkedPairs
    origins: npt.NDArray[np.int32]  # for each, the pairs of which it is made: int32, shape `[pairs, 2]`; -1 for none
    kinds: Integers  # for each, the index of its defect in `KINDS`; -1 for good pairs

    @classmethod
    def concatenated(cls, several: list[Made]) -> Made:
        """Returns the pairs of several objects as one, in their order."""
        pairs = MarkedPairs.concatenated([made.pairs for made in several])
        origins, kinds = (np.concatenate([getattr(made, name) for made in several]) for name in ("origins", "kinds"))
        return cls(pairs, origins, kinds)


def good(pairs: MarkedPairs, rows: Integers) -> Made:
    """Returns some of the pairs unchanged, as good pairs."""
    return Made(pairs.take(rows), _origins(rows), np.full(len(rows), _NONE))


def exchanged(pairs: MarkedPairs, rows: Integers, draws: Draws, keys: tuple[npt.NDArray[np.uint64], ...]) -> Made:
    """Returns pairs with the targets of other pairs, which are about as long."""
    first, second = keys
    sizes = pairs.target.sizes[rows]
    sources, targets = other_targets(sizes, draws.integers(len(rows)), first[rows], second[rows])
    sources, targets = rows[sources], rows[targets]
    made = MarkedPairs(pairs.source.take(sources), pairs.target.take(targets))
    return Made(made, _origins(sources, targets), np.full(len(sources), KINDS.index("exchanged")))


def joined(pairs: MarkedPairs, rows: Integers, draws: Draws) -> Made:
    """Returns pairs that consist of two pairs each."""
    others = rows[draws.below(np.full(len(rows), len(rows)))]
    sides = (_after(side, rows, others) for side in (pairs.source, pairs.target))
    return Made(MarkedPairs(*sides), _origins(rows, others), np.full(len(rows), _NONE))


def defective(pairs: MarkedPairs, rows: Integers, draws: Draws) -> Made:
    """Returns a copy of each pair with a random defect, except for pairs in which a defect is not possible."""
    # The kind and the side are drawn for each pair first; then the pairs of one kind and side are changed together, in
    # a fixed order. So the same seed gives the same defects, whatever the pairs contain.
    kinds = 1 + draws.below(np.full(len(rows), len(KINDS) - 1))
    changed = draws.shares(len(rows)) < 0.5  # true for the target, false for the source
    several = []
    for kind, name in enumerate(KINDS):
        for side in (0, 1):
            chosen = rows[(kinds == kind) & (changed == bool(side))]
            if not len(chosen) or name == "exchanged":
                continue
            others = rows[draws.below(np.full(len(chosen), len(rows)))]
            words = (pairs.source, pairs.target)[side]
            new, done = _changed(name, words, chosen, others, draws)
            kept, chosen, others = np.flatnonzero(done), chosen[done], others[done]
            both = new.take(kept), (pairs.target, pairs.source)[side].take(chosen)
            origins = _origins(chosen, others) if name in ("joined", "clause") else _origins(chosen)
            made = MarkedPairs(*(both if side == 0 else both[::-1]))
            several.append(Made(made, origins, np.full(len(chosen), kind)))
    return Made.concatenated([good(pairs, rows[:0]), *several])


def _origins(first: Integers, second: Integers | None = None) -> npt.NDArray[np.int32]:
    return np.stack([first, np.full(len(first), _NONE) if second is None else second], axis=1).astype(np.int32)


def _changed(
    name: str, words: Words, lines: Integers, others: Integers, draws: Draws
) -> tuple[Words, npt.NDArray[np.bool_]]:
    """Returns lines with a defect where it is possible, and true for these lines."""
    begins, ends = _bodies(words, lines)
    sizes = ends - begins
    match name:
        case "joined":
            first = draws.shares(len(lines)) < 0.5
            new = _after(words, np.where(first, others, lines), np.where(first, lines, others))
            return new, words.sizes[others] > 0
        case "clause":
            other_begins, other_ends = _bodies(words, others)
            size = np.minimum(3 + draws.below(np.full(len(lines), 8)), other_ends - other_begins)
            at = other_begins + draws.below(np.maximum(other_ends - other_begins - size, 0) + 1)
            return _stretches(words, lines, [(None, ends), (at, at + size), (ends, None)]), (size > 2) & (sizes > 0)
        case "sentence":
            at, done = _boundaries(words, begins, ends, draws)
            first = draws.shares(len(lines)) < 0.5
            gap = np.where(first, begins, at), np.where(first, at + 1, ends)
        case "cut":
            size = np.maximum((sizes * draws.shares(len(lines), 0.25, 0.8)).astype(np.int64), 1)
            first, done = draws.shares(len(lines)) < 0.2, size < sizes
            gap = np.where(first, begins, ends - size), np.where(first, begins + size, ends)
        case _:
            size = np.maximum((sizes * draws.shares(len(lines), 0.15, 0.5) + 0.5).astype(np.int64), 1)
            done = size < sizes
            at = begins + draws.below(np.maximum(sizes - size, 0) + 1)
            gap = at, at + size
    return _stretches(words, lines, [(None, gap[0]), (gap[1], None)]), done


def _bodies(words: Words, lines: Integers) -> tuple[Integers, Integers]:
    """Returns where the words between a line's opening and closing punctuation begin and end."""
    # `first` and `last` are places in the list of all plain words; a line without any has `first == last`. The -1 at
    # the end keeps `plain[first]` in range for such a line at the end of the text.
    plain = np.append(np.flatnonzero(words.plain), -1)
    first = np.searchsorted(plain[:-1], words.offsets[lines])
    last = np.searchsorted(plain[:-1], words.offsets[lines + 1])
    some = last > first
    begins = np.where(some, plain[first], words.offsets[lines])
    return begins, np.where(some, plain[last - 1] + 1, words.offsets[lines])


def _stretches(words: Words, lines: Integers, stretches: list[tuple[Integers | None, Integers | None]]) -> Words:
    """Returns lines made from stretches of words; None is the begin or end of the line."""
    begins = [words.offsets[lines] if begin is None else begin for begin, _ in stretches]
    ends = [words.offsets[lines + 1] if end is None else end for _, end in stretches]
    return words.joined(np.stack(begins, axis=1), np.stack(ends, axis=1))


def _after(words: Words, first: Integers, second: Integers) -> Words:
    """Returns lines with other lines after them."""
    lines = np.stack([first, second], axis=1)
    return words.joined(words.offsets[lines], words.offsets[lines + 1])


def _boundaries(words: Words, begins: Integers, ends: Integers, draws: Draws) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Returns for each stretch of words a mark that ends a sentence within it, and true if there is one."""
    stops = np.append(np.flatnonzero(np.isin(words.marks & 15, _STOPS)), 0)
    first, last = np.searchsorted(stops[:-1], begins + 1), np.searchsorted(stops[:-1], ends - 1)
    some = last > first
    return stops[np.where(some, first + draws.below(np.maximum(last - first, 1)), -1)], some
