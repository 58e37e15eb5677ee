"""Text with labelled words: makes pairs from parts of other pairs, with links that follow the words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import rewrite_pairs

from nmt_prep.base.columns import TextColumn
from nmt_prep.training.modifiers.block import Block, LineModifier, Rows, lines_of, numbers_of, spans_of
from nmt_prep.training.modifiers.draws import Draws

Places: TypeAlias = list[tuple[int, int]]
Pairs: TypeAlias = list[tuple[int, int]]
Part: TypeAlias = tuple[int, int] | tuple[bytes, int]  # Bytes (begin, end) of the line, or inserted text and its label

UNSPACED = (
    r"[\x{e00}-\x{eff}\x{1000}-\x{109f}\x{1780}-\x{17ff}\x{3005}\x{3040}-\x{30ff}\x{3400}-\x{4dbf}\x{4e00}-\x{9fff}"
    r"\x{f900}-\x{faff}\x{20000}-\x{3ffff}]"
)
"""A character of Thai, Lao, Burmese, Khmer, Japanese or Chinese, which have no spaces between words (RE2)."""

_OWN_WORDS = -2

NO_LABEL = -1  # The label of inserted text that belongs to no word
NEW_WORDS = 1 << 30  # The first label of inserted words. Words with the same label on both sides are equal.


class _PlacesOfLines(NamedTuple):
    begins: list[int]
    ends: list[int]
    offsets: list[int]

    @classmethod
    def of(cls, lines: pa.LargeStringArray, *, spaced: bool) -> _PlacesOfLines:
        return cls(*(numbers.tolist() for numbers in spans_of(lines, spaced=spaced)))

    def in_line(self, number: int) -> Places:
        line = slice(self.offsets[number], self.offsets[number + 1])
        return list(zip(self.begins[line], self.ends[line], strict=True))


@dataclass(frozen=True, slots=True)
class Words:
    """A line and its words, labelled with their numbers. Places are begin and end in bytes."""

    text: bytes  # the line as UTF-8
    _number: int
    _words: _PlacesOfLines
    _tokens: _PlacesOfLines

    @property
    def words(self) -> Places:
        """Places of the words that links refer to."""
        return self._words.in_line(self._number)

    @property
    def tokens(self) -> Places:
        """Places of the words between spaces; in scripts without spaces, places of the aligner's words."""
        return self._tokens.in_line(self._number)

    @property
    def whole(self) -> list[Part]:
        """The parts of the unchanged line."""
        return [(0, len(self.text))]

    def replaced(self, places: Places, edits: Mapping[int, Sequence[Part]]) -> list[Part]:
        """Returns the line's parts, where each place ``places[number]`` is replaced by ``edits[number]``."""
        parts, done = list[Part](), 0
        for number in sorted(edits):
            begin, end = places[number]
            parts += [(done, begin), *edits[number]]
            done = end
        return [*parts, (done, len(self.text))]

    def copied(self, begin: int, end: int) -> list[Part]:
        """Returns a stretch of the line to insert elsewhere; its word n gets the label ``NEW_WORDS`` + n."""
        parts, done = list[Part](), begin
        for number, (first, last) in enumerate(self.words):
            if first < end and last > begin:
                stretch = self.text[max(first, begin) : min(last, end)]
                parts += [(self.text[done : max(first, begin)], NO_LABEL), (stretch, NEW_WORDS + number)]
                done = min(last, end)
        return [*parts, (self.text[done:end], NO_LABEL)]


class Rewritten(NamedTuple):
    """The parts on both sides of a new pair, and links between labels in addition to the pair's links."""

    source: list[Part]
    target: list[Part]
    links: Pairs


class WordModifier(LineModifier):
    """Base class for modifiers that make pairs from parts of other pairs."""

    def __call__(self, block: Block) -> Block:
        places = block.drawn(self.probability)
        return self.rewritten(block, places, Draws.of_rows(block.keys[places], 1))

    def rewritten(self, block: Block, places: Rows, draws: Sequence[Draws]) -> Block:
        if not len(places):
            return block
        drawn = block.taken(places)
        sides = (_lines(side, spaced=block.units == "spaced") for side in (drawn.source, drawn.target))
        made = [self.rewrite(*pair) for pair in zip(*sides, draws, strict=True)]
        chosen = np.flatnonzero([each is not None for each in made])
        old = block.taken(places[chosen])
        return block.with_columns(places[chosen], *_written(old, [each for each in made if each is not None]))

    def rewrite(self, source: Words, target: Words, draws: Draws) -> Rewritten | None:
        raise NotImplementedError


def _lines(lines: pa.LargeStringArray, *, spaced: bool) -> list[Words]:
    texts = TextColumn.from_arrow(lines).to_bytes()
    between_spaces, of_aligner = (_PlacesOfLines.of(lines, spaced=each) for each in (True, False))
    words = between_spaces if spaced else of_aligner
    unspaced = pc.match_substring_regex(lines, UNSPACED).to_pylist()
    return [
        Words(text, number, words, of_aligner if unspaced[number] else between_spaces)
        for number, text in enumerate(texts)
    ]


def _written(block: Block, made: Sequence[Rewritten]) -> tuple[pa.Array, pa.Array, pa.Array | None]:
    """Returns the source, target and links of the new pairs that replace a block's pairs."""
    numbers, offsets = np.empty(0, np.int32), np.zeros(len(block) + 1, np.int64)
    if block.links is not None:
        numbers, offsets = numbers_of(block.links)
    added = np.array([link for each in made for link in each.links], np.int32).reshape(-1, 2)
    lines = np.repeat(np.arange(len(block)), np.diff(offsets))
    lines = np.concatenate([lines, np.repeat(np.arange(len(block)), [len(each.links) for each in made])])
    order = np.argsort(lines, kind="stable")
    numbers = np.concatenate([numbers.reshape(-1, 2), added])[order].ravel()
    offsets = np.searchsorted(lines[order], np.arange(len(block) + 1))
    sides = [_arrays(lines, [each[side] for each in made]) for side, lines in enumerate((block.source, block.target))]
    new = rewrite_pairs(sides[0], sides[1], numbers, offsets, block.units == "spaced")
    source, target = TextColumn(*new[:2]).to_arrow(), TextColumn(*new[2:4]).to_arrow()
    return source, target, None if block.links is None else lines_of(*new[4:])


def _arrays(lines: pa.LargeStringArray, parts: Sequence[Sequence[Part]]) -> tuple[np.ndarray, ...]:
    """Returns lines and their parts as arguments of the native core."""
    rows, inserted = list[tuple[int, int, int]](), bytearray()
    for first, second in (part for line in parts for part in line):
        if isinstance(first, bytes):
            rows.append((len(inserted), len(inserted) + len(first), second))
            inserted += first
        else:
            rows.append((first, second, _OWN_WORDS))
    begins, ends, labels = np.array(rows, np.int32).reshape(-1, 3).T.copy()
    offsets = np.cumsum([0, *map(len, parts)])
    column = TextColumn.from_arrow(lines)
    return column.data, column.offsets, begins, ends, labels, offsets, np.frombuffer(inserted, np.uint8)
