"""UpperCase, LowerCase and TitleCase: the case of both sides."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import TYPOS, title_lines, type_lines

from nmt_prep.base.columns import TextColumn
from nmt_prep.training.modifiers.block import Block, LineModifier, check_share, lines_of, numbers_of
from nmt_prep.training.modifiers.draws import Draws
from nmt_prep.training.modifiers.words import NO_LABEL, Part, Rewritten, WordModifier, Words

_MOVING = "[\u0345\u24b6-\u24e9]"
"""The characters whose case decides where the aligner's words begin (RE2).

The first is a combining mark whose upper case is a letter. The others are circled letters: equal ones form one word.
"""


class _CaseModifier(WordModifier):
    scripts = "scripts with case, such as Latin, Greek and Cyrillic"

    def __call__(self, block: Block) -> Block:
        places = block.drawn(self.probability)
        if not len(places):
            return block
        drawn = block.taken(places)
        source, target = self.change(drawn.source), self.change(drawn.target)
        if block.links is not None and block.units == "words":
            moving = [pc.match_substring_regex(side, _MOVING) for side in (drawn.source, drawn.target)]
            moved = np.flatnonzero(pc.or_(*moving).to_numpy(zero_copy_only=False))
            drawn = self.rewritten(drawn, moved, [Draws(0)] * len(moved))
        return block.with_columns(places, source, target, drawn.links)

    case: Callable[[str], str]  # returns text in another case

    def change(self, lines: pa.LargeStringArray) -> pa.LargeStringArray:
        """Changes all lines in one call: case never depends on text across a line end."""
        return pa.array(self.case("\n".join(lines.to_pylist())).split("\n"), pa.large_string())

    def changed(self, before: str, character: str) -> str:
        """Returns a character in another case, given the previous character."""
        return self.case(character)

    def rewrite(self, source: Words, target: Words, draws: Draws) -> Rewritten:
        """Returns the pair with each character changed by itself, to find the words of its links."""
        return Rewritten(list(self._parts(source)), list(self._parts(target)), [])

    def _parts(self, line: Words) -> Iterator[Part]:
        labels = [NO_LABEL] * len(line.text)
        for number, (begin, end) in enumerate(line.words):
            labels[begin:end] = [number] * (end - begin)
        at = 0
        for before, character in pairwise(" " + line.text.decode()):
            yield self.changed(before, character).encode(), labels[at]
            at += len(character.encode())


class UpperCase(_CaseModifier):
    """Makes all letters of both sides upper case."""

    case = staticmethod(str.upper)


class LowerCase(_CaseModifier):
    """Makes all letters of both sides lower case."""

    case = staticmethod(str.lower)


class TitleCase(_CaseModifier):
    """Makes the first letter of each word upper case, with one space between words; text without case stays."""

    def change(self, lines: pa.LargeStringArray) -> pa.LargeStringArray:
        """Returns lines with first letters in upper case."""
        column = TextColumn.from_arrow(lines)
        return TextColumn(*title_lines(column.data, column.offsets)).to_arrow()

    def changed(self, before: str, character: str) -> str:
        """Returns the character in upper case if it begins a word between spaces."""
        return character.upper() if before in string.whitespace else character


class Typos(LineModifier):
    """Makes typing errors in the source, each kind at most once, with its own probability.

    Args:
        probability: share of the pairs to change.
        kinds: probability of each kind; 0.1 for all if no kind is given, else 0 for kinds that are not given.
    """

    scripts = "scripts of letters with spaces between words"

    def __init__(self, probability: float, **kinds: float) -> None:
        super().__init__(probability)
        unknown = next((kind for kind in kinds if kind not in TYPOS), None)
        if unknown is not None:
            raise ValueError(f"{unknown!r} is no kind of typo; the kinds are {', '.join(TYPOS)}")
        check_share(**kinds)
        self.chances = [(TYPOS.index(kind), share) for kind, share in (kinds or dict.fromkeys(TYPOS, 0.1)).items()]

    def __call__(self, block: Block) -> Block:
        places = block.drawn(self.probability)
        drawn = block.taken(places)
        lines, links = TextColumn.from_arrow(drawn.source), None
        if drawn.links is not None:
            column = TextColumn.from_arrow(drawn.links)
            links = column.data, column.offsets
        spaced = block.units == "spaced"
        typed = type_lines((lines.data, lines.offsets), links, drawn.keys, self.chances, spaced)
        source, linked = TextColumn(*typed[:2]).to_arrow(), TextColumn(*typed[2:]).to_arrow()
        return block.with_columns(places, source, drawn.target, None if links is None else linked)


_MARKS = {
    "period": ".．｡。﹒︒।॥۔။።։",
    "exclamation": "!！﹗︕‼❢❣՜",
    "question": "?？﹖︖؟\u037e՞፧⁇⁈⁉",
    "comma": ",，､﹐︐、﹑︑،၊՝",
    "colon": ":：﹕︓፥፦\u0387\u00b7",
    "semicolon": ";；﹔︔؛፤",
    "ellipsis": "…⋯︙",
}
_KINDS = np.repeat(np.arange(len(_MARKS)), [len(marks) for marks in _MARKS.values()])
_ALL = pa.array([*"".join(_MARKS.values())], pa.large_string())


class RemoveEndPunct(LineModifier):
    """Removes the last mark on both sides if the marks are of one kind, and neither has another mark before it.

    Links of the last words are removed.
    """

    def __call__(self, block: Block) -> Block:
        places = block.drawn(self.probability)
        drawn = block.taken(places)
        source, target = _last_marks(drawn.source), _last_marks(drawn.target)
        marked = np.flatnonzero((source >= 0) & (source == target))
        places, drawn = places[marked], drawn.taken(marked)
        sides = (drawn.source, drawn.target)
        texts = [pc.utf8_rtrim_whitespace(pc.utf8_slice_codeunits(side, 0, -1)) for side in sides]
        links = None if drawn.links is None else _without_last_words(drawn.links, drawn.word_counts())
        return block.with_columns(places, texts[0], texts[1], links)


def _last_marks(lines: pa.LargeStringArray) -> npt.NDArray[np.int64]:
    """Returns each line's kind of end mark; -1 without a mark, or after another mark."""
    last, before, earlier = (
        pc.fill_null(pc.index_in(pc.utf8_slice_codeunits(lines, begin, end), _ALL), -1).to_numpy(zero_copy_only=False)
        for begin, end in ((-1, None), (-2, -1), (-3, -2))
    )
    spaced = pc.equal(pc.utf8_slice_codeunits(lines, -2, -1), " ").to_numpy(zero_copy_only=False)
    alone = (last >= 0) & (before < 0) & ~(spaced & (earlier >= 0))
    return np.where(alone, _KINDS[last], -1)


def _without_last_words(
    links: pa.LargeStringArray, words: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
) -> pa.LargeStringArray:
    numbers, offsets = numbers_of(links, words)
    line = np.repeat(np.arange(len(links)), np.diff(offsets))
    kept = (numbers[::2] != words[0][line] - 1) & (numbers[1::2] != words[1][line] - 1)
    counts = np.bincount(line[kept], minlength=len(links))
    return lines_of(numbers[np.repeat(kept, 2)], np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
