"""Measures how vocabularies divide a text, for the command ``vocab`` and the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import Lines, count_ids, line_lengths

from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.subwords.tokenizer import Tokenizer

LISTED = 10  # Number of listed words

_WHITE = np.isin(np.arange(256), [*b" \t\n\v\f\r"])


@dataclass(frozen=True)
class TextFit:
    """How a vocabulary divides a text."""

    lines: int
    words: int  # words as in the report's lengths
    characters: int
    pieces: int
    unknown: int  # unknown pieces; for a dialect that escapes unknown characters, their number
    partial: int  # pieces that are less than a character: bytes, or several bytes of a character
    size: int  # pieces of the vocabulary
    unused: int  # pieces of the vocabulary that do not occur
    cut: list[tuple[str, int]]  # the words that are cut into most pieces: word, number of pieces

    @classmethod
    def of(cls, tokenizer: Tokenizer, blocks: Iterable[pa.Array], threads: int | None = None) -> Self:
        """Measures a text, given as Arrow arrays of lines."""
        lines = words = characters = 0
        counts = np.zeros(len(tokenizer), np.int64)
        points = np.zeros(0x110000, np.int64)
        cut: dict[str, int] = {}
        for block in blocks:
            column = TextColumn.from_arrow(block)
            rows = tokenizer.encode_batch(block, threads)
            native = Lines(column.data, column.offsets)
            lines += len(column)
            words += int(line_lengths(native, "word").sum())
            characters += int(line_lengths(native, "char").sum())
            count_ids(counts, rows.values)
            raw = column.data[column.offsets[0] : column.offsets[-1]].tobytes()
            count_ids(points, np.frombuffer(raw.decode().encode("utf-32-le"), np.int32))
            cut = dict(_first([*cut.items(), *_cut_words(tokenizer, column, rows)]))
        seen = np.flatnonzero(points)
        if tokenizer.unk_id is None:
            lacking = tokenizer.uncovered([chr(point) for point in seen.tolist()])
            unknown = sum(int(points[ord(character)]) for character in lacking)
        else:
            unknown = int(counts[tokenizer.unk_id])
        return cls(
            lines=lines,
            words=words,
            characters=characters,
            pieces=int(counts.sum()),
            unknown=unknown,
            partial=int(counts[tokenizer.partial_pieces()].sum()),
            size=len(tokenizer),
            unused=int(np.count_nonzero(counts == 0)),
            cut=[*cut.items()],
        )


def _cut_words(tokenizer: Tokenizer, column: TextColumn, rows: Ragged) -> list[tuple[str, int]]:
    """Returns the words between spaces that have most pieces; a piece belongs to the word of its last byte."""
    first = int(column.offsets[0])
    text = column.data[first : column.offsets[-1]]
    black = np.append(~_WHITE[text], False)
    starts = column.offsets[:-1] - first
    begins = black.copy()
    begins[1:] &= ~black[:-1]
    begins[starts] |= black[starts]  # each line begins a word
    if not begins.any():
        return []
    spans = tokenizer.piece_spans(column, rows)
    line = np.repeat(np.arange(len(rows)), rows.lengths)
    last = starts[line] + spans.ends - 1
    last = last[spans.ends > spans.begins]
    pieces = np.bincount((np.cumsum(begins) - 1)[last[black[last]]], minlength=int(begins.sum()))
    best = np.argsort(-pieces, kind="stable")[: 20 * LISTED]
    places = np.flatnonzero(begins)
    ends = np.append(np.flatnonzero(~black), len(text))
    ends = np.minimum(ends[np.searchsorted(ends, places[best])], _line_ends(column, places[best]))
    words = (text[begin:end].tobytes().decode() for begin, end in zip(places[best], ends, strict=True))
    return [(word, count) for word, count in zip(words, pieces[best].tolist(), strict=True) if count > 1]


def _line_ends(column: TextColumn, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    ends: npt.NDArray[np.int64] = column.offsets[1:] - column.offsets[0]
    return ends[np.searchsorted(ends, places, side="right")]


def _first(words: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    best: dict[str, int] = {}
    for word, count in words:
        best[word] = max(best.get(word, 0), count)
    return sorted(best.items(), key=lambda entry: (-entry[1], entry[0]))[:LISTED]
