"""Measures how vocabularies divide a text, for the ``vocab`` command and the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import Lines, count_ids, line_lengths

from nmt_prep.base.columns import TextColumn
from nmt_prep.subwords.tokenizer import Tokenizer

LISTED = 10  # Number of listed words


@dataclass(frozen=True)
class TextFit:
    """How a vocabulary divides a text."""

    words: int  # words as in the report's lengths
    characters: int
    pieces: int
    unknown: int  # unknown pieces; for a dialect that escapes unknown characters, their number
    partial: int  # pieces that are less than a character: bytes, or several bytes of a character
    size: int  # pieces of the vocabulary
    unused: int  # pieces of the vocabulary that do not occur
    cut: list[tuple[str, int]]  # the words that are cut into most pieces if they stand alone: word, number of pieces

    @classmethod
    def of(cls, tokenizer: Tokenizer, blocks: Iterable[pa.Array], threads: int | None = None) -> Self:
        """Measures a text, given as Arrow arrays of lines."""
        words = 0
        counts, points = np.zeros(len(tokenizer), np.int64), np.zeros(0x110000, np.int64)
        cut: dict[str, int] = {}
        for block in blocks:
            column = TextColumn.from_arrow(block)
            words += int(line_lengths(Lines(column.data, column.offsets), "word").sum())
            count_ids(counts, tokenizer.encode_batch(block, threads).values)
            text = column.data[column.offsets[0] : column.offsets[-1]].tobytes().decode()
            count_ids(points, np.frombuffer(text.encode("utf-32-le"), np.int32))
            cut |= _cut_words(tokenizer, block, threads)
        if tokenizer.unk_id is None:
            lacking = tokenizer.uncovered([chr(point) for point in np.flatnonzero(points).tolist()])
            unknown = sum(int(points[ord(character)]) for character in lacking)
        else:
            unknown = int(counts[tokenizer.unk_id])
        return cls(
            words=words,
            characters=int(points.sum()),
            pieces=int(counts.sum()),
            unknown=unknown,
            partial=int(counts[tokenizer.partial_pieces()].sum()),
            size=len(tokenizer),
            unused=int(np.count_nonzero(counts == 0)),
            cut=sorted(cut.items(), key=lambda entry: (-entry[1], entry[0]))[:LISTED],
        )


def _cut_words(tokenizer: Tokenizer, block: pa.Array, threads: int | None) -> dict[str, int]:
    words = pc.unique(pc.list_flatten(pc.utf8_split_whitespace(block)))
    pieces = pa.array(tokenizer.encode_batch(words, threads).lengths)
    order = [("pieces", "descending"), ("word", "ascending")]
    most = pa.table({"word": words, "pieces": pieces}).filter(pc.field("pieces") > 1).sort_by(order)[:LISTED]
    return dict(zip(*most.to_pydict().values(), strict=True))
