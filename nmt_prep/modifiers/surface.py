"""UpperCase, LowerCase and TitleCase: the case of both sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import pyarrow as pa

from nmt_prep.modifiers.block import Block, LineModifier
from nmt_prep.modifiers.words import SPACED


class _CaseModifier(LineModifier):
    scripts = "scripts with case, such as Latin, Greek and Cyrillic"
    change: ClassVar[Callable[[str], str]]

    def __call__(self, block: Block) -> Block:
        """Returns the block with some pairs changed."""
        places, change = block.drawn(self.probability), type(self).change
        if not len(places):
            return block
        # One call for all lines: case never depends on text across a line end.
        sides = [change("\n".join(side.take(pa.array(places)).to_pylist())) for side in (block.source, block.target)]
        return block.with_columns(places, *(pa.array(side.split("\n"), pa.large_string()) for side in sides))


class UpperCase(_CaseModifier):
    """Makes all letters of both sides upper case."""

    change = str.upper


class LowerCase(_CaseModifier):
    """Makes all letters of both sides lower case."""

    change = str.lower


def _title(lines: str) -> str:
    return "\n".join(
        " ".join([word[0].upper() + word[1:] for word in SPACED.findall(line)])
        if line.upper() != line.lower()
        else line
        for line in lines.split("\n")
    )


class TitleCase(_CaseModifier):
    """Makes the first letter of each word upper case, with one space between words."""

    change = _title
