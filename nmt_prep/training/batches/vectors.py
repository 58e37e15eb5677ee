"""The vector operations that a plan needs, on NumPy arrays.

`tensors` has the same functions on TensorFlow tensors; a plan takes either module. All numbers are
int64.
"""

from __future__ import annotations

import operator
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import pack_rounds, pack_sequences

Int64s: TypeAlias = "npt.NDArray[np.int64]"
Vectors: TypeAlias = ModuleType  # This module, or `tensors`

Vector: TypeAlias = Any  # A NumPy array or a TensorFlow tensor of one dimension

Scalar: TypeAlias = Any  # A number, or a tensor without dimensions


class PackedRows(NamedTuple):
    """Pairs in the order of their rows."""

    pairs: Vector  # int64, numbers of the pairs, row after row
    sizes: Vector  # int64, shape `[rows]`: pairs in each row, none of them 0


size = len
take = operator.getitem  # (vector, indices): the elements at the indices

_OF_NUMPY = {
    "repeat": "repeat",
    "minimum": "minimum",
    "maximum": "maximum",
    "where": "flatnonzero",  # indices at which a mask is true
    "choose": "where",  # (mask, a, b): elements of a where the mask is true, of b elsewhere
    "first_at_least": "searchsorted",  # (ascending vector, values): index of the first element not below each value
}


def __getattr__(name: str) -> Any:
    """Returns an operation of NumPy when it is first used, so that commands that only list stages do not load NumPy."""
    if name not in _OF_NUMPY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = globals()[name] = getattr(np, _OF_NUMPY[name])
    return function


def span(start: int, stop: int, step: int = 1, /) -> Int64s:
    """Returns the numbers from ``start`` to before ``stop``."""
    return np.arange(start, stop, step, dtype=np.int64)


def spans(starts: Int64s, sizes: Int64s, /) -> Int64s:
    """Concatenates the ranges from ``start`` to before ``start + size``."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)


def greatest(vector: Int64s, /) -> int:
    """Returns the largest element; undefined for an empty vector."""
    return int(vector.max(initial=0))


def total(vector: Int64s, /) -> int:
    """Returns the sum of all elements."""
    return int(vector.sum())


def sums_before(vector: Int64s, /) -> Int64s:
    """Returns the sum of the elements before each element."""
    return np.cumsum(vector) - vector


def counts(numbers: Int64s, size: int, /) -> Int64s:
    """Returns how often each number from 0 to ``size - 1`` occurs."""
    return np.bincount(numbers, minlength=size)


def argsort(vector: Int64s, /) -> Int64s:
    """Returns the indices that sort the elements in ascending order; the sort is stable."""
    if not len(vector):
        return np.empty(0, np.int64)
    # NumPy sorts 16-bit numbers ten times as fast as others: by the low digits first, then by the higher ones.
    keys = vector.astype(np.int64).view(np.uint64) - np.uint64(int(vector.min()) % 2**64)
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    while (keys := keys >> np.uint64(16)).any():
        order = order[np.argsort(keys[order].astype(np.uint16), kind="stable")]
    return order


def inverse(permutation: Int64s, /) -> Int64s:
    """Returns the inverse of a permutation."""
    places = np.empty_like(permutation)
    places[permutation] = np.arange(len(permutation))
    return places


def random(key: int, number: int, size: int, /) -> Int64s:
    """Returns random int64 numbers of the full range, which depend only on ``key`` and ``number``.

    They equal the numbers of ``tf.random.stateless_uniform`` with seed ``[key, number]`` and algorithm ``philox``:
    Philox4x32 with ten rounds (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011).
    """
    seed = np.array([key, number], np.int64).view(np.uint32).astype(np.uint64)
    mixed = [int(word[0]) for word in _philox(list(seed[:, np.newaxis]), 0x3EC8F720, 0x02461E29)]
    counters = np.arange((size + 1) // 2, dtype=np.uint64)
    half, low_half = np.uint64(32), np.uint64(0xFFFFFFFF)
    low = counters & low_half, counters >> half
    high = (np.full_like(counters, word) for word in mixed[2:])
    words = _philox([*low, *high], mixed[0], mixed[1])
    pairs = np.stack([words[0] | words[1] << half, words[2] | words[3] << half], axis=1)
    return pairs.ravel()[:size].view(np.int64)


def shuffled(key: int, number: int, size: int, /) -> Int64s:
    """Returns the numbers below ``size`` in the order of :func:`random` numbers."""
    return argsort(random(key, number, size))


def _philox(counter: list[npt.NDArray[np.uint64]], key0: int, key1: int) -> list[npt.NDArray[np.uint64]]:
    """Returns the four 32-bit words that Philox4x32-10 computes from each counter, in arrays of uint64."""
    half, low_half = np.uint64(32), np.uint64(0xFFFFFFFF)
    for _ in range(10):
        first, second = np.uint64(0xD2511F53) * counter[0], np.uint64(0xCD9E8D57) * counter[2]
        counter = [
            (second >> half) ^ counter[1] ^ np.uint64(key0),
            second & low_half,
            (first >> half) ^ counter[3] ^ np.uint64(key1),
            first & low_half,
        ]
        key0, key1 = (key0 + 0x9E3779B9) % 2**32, (key1 + 0xBB67AE85) % 2**32
    return counter


def jumps(widths: Int64s, /) -> Int64s:
    """Returns a walk's steps from index 0 whose step at each index is the element there; clips the last one."""
    steps, place = [], 0
    while place < len(widths):
        steps.append(min(int(widths[place]), len(widths) - place))
        place += steps[-1]
    return np.array(steps, np.int64)


def pack_rows(source: Int64s, target: Int64s, length: int, /) -> PackedRows:
    """Packs pairs into rows with ``length`` IDs per side, given their sides' lengths, none above ``length``."""
    return _by_row(pack_rounds(source.astype(np.int32), target.astype(np.int32), length))


def pack_one_side(lengths: Int64s, length: int, /) -> PackedRows:
    """Packs sequences into rows of ``length`` IDs by best fit, given their lengths, none above ``length``."""
    return _by_row(pack_sequences(lengths.astype(np.int32), length))


def _by_row(rows: npt.NDArray[np.int32]) -> PackedRows:
    rows_of = rows.astype(np.int64)
    sizes = np.bincount(rows_of)
    return PackedRows(argsort(rows_of), sizes[sizes > 0])
