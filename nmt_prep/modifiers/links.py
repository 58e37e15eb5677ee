"""Links as text and as numbers, for many pairs at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import link_lines, parse_links

from nmt_prep.columns import TextColumn

_ANY = 1 << 31


def numbers_of(
    links: pa.LargeStringArray, words: Sequence[npt.NDArray[np.int64]] | None = None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Returns the links of pairs as numbers, two for each link: int32; and their offsets by pair, in links: int64.

    Pairs whose text is no links, or with links of words that there are not, have none.

    Args:
        links: links such as ``0-0 1-2``.
        words: number of words of each source and target: int64, shape ``[pairs]``; None for any number.
    """
    column = TextColumn.from_arrow(links)
    source, target = words or [np.full(len(links), _ANY)] * 2
    return parse_links(column.data, column.offsets, source, target)


def first_wrong(links: pa.LargeStringArray) -> int | None:
    """Returns the place of the first text that is no links such as ``0-0 1-2``; None if there is none."""
    unread = np.flatnonzero(np.diff(numbers_of(links)[1]) == 0)
    blank = pc.equal(pc.ascii_trim(links.take(pa.array(unread)), " "), "").to_numpy(zero_copy_only=False)
    return None if blank.all() else int(unread[blank.argmin()])


def lines_of(numbers: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64]) -> pa.LargeStringArray:
    """Returns links as text; the inverse of :func:`numbers_of`."""
    return TextColumn(*link_lines(np.ascontiguousarray(numbers), offsets, "", 1)).to_arrow()
