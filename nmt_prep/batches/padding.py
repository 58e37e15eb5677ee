"""Padding the rows of a batch to a matrix, natively."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import pad_rows

from nmt_prep.batches.vectors import Int64s
from nmt_prep.columns import Ragged

_ONE_PAIR_EACH = np.empty(0, np.int64)


class Cells(IntEnum):
    """The content of a padded matrix: ids, or numbers that describe them."""

    IDS = 0
    SHIFTED = 1  # ids of each pair shifted right: a first id, then all but the last one
    SEGMENTS = 2  # number of the pair in its row, from 1
    POSITIONS = 3  # position in the pair, from 0


def pad_into(
    out: npt.NDArray[np.int64],
    side: Ragged,
    cells: Cells = Cells.IDS,
    *,
    row_pairs: Int64s | None = None,
    padding: int = 0,
    first: int = 0,
) -> None:
    """Fills a matrix with one side of a batch.

    Args:
        out: int64, shape ``[rows, width]``, contiguous.
        side: the ids of the pairs.
        cells: the content.
        row_pairs: int64, shape ``[rows]``: number of pairs in each row; None for one.
        padding: value after the last pair of a row.
        first: first id of each pair, for ``SHIFTED``.

    Raises:
        ValueError: a row is longer than the matrix is wide, or there are not as many rows.
    """
    pairs = _ONE_PAIR_EACH if row_pairs is None else row_pairs
    pad_rows(side.values, side.offsets, pairs, int(cells), padding, first, out)
