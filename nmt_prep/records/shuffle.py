"""The global shuffle: a uniform permutation of all pairs of a split that can be computed for any row by itself."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import shuffle_positions, shuffle_rows_at

MAX_ROWS = 1 << 40
ROUNDS = 12

_VERSION = "nmt_prep global shuffle 1"


@dataclass(frozen=True)
class GlobalShuffle:
    """A bijection of ``[0, rows)`` from row numbers to positions, fixed by rows, seed and split.

    It needs no array of the split's size, and any worker can compute any part in any order. The values are part of the
    format: they never change for a given version of the shuffle.

    Attributes:
        rows: pairs in the split, 0 to 2**40.
        seed: the config's seed.
        split: name of the split, so that splits with the same seed differ.

    Raises:
        ValueError: rows are out of range.
    """

    rows: int
    seed: int
    split: str

    def __post_init__(self) -> None:
        if not 0 <= self.rows <= MAX_ROWS:
            raise ValueError(f"a split has 0 to 2**40 pairs, got {self.rows}")

    @cached_property
    def keys(self) -> npt.NDArray[np.uint64]:
        """The round keys, uint64, shape ``[12]``: SHA-256 of version, seed, split and a block number."""
        stem = f"{_VERSION}\n{self.seed}\n{self.split}\n"
        blocks = [hashlib.sha256(f"{stem}{block}".encode()).digest() for block in range(ROUNDS // 4)]
        return np.frombuffer(b"".join(blocks), "<u8").astype(np.uint64)

    def positions(self, first_row: int, count: int) -> npt.NDArray[np.int64]:
        """Returns the positions of ``count`` consecutive rows, int64, shape ``[count]``.

        Raises:
            ValueError: the rows are not all in the split.
        """
        return shuffle_positions(self.keys, self.rows, first_row, count)

    def rows_at(self, positions: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Returns the rows that were moved to the given positions, int64: the inverse of :meth:`positions`.

        Raises:
            ValueError: a position is outside ``[0, rows)``.
        """
        return shuffle_rows_at(self.keys, self.rows, np.ascontiguousarray(positions, np.int64))
