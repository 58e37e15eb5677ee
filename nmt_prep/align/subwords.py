"""Links of pieces, from the links of words and from where words and pieces are in their line.

A piece and a word overlap if they have a byte in common. Two pieces are linked if they overlap with linked words.
"""

from __future__ import annotations

import _nmt_prep_core as core
import numpy as np
import numpy.typing as npt

from nmt_prep.align.links import Links
from nmt_prep.align.words import Words
from nmt_prep.columns import Ragged, TextColumn
from nmt_prep.subwords import Tokenizer


def pieces_of(lines: TextColumn, rows: Ragged, tokenizer: Tokenizer) -> tuple[Words, npt.NDArray[np.bool_]]:
    """Returns the places of the pieces of lines, and whether they were found: bool, shape ``[lines]``.

    Args:
        lines: the lines.
        rows: their ids.
        tokenizer: the tokenizer that gave the ids.
    """
    spans = tokenizer.piece_spans(lines, rows)
    return Words(spans.begins, spans.ends, rows.offsets), spans.known


def piece_links(links: Links, words: tuple[Words, Words], pieces: tuple[Words, Words]) -> Links:
    """Returns the links of pieces that follow from the links of words, sorted by source, then target.

    Args:
        links: links of the words.
        words: the words of the source and the target lines.
        pieces: the pieces of the source and the target lines, with positions of the same kind.

    Raises:
        ValueError: the arguments have different numbers of lines, or a link has no word.
    """
    spans = [(each.begins, each.ends, each.offsets) for each in (*words, *pieces)]
    numbers = np.ascontiguousarray(links.links, np.int32).reshape(-1)
    found, offsets = core.piece_links(numbers, links.offsets, *spans)
    return Links(found.reshape(-1, 2), offsets, links.too_long)
