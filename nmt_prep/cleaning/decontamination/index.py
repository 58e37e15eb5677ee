"""The index of evaluation segments, and the search for pairs that contain one of them.

A segment has one or two sides. Its sides are compared with both sides of a pair, whatever their languages. A pair
matches a segment in one of these ways, the closest first:

- ``exact``: both sides are the same in all bytes.
- ``pair``: both sides are the same after normalization (:mod:`nmt_prep.cleaning.dedup.keys`).
- ``side``: one side is the same after normalization, and has at least 20 letters.
- ``covered``: one side has a share of at least ``coverage`` of the different n-grams of a side of the segment.

N-grams consist of two words, or of three characters in scripts that are written without spaces between words. Only
segments with at least 20 letters and six different n-grams can be covered. A character of a script without spaces
counts as two letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import _nmt_prep_core as core
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.columns import TextColumn
from nmt_prep.sides import Side

KINDS = ("none", "exact", "pair", "side", "covered")
"""The ways in which a pair matches a segment, by number."""

Numbers: TypeAlias = "npt.NDArray[np.int64]"
Kinds: TypeAlias = "npt.NDArray[np.uint8]"


@dataclass(frozen=True)
class Matches:
    """The segments that a batch of pairs contains.

    Attributes:
        closest: the number of the closest segment of each pair, -1 for none: int64, shape ``[pairs]``.
        kinds: how that segment matches, as an index into :data:`KINDS`: uint8, shape ``[pairs]``.
        shares: the share of its n-grams in the pair, 1 if lines are the same: float64, shape ``[pairs]``.
        found: the numbers of all segments that some pair matches, ascending: int64, shape ``[found]``.
        found_kinds: the closest kind of these: uint8, shape ``[found]``.
    """

    closest: Numbers
    kinds: Kinds
    shares: npt.NDArray[np.float64]
    found: Numbers
    found_kinds: Kinds


class SegmentIndex:
    """Finds segments in pairs. Threads may search at the same time."""

    def __init__(self, first: pa.Array, second: pa.Array, coverage: float | None) -> None:
        """Builds the index.

        Args:
            first: one side of each segment: an array of strings.
            second: the other side, of the same length; empty for segments with one side.
            coverage: the share of n-grams that makes a match, above 0; None to compare whole lines only.
        """
        self._size = len(first)
        one, other = map(TextColumn.from_arrow, (first, second))
        share = np.inf if coverage is None else coverage
        self._index = core.SegmentIndex(one.data, one.offsets, other.data, other.offsets, share)

    def __len__(self) -> int:
        return self._size

    def search(self, text: Mapping[Side, pa.Array]) -> Matches:
        """Finds the segments that pairs contain.

        Args:
            text: the lines of each side, arrays of strings; a corpus of one side has one entry.
        """
        columns = [TextColumn.from_arrow(lines) for lines in text.values()]
        one, other = columns if len(columns) == 2 else (columns[0], _empty(len(columns[0])))
        return Matches(*self._index.search(one.data, one.offsets, other.data, other.offsets))


def _empty(lines: int) -> TextColumn:
    return TextColumn(np.zeros(0, np.uint8), np.zeros(lines + 1, np.int64))
