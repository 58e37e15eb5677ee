"""Links as text and as numbers, for many pairs at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import link_lines

from nmt_prep.columns import TextColumn
from nmt_prep.modifiers.words import LINKS_PATTERN


def numbers_of(
    links: pa.LargeStringArray, words: Sequence[npt.NDArray[np.int64]]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Returns the links of pairs as numbers, two for each link: int32; and their offsets by pair, in links: int64.

    Pairs with a wrong link have none.

    Args:
        links: links such as ``0-0 1-2``.
        words: number of words of each source and target: int64, shape ``[pairs]``.
    """
    good = pc.match_substring_regex(links, LINKS_PATTERN)
    if not pc.all(good).as_py():
        links = pc.if_else(good, links, "")
    counts = pc.count_substring(links, "-").to_numpy(zero_copy_only=False).astype(np.int64)
    column = TextColumn.from_arrow(
        pc.binary_join_element_wise(links, pa.scalar("", links.type), pa.scalar(" ", links.type))
    )
    text = column.data[column.offsets[0] : column.offsets[-1]].tobytes().replace(b"-", b" ")
    numbers = np.fromstring(text, np.int32, sep=" ") if text.strip() else np.empty(0, np.int32)
    line = np.repeat(np.arange(len(counts)), counts)
    wrong = np.unique(line[(numbers[::2] >= words[0][line]) | (numbers[1::2] >= words[1][line])])
    if len(wrong):
        numbers = numbers[np.repeat(~np.isin(line, wrong), 2)]
        counts[wrong] = 0
    return numbers, np.concatenate([[0], np.cumsum(counts)])


def lines_of(numbers: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64]) -> pa.LargeStringArray:
    """Returns links as text; the inverse of :func:`numbers_of`."""
    data, line_offsets = link_lines(np.ascontiguousarray(numbers), offsets, "", 1)
    return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(line_offsets), pa.py_buffer(data))
