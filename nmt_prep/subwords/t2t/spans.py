r"""Places of pieces in lines. Pieces have underscores for the ends of tokens, and escapes for some characters.

An escape is ``\u`` for an underscore, ``\\`` for a backslash, or ``\12345;``; it may be divided into several pieces.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from nmt_prep.columns import Ragged, TextColumn
from nmt_prep.subwords.spans import PieceSpans

_ASCII_WHITE = re.compile(r"[ \t\n\v\f\r]")
_ESCAPED = re.compile(r"\\(?:u|\\|([0-9]{1,7});)")
_UNIT = re.compile(rf"{_ESCAPED.pattern}|.", re.DOTALL)


def text_sizes(pieces: Sequence[str]) -> npt.NDArray[np.int64]:
    """Returns the bytes of text that each piece stands for, without ASCII white space: int64, shape ``[pieces]``.

    A part of an escape counts as the text that it looks like, which is longer than the escaped character.
    """
    texts = (_ESCAPED.sub(_unescaped, piece.removesuffix("_")) for piece in pieces)
    return np.array([len(_ASCII_WHITE.sub("", text).encode()) for text in texts], np.int64)


def with_escapes(spans: PieceSpans, lines: TextColumn, rows: Ragged, pieces: Sequence[str]) -> PieceSpans:
    """Returns spans with those of the lines that have divided escapes, which sizes do not place."""
    begins, ends, found = spans.begins.copy(), spans.ends.copy(), spans.found.copy()
    for number in np.flatnonzero(~spans.found).tolist():
        line = lines.data[lines.offsets[number] : lines.offsets[number + 1]].tobytes().decode()
        placed = _places(line, [pieces[each] for each in rows[number].tolist()])
        if placed is not None:
            own = slice(rows.offsets[number], rows.offsets[number + 1])
            begins[own], ends[own], found[number] = *placed, True
    return PieceSpans(begins, ends, found)


def _places(line: str, pieces: Sequence[str]) -> tuple[list[int], list[int]] | None:
    """Returns where pieces begin and end in a line, in bytes; None if they are not the pieces of the line."""
    at = [0, *accumulate(len(character.encode()) for character in line)]
    begins, ends = list[int](), list[int]()  # of each character of the joined pieces
    place = 0
    for unit in _UNIT.finditer("".join(pieces)):
        ended = unit[0] == "_"  # a token, which has no text for it
        if not ended:
            character = "\\" if unit[0] == r"\\" else _ESCAPED.sub(_unescaped, unit[0])
            if line[place : place + 1] == " " != character:
                place += 1  # a space between two words has no piece
            if line[place : place + 1] != character:
                return None
        size = len(unit[0])
        begins += [at[place]] * size
        place += not ended
        ends += [at[place]] * size
    if place != len(line):
        return None
    bounds = [0, *accumulate(map(len, pieces))]
    return [begins[first] for first, _ in pairwise(bounds)], [ends[last - 1] for _, last in pairwise(bounds)]


def _unescaped(match: re.Match[str]) -> str:
    if match[1] is None:
        return "_"  # or a backslash, which has as many bytes
    return chr(int(match[1])) if int(match[1]) <= sys.maxunicode else ""
