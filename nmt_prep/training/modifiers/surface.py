"""UpperCase, LowerCase and TitleCase: the case of both sides."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import title_lines

from nmt_prep.base.columns import TextColumn
from nmt_prep.training.modifiers.block import Block
from nmt_prep.training.modifiers.draws import Draws
from nmt_prep.training.modifiers.words import NO_LABEL, Part, Rewritten, WordModifier, Words

_MOVING = "[\u0345\u24b6-\u24e9]"
"""The characters whose case decides where the aligner's words begin (RE2).

The first is a combining mark whose upper case is a letter. The others are circled letters: equal ones form one word.
"""


class _CaseModifier(WordModifier):
    scripts = "scripts with case, such as Latin, Greek and Cyrillic"

    def __call__(self, block: Block) -> Block:
        """Returns the block with some pairs changed."""
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

    def change(self, lines: pa.LargeStringArray) -> pa.LargeStringArray:
        """Returns lines in another case."""
        raise NotImplementedError

    def changed(self, before: str, character: str) -> str:
        """Returns a character in another case, given the previous character."""
        raise NotImplementedError

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


def _together(lines: pa.LargeStringArray, change: Callable[[str], str]) -> pa.LargeStringArray:
    """Changes all lines in one call: case never depends on text across a line end."""
    return pa.array(change("\n".join(lines.to_pylist())).split("\n"), pa.large_string())


class UpperCase(_CaseModifier):
    """Makes all letters of both sides upper case."""

    def change(self, lines: pa.LargeStringArray) -> pa.LargeStringArray:
        """Returns lines in upper case."""
        return _together(lines, str.upper)

    def changed(self, before: str, character: str) -> str:
        """Returns the character in upper case."""
        return character.upper()


class LowerCase(_CaseModifier):
    """Makes all letters of both sides lower case."""

    def change(self, lines: pa.LargeStringArray) -> pa.LargeStringArray:
        """Returns lines in lower case."""
        return _together(lines, str.lower)

    def changed(self, before: str, character: str) -> str:
        """Returns the character in lower case."""
        return character.lower()


class TitleCase(_CaseModifier):
    """Makes the first letter of each word upper case, with one space between words; text without case stays."""

    def change(self, lines: pa.LargeStringArray) -> pa.LargeStringArray:
        """Returns lines with first letters in upper case."""
        column = TextColumn.from_arrow(lines)
        return TextColumn(*title_lines(column.data, column.offsets)).to_arrow()

    def changed(self, before: str, character: str) -> str:
        """Returns the character in upper case if it begins a word between spaces."""
        return character.upper() if before in string.whitespace else character
