"""Links of pieces, from the links of words and from where words and pieces are in their line.

A piece and a word overlap if they have a byte in common. Two pieces are linked if they overlap with linked words. White
space is not counted, so it does not matter how a dialect writes the spaces between words.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.align.links import Links
from nmt_prep.align.words import Words
from nmt_prep.columns import Ragged, TextColumn

_SPACES = b" \t\n\v\f\r"

Numbers: TypeAlias = "npt.NDArray[np.int64]"


def without_spaces(places: Words, lines: TextColumn) -> tuple[Words, Numbers]:
    """Returns stretches of lines with positions that do not count white space, and the length of each line.

    Only ASCII white space is left out.
    """
    first = int(lines.offsets[0]) if len(lines.offsets) else 0
    data = lines.data[first : int(lines.offsets[-1])]
    counted = np.concatenate([[0], np.cumsum(~np.isin(data, [*_SPACES]), dtype=np.int64)])
    starts = lines.offsets[:-1] - first
    own = np.repeat(starts, np.diff(places.offsets))
    begins, ends = (counted[own + each] - counted[own] for each in (places.begins, places.ends))
    return _places(begins, ends, places.offsets), counted[lines.offsets[1:] - first] - counted[starts]


def piece_places(rows: Ragged, sizes: Numbers, lengths: Numbers) -> tuple[Words, npt.NDArray[np.bool_]]:
    """Finds where the pieces of lines are, without counting white space.

    Args:
        rows: the ids of each line.
        sizes: bytes of text that each piece of the vocabulary stands for, without white space; -1 for a piece that
            stands for any text.
        lengths: bytes of each line, without white space.

    Returns:
        The stretches, and whether the pieces of a line are its text: bool, shape ``[lines]``. They are not if the
        dialect changes text (normalization) or escapes it. One piece in a line may stand for any text.
    """
    taken = sizes[rows.values]
    line = np.repeat(np.arange(len(rows)), rows.lengths)
    known = np.bincount(line, np.maximum(taken, 0), len(rows)).astype(np.int64)
    unknown = np.bincount(line[taken < 0], minlength=len(rows))
    rest = lengths - known
    fits = np.where(unknown == 1, rest > 0, (unknown == 0) & (rest == 0))
    taken = np.where(taken < 0, np.maximum(rest, 0)[line], taken)
    sums = np.concatenate([[0], np.cumsum(taken)])
    before = sums[rows.offsets[:-1]][line]
    return _places(sums[:-1] - before, sums[1:] - before, rows.offsets), fits


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
    found = np.unique(np.column_stack([line[link], source, target]), axis=0)  # a piece may be part of two words
    offsets = np.concatenate([[0], np.cumsum(np.bincount(found[:, 0], minlength=len(links)))]).astype(np.int64)
    return Links(np.ascontiguousarray(found[:, 1:], np.int32), offsets, links.too_long)


def _places(begins: Numbers, ends: Numbers, offsets: Numbers) -> Words:
    return Words(begins.astype(np.int32), ends.astype(np.int32), offsets)


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
