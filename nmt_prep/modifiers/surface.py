"""UpperCase, LowerCase and TitleCase: the case of both sides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.modifiers.block import Block
from nmt_prep.modifiers.draws import Draws
from nmt_prep.modifiers.words import NO_LABEL, Part, Rewritten, WordModifier, WordPair, Words

_SPACED = re.compile(r"\S+", re.ASCII)
"""A word between spaces. A no-break space is within a word."""

_LETTER = re.compile("[A-Za-z]")

_MOVING = "[\u0345\u24b6-\u24e9]"
"""The characters whose case decides where words of the aligner begin (RE2).

They are a mark, which is a letter in upper case, and symbols, which are one word with others like them.
"""


class _CaseModifier(WordModifier):
    scripts = "scripts with case, such as Latin, Greek and Cyrillic"

    def __call__(self, block: Block) -> Block:
        """Returns the block with some pairs changed."""
        places = block.drawn(self.probability)
        if not len(places):
            return block
        drawn = block.taken(places)
        # One call for all lines: case never depends on text across a line end.
        sides = [self.change("\n".join(side.to_pylist())).split("\n") for side in (drawn.source, drawn.target)]
        if block.links is not None and block.units == "words":
            moving = [pc.match_substring_regex(side, _MOVING) for side in (drawn.source, drawn.target)]
            moved = np.flatnonzero(pc.or_(*moving).to_numpy(zero_copy_only=False))
            drawn = self.rewritten(drawn, moved, [Draws(0)] * len(moved))
        source, target = (pa.array(side, pa.large_string()) for side in sides)
        return block.with_columns(places, source, target, drawn.links)

    def change(self, lines: str) -> str:
        """Returns lines with line ends between them in another case."""
        raise NotImplementedError

    def changed(self, before: str, character: str) -> str:
        """Returns a character in another case, given the one before it."""
        return self.change(character)

    def rewrite(self, pair: WordPair, draws: Draws) -> Rewritten:
        """Returns the pair with each character changed by itself, to find the words of its links."""
        return Rewritten(list(self._parts(pair.source)), list(self._parts(pair.target)), [])

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

    def change(self, lines: str) -> str:
        """Returns lines in upper case."""
        return lines.upper()


class LowerCase(_CaseModifier):
    """Makes all letters of both sides lower case."""

    def change(self, lines: str) -> str:
        """Returns lines in lower case."""
        return lines.lower()


class TitleCase(_CaseModifier):
    """Makes the first letter of each word upper case, with one space between words."""

    def change(self, lines: str) -> str:
        """Returns the lines with first letters in upper case; those without letters of a case stay."""
        return "\n".join(
            " ".join([word[0].upper() + word[1:] for word in _SPACED.findall(line)])
            if _LETTER.search(line) or line.upper() != line.lower()
            else line
            for line in lines.split("\n")
        )

    def changed(self, before: str, character: str) -> str:
        """Returns the character in upper case if it begins a word between spaces."""
        return character if _SPACED.match(before) else character.upper()
