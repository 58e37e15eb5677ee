"""Random numbers that depend only on a row's key and the number of the draw: SplitMix64 (Steele et al., 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Keys: TypeAlias = "npt.NDArray[np.uint64]"
T = TypeVar("T")

# SplitMix64 adds a constant to its state and scrambles the sum, so draw n of a key scrambles `key + (n + 1) * _STEP`:
# any draw can be computed by itself, for one row in Python integers or for all rows in NumPy, which wraps at 2**64 like
# the mask. Both ways, and the native core, must give equal numbers.
_STEP = 0x9E3779B97F4A7C15  # 2**64 / golden ratio
_FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_MASK = (1 << 64) - 1
_TOGETHER = 16  # Draws of each row that are computed in advance


def mixed(keys: Keys, number: int | npt.NDArray[np.integer]) -> Keys:
    """Returns keys that depend on the given keys and a number (or one per key) from 0: uint64, shape ``[keys]``."""
    if isinstance(number, int):
        return scrambled(keys + np.uint64((number + 1) * _STEP & _MASK))
    return scrambled(keys + (number.astype(np.uint64) + np.uint64(1)) * np.uint64(_STEP))


def scrambled(x: Keys) -> Keys:
    """Returns pseudo-random numbers, different for different input: uint64, in the same shape."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(_FACTORS[0])
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_FACTORS[1])
    return np.asarray(x ^ (x >> np.uint64(31)), np.uint64)


def uniform(keys: Keys, number: int | npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
    """Returns one draw per key, given its number: from 0 to 1, as :meth:`Draws.random` returns it."""
    return np.asarray((mixed(keys, number) >> np.uint64(11)) * 2.0**-53, np.float64)


class Draws:
    """The draws of one row, one after another; the methods are named as in Python's ``random``.

    Args:
        key: key of the row.
        taken: number of earlier draws, which are skipped.
    """

    __slots__ = ("_made", "_state")

    def __init__(self, key: int, taken: int = 0) -> None:
        self._state, self._made = (key + taken * _STEP) & _MASK, list[int]()

    @classmethod
    def of_rows(cls, keys: Keys, taken: int) -> list[Draws]:
        """Returns the draws of some rows; the first draws of all rows are computed together."""
        # In reverse, since `pop` takes from the end of a list.
        made = [mixed(keys, number) for number in range(taken + _TOGETHER - 1, taken - 1, -1)]
        rows = [cls(key, taken + _TOGETHER) for key in keys.tolist()]
        for draws, numbers in zip(rows, np.stack(made, axis=1).tolist(), strict=True):
            draws._made = numbers
        return rows

    def _next(self) -> int:
        if self._made:
            return self._made.pop()
        self._state = x = (self._state + _STEP) & _MASK
        x = ((x ^ (x >> 30)) * _FACTORS[0]) & _MASK
        x = ((x ^ (x >> 27)) * _FACTORS[1]) & _MASK
        return x ^ (x >> 31)

    def random(self) -> float:
        """Returns a number from 0 to 1, without 1."""
        return (self._next() >> 11) * 2.0**-53

    def randrange(self, start: int, stop: int | None = None) -> int:
        """Returns an integer in ``[start, stop)``; in ``[0, start)`` without ``stop``."""
        # The high word of a product scales a draw to a range without division (Lemire, "Fast Random Integer Generation
        # in an Interval", 2019); the bias, below range / 2**64, is not corrected, so a number costs exactly one draw.
        low, high = (0, start) if stop is None else (start, stop)
        return low + ((self._next() * (high - low)) >> 64)

    def randint(self, low: int, high: int) -> int:
        """Returns an integer from ``low`` to ``high``."""
        return self.randrange(low, high + 1)

    def choice(self, items: Sequence[T]) -> T:
        """Returns one of the items."""
        return items[self.randrange(len(items))]
