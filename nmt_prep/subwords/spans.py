"""Spans of pieces: the bytes of its line that a piece was made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nmt_prep.columns import Ragged, TextColumn

_SPACES = b" \t\n\v\f\r"


@dataclass(frozen=True, slots=True)
class PieceSpans:
    """Spans of the pieces of encoded lines. The span of a piece without text is empty.

    Attributes:
        begins: the first byte of each span in its line; int32, shape ``[ids]``; non-decreasing within a line.
        ends: the byte after each span; int32, shape ``[ids]``.
        known: bool, shape ``[lines]``. False for a line that the vocabulary changed in a way that cannot be traced; its
            spans are empty.
    """

    begins: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    known: npt.NDArray[np.bool_]


def spans_by_size(lines: TextColumn, rows: Ragged, sizes: npt.NDArray[np.int64]) -> PieceSpans:
    """Returns the spans of pieces that spell their line, apart from ASCII white space.

    Args:
        lines: the lines.
        rows: their ids.
        sizes: for each piece of the vocabulary the bytes of its text, without ASCII white space; int64.
    """
    first, end = lines.offsets[:-1], lines.offsets[1:]
    text = np.flatnonzero(~np.isin(lines.data[: lines.offsets[-1]], [*_SPACES]))
    start = np.searchsorted(text, first)
    line = np.repeat(np.arange(len(rows)), rows.lengths)
    sums = np.concatenate([[0], np.cumsum(sizes[rows.values])])
    totals = np.diff(sums[rows.offsets])
    known = totals == np.searchsorted(text, end) - start
    places = np.append(text, lines.offsets[-1])
    at = start[line] + sums[:-1] - sums[rows.offsets[:-1]][line]  # of the first byte of each piece, in text
    begins = np.minimum(places[np.minimum(at, len(text))], end[line]) - first[line]
    last = np.minimum(at + sizes[rows.values] - 1, len(text) - 1)
    ends = np.where(sizes[rows.values] > 0, places[last] + 1 - first[line], begins)
    begins, ends = (np.where(known[line], bounds, 0).astype(np.int32) for bounds in (begins, ends))
    return PieceSpans(begins, ends, known)
