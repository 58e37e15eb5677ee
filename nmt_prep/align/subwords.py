"""Links of pieces, from the links of words and from where words and pieces are in their line.

A piece and a word overlap if they have a byte in common. Two pieces are linked if they overlap with linked words.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.align.links import Links
from nmt_prep.align.words import Words
from nmt_prep.columns import Ragged, TextColumn
from nmt_prep.subwords import Tokenizer

Numbers: TypeAlias = "npt.NDArray[np.int64]"


def pieces_of(lines: TextColumn, rows: Ragged, tokenizer: Tokenizer) -> tuple[Words, npt.NDArray[np.bool_]]:
    """Returns the places of the pieces of lines, and whether they were found: bool, shape ``[lines]``.

    Args:
        lines: the lines.
        rows: their ids.
        tokenizer: the tokenizer that gave the ids.
    """
    spans = tokenizer.piece_spans(lines, rows)
    return Words(spans.begins, spans.ends, rows.offsets), spans.found


def piece_links(links: Links, words: tuple[Words, Words], pieces: tuple[Words, Words]) -> Links:
    """Returns the links of pieces that follow from the links of words, sorted by source, then target.

    Args:
        links: links of the words.
        words: the words of the source and the target lines.
        pieces: the pieces of the source and the target lines, with positions of the same kind.

    Raises:
        ValueError: the arguments have different numbers of lines.
    """
    if len({len(each.offsets) for each in (links, *words, *pieces)}) > 1:
        raise ValueError("links, words and pieces must be of the same lines")
    line = np.repeat(np.arange(len(links)), np.diff(links.offsets))
    ranges = [
        _overlapping(each, of, line, number) for each, of, number in zip(pieces, words, links.links.T, strict=True)
    ]
    (first, after), (other_first, other_after) = ranges
    across = other_after - other_first
    count = (after - first) * across
    link = np.repeat(np.arange(len(line)), count)
    place = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    source, target = first[link] + place // across[link], other_first[link] + place % across[link]
    order = np.lexsort((target, source, line[link]))
    found = np.column_stack([line[link], source, target])[order]
    new = np.ones(len(found), np.bool_)
    new[1:] = (found[1:] != found[:-1]).any(axis=1)  # a piece may be part of two words
    found = found[new]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(found[:, 0], minlength=len(links)))]).astype(np.int64)
    return Links(np.ascontiguousarray(found[:, 1:], np.int32), offsets, links.too_long)


def _overlapping(pieces: Words, words: Words, line: Numbers, word: npt.NDArray[np.int32]) -> tuple[Numbers, Numbers]:
    """Returns the first piece of a line that overlaps with each word, and the one after the last."""
    longest = max((int(each.ends.max()) for each in (pieces, words) if len(each.ends)), default=0) + 1
    piece_line = np.repeat(np.arange(len(pieces.offsets) - 1), np.diff(pieces.offsets))
    place = words.offsets[line] + word
    base = line * longest  # so that one search finds the pieces of all lines
    first = np.searchsorted(pieces.ends + piece_line * longest, words.begins[place] + base, side="right")
    after = np.searchsorted(pieces.begins + piece_line * longest, words.ends[place] + base, side="left")
    start = pieces.offsets[line]
    return first - start, np.maximum(after, first) - start
