"""Places of the pieces of encoded lines: the bytes of a line that each piece was made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nmt_prep.columns import Ragged, TextColumn

_SPACES = b" \t\n\v\f\r"


@dataclass(frozen=True, slots=True)
class PieceSpans:
    """The bytes of its line that each piece was made from: those from ``begins`` to before ``ends``.

    Attributes:
        begins: int32, one for each id of the lines; they do not decrease within a line.
        ends: int32, likewise. The span of a piece that stands for no text is empty.
        found: bool, shape ``[lines]``: False for a line whose spans are not known, because the vocabulary changes its
            text in a way that cannot be traced. They are empty then.
    """

    begins: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    found: npt.NDArray[np.bool_]


def spans_by_size(lines: TextColumn, rows: Ragged, sizes: npt.NDArray[np.int64]) -> PieceSpans:
    """Returns the spans of pieces that are the text of their line, apart from ASCII white space.

    Args:
        lines: the lines.
        rows: their ids.
        sizes: bytes of text that each piece of the vocabulary stands for, without ASCII white space.
    """
    first, end = lines.offsets[:-1], lines.offsets[1:]
    text = np.flatnonzero(~np.isin(lines.data[: lines.offsets[-1]], [*_SPACES]))
    start = np.searchsorted(text, first)
    line = np.repeat(np.arange(len(rows)), rows.lengths)
    sums = np.concatenate([[0], np.cumsum(sizes[rows.values])])
    totals = np.diff(sums[rows.offsets])
    found = totals == np.searchsorted(text, end) - start
    places = np.append(text, lines.offsets[-1])
    own = start[line] + sums[:-1] - sums[rows.offsets[:-1]][line]
    begins = np.minimum(places[np.minimum(own, len(text))], end[line]) - first[line]
    last = np.minimum(own + sizes[rows.values] - 1, len(text) - 1)
    ends = np.where(sizes[rows.values] > 0, places[last] + 1 - first[line], begins)
    begins, ends = (np.where(found[line], each, 0).astype(np.int32) for each in (begins, ends))
    return PieceSpans(begins, ends, found)
