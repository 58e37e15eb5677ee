"""How the pairs of a window fall into batches, and so how many batches a window has, from lengths alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

Int64s: TypeAlias = "npt.NDArray[np.int64]"
TooLong: TypeAlias = Literal["drop", "truncate"]
TOO_LONG: tuple[str, ...] = get_args(TooLong)

_T2T_SHORTEST, _T2T_STEP = 8, 1.1


class Buckets(NamedTuple):
    """Classes of lengths, each with batches of its own.

    Attributes:
        limits: the longest length of each bucket, ascending; the last one is the longest there is.
        capacities: pairs in a batch of each.
    """

    limits: tuple[int, ...]
    capacities: tuple[int, ...]


class BatchRule(NamedTuple):
    """What bounds a batch. The length of a pair is that of its longer side.

    Attributes:
        tokens: most pairs times the longest length; a longer pair is a batch of its own. Not used with ``buckets``.
        pairs: pairs in a batch; used instead of ``tokens`` where it is not None.
        buckets: batches are of pairs of one bucket, in any order; None sorts the window by length.
        drop_remainder: whether a batch that is not full is left out: the last one of a window, or of each bucket in it.
        max_length: pairs that are longer are left out or cut; None takes all.
        too_long: which of the two.
    """

    tokens: int
    pairs: int | None = None
    buckets: Buckets | None = None
    drop_remainder: bool = False
    max_length: int | None = None
    too_long: TooLong = "drop"

    def admitted(self, longer: npt.NDArray[np.integer[Any]], copies: Int64s | None = None) -> Int64s:
        """Number of pairs of each length, from 0 on, once too long ones are left out or cut.

        Args:
            longer: lengths of pairs.
            copies: how often each pair is in the epoch; None for once.
        """
        histogram = np.bincount(longer, copies).astype(np.int64)
        if self.max_length is None or len(histogram) <= self.max_length + 1:
            return histogram
        admitted, too_long = np.split(histogram, [self.max_length + 1])
        if self.too_long == "truncate":
            admitted[-1] += too_long.sum()
        return admitted

    def count(self, histogram: Int64s) -> int:
        """Batches of a window, from the number of pairs of each length."""
        if self.buckets is not None:
            bucket_of = np.searchsorted(self.buckets.limits, np.arange(len(histogram)))
            counts = np.bincount(bucket_of, histogram, len(self.buckets.limits)).astype(np.int64)
            capacities = np.array(self.buckets.capacities)
            return int((counts // capacities if self.drop_remainder else -(-counts // capacities)).sum())
        if self.pairs is not None:
            total = int(histogram.sum())
            return total // self.pairs if self.drop_remainder else -(-total // self.pairs)
        batches = room = 0
        for length in np.flatnonzero(histogram)[::-1].tolist():
            left = int(histogram[length])
            taken = min(room, left)
            capacity = max(self.tokens // max(length, 1), 1)
            opened = -(-(left - taken) // capacity)
            room = opened * capacity - (left - taken) if opened else room - taken
            batches += opened
        return batches


def fixed_buckets(limits: Sequence[int], tokens: int, pairs: int | None = None) -> Buckets:
    """Buckets with these limits, whose batches hold ``pairs`` pairs, or as many as ``tokens`` allow at the limit."""
    ordered = tuple(sorted(set(limits)))
    return Buckets(ordered, tuple(pairs or max(tokens // limit, 1) for limit in ordered))


def t2t_buckets(longest: int, tokens: int) -> Buckets:
    """Tensor2Tensor's buckets (``data_reader.batching_scheme``, step 1.1, shortest 8).

    Boundaries grow by a tenth; a bucket ends before its boundary. A batch holds as many pairs as the tokens allow at
    the boundary, rounded down to a divisor of a highly composite number.
    """
    boundaries = []
    boundary = _T2T_SHORTEST
    while boundary < longest:
        boundaries.append(boundary)
        boundary = max(boundary + 1, int(boundary * _T2T_STEP))
    wanted = [max(1, tokens // boundary) for boundary in [*boundaries, longest]]
    window = _highly_composite(3 * max(wanted))
    divisors = [number for number in range(1, window + 1) if window % number == 0]
    capacities = tuple(max(number for number in divisors if number <= pairs) for pairs in wanted)
    return Buckets((*(boundary - 1 for boundary in boundaries), longest), capacities)


def best_limits(histogram: Sequence[tuple[int, int]], buckets: int) -> tuple[int, ...]:
    """The bucket limits that pad the least: the exact minimum over all choices, by dynamic programming.

    Args:
        histogram: pairs of length and count, ascending, as ``max_lengths`` in ``dataset.json``.
        buckets: how many at most.

    Returns:
        The limits, ascending; each is a length that occurs, the last one the longest. Empty without any lengths.
    """
    lengths, counts = (np.array([entry[part] for entry in histogram], np.int64) for part in (0, 1))
    size = len(lengths)
    if not size:
        return ()
    pairs, tokens = (np.concatenate([[0], np.cumsum(column)]) for column in (counts, counts * lengths))
    # cost[i, j]: cells of padding where lengths i to j share a bucket; padding[j]: of the best choice for 0 to j - 1.
    cost = lengths * (pairs[1:] - pairs[:-1, np.newaxis]) - (tokens[1:] - tokens[:-1, np.newaxis])
    impossible = np.iinfo(np.int64).max // 2
    cost = np.where(np.arange(size)[:, np.newaxis] <= np.arange(size), cost, impossible)
    padding = np.concatenate([[0], np.full(size, impossible)])
    choices = []
    for _ in range(min(buckets, size)):
        options = padding[:-1, np.newaxis] + cost
        choices.append(options.argmin(axis=0))
        padding = np.concatenate([[impossible], options.min(axis=0)])
    limits = []
    end = size
    for first in reversed(choices):
        limits.append(int(lengths[end - 1]))
        end = int(first[end - 1])
    return tuple(reversed(limits))


def _highly_composite(most: int) -> int:
    """The largest number up to ``most`` that has more divisors than all smaller ones."""
    divisors = np.zeros(most + 1, np.int64)
    for number in range(1, most + 1):
        divisors[number::number] += 1
    record = np.maximum.accumulate(divisors)
    return int(np.flatnonzero(divisors[1:] > record[:-1])[-1]) + 1
