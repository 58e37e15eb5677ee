"""The limits of batches: buckets, and the number of batches of a window, computed from lengths alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from nmt_prep.base.errors import ArgumentError
from nmt_prep.training.batches.options import Options, TooLong
from nmt_prep.training.batches.vectors import Int64s
from nmt_prep.training.records.dataset_json import DatasetInfo, Histogram

_T2T_SHORTEST, _T2T_STEP = 8, 1.1
_MOST_LIMITS = 2048  # time and memory grow with its square


class Buckets(NamedTuple):
    """Buckets of lengths; a batch holds pairs of one bucket only."""

    limits: tuple[int, ...]  # maximum length of each bucket, ascending; the last one is the maximum length of all pairs
    capacities: tuple[int, ...]  # number of pairs in a batch of each bucket


class BatchRule(NamedTuple):
    """The limits of a batch. The length of a pair is that of its longer side."""

    # maximum of the number of pairs times the longest length; a longer pair forms a batch alone. Not used with
    # `buckets`.
    tokens: int
    # number of pairs (rows, if packed) in a batch; if not None, it is used instead of `tokens`
    pairs: int | None = None
    buckets: Buckets | None = None  # buckets of lengths; None sorts the window by length instead
    # True if an incomplete batch is left out: the last one of a window, or of each bucket in it
    drop_remainder: bool = False
    max_length: int | None = None  # maximum length of a pair; None takes all
    too_long: TooLong = "drop"  # whether longer pairs are dropped or truncated
    row_length: int | None = None  # length of packed rows in ids; None if pairs are not packed

    @classmethod
    def of(
        cls, info: DatasetInfo, split: str, options: Options, lengths: Callable[[], Histogram] | None = None
    ) -> BatchRule:
        """Returns the limits for a split under the given options.

        Args:
            lengths: returns the histogram of the longer sides of rows; None for the histogram of the pairs.
        """
        tokens = options.batch_tokens or info.input.batch_tokens
        longest = info.input.max_length if options.max_length == "config" else options.max_length
        row_length = _row_length(info, options, longest)
        if row_length is not None:
            rows = options.batch_size or max(tokens // row_length, 1)
            return cls(tokens, rows, None, options.drop_remainder, row_length, options.too_long, row_length)
        if options.pad_to is not None:
            longest = min(longest or max(options.pad_to), max(options.pad_to))
        by_length = options.pad_to is None and options.bucketing != "window"
        histogram = lengths() if lengths is not None and by_length else info.splits[split].max_lengths
        buckets = _buckets(histogram, options, tokens, longest)
        if options.drop_remainder and options.batch_size is None and buckets is None:
            raise ArgumentError("drop_remainder needs batch_size, pad_to or buckets: only then is there a full batch")
        return cls(tokens, options.batch_size, buckets, options.drop_remainder, longest, options.too_long)

    def limited(self, histograms: Int64s) -> Int64s:
        """Drops or truncates longer pairs in histograms of lengths: int64, shape ``[..., lengths]``."""
        if self.max_length is None or histograms.shape[-1] <= self.max_length + 1:
            return histograms
        admitted, too_long = np.split(histograms, [self.max_length + 1], axis=-1)
        if self.too_long == "truncate":
            admitted[..., -1] += too_long.sum(axis=-1)
        return admitted


def fixed_buckets(limits: Sequence[int], tokens: int, pairs: int | None = None) -> Buckets:
    """Returns buckets with these limits and ``pairs`` pairs per batch, or as many as ``tokens`` allow at the limit."""
    ordered = tuple(sorted(set(limits)))
    return Buckets(ordered, tuple(pairs or max(tokens // limit, 1) for limit in ordered))


def t2t_buckets(longest: int, tokens: int) -> Buckets:
    """Returns Tensor2Tensor's buckets (``data_reader.batching_scheme``, step 1.1, shortest 8).

    Boundaries grow by a tenth and are exclusive. A batch holds as many pairs as the tokens allow at the boundary,
    rounded down to a divisor of a highly composite number.
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
    """Returns the bucket limits with the least padding, the exact minimum, found by dynamic programming.

    If more than 2,048 lengths occur, the limits are chosen from as many of them, evenly spread.

    Args:
        histogram: pairs of length and count, ascending, as ``max_lengths`` in ``dataset.json``.

    Returns:
        The limits, ascending; all are lengths that occur, and the last is the longest. Empty if there are no lengths.
    """
    lengths, counts = (np.array([entry[part] for entry in histogram], np.int64) for part in (0, 1))
    size = len(lengths)
    if not size:
        return ()
    ends = np.linspace(0, size - 1, min(size, _MOST_LIMITS)).astype(np.int64)
    sums = (np.cumsum(column)[ends] for column in (counts, counts * lengths))
    pairs, tokens = (np.concatenate([[0], column]) for column in sums)
    lengths, size = lengths[ends], len(ends)
    # cost[i, j]: padding cells if lengths i to j share a bucket; padding[j]: the minimum for lengths 0 to j - 1.
    cost = lengths * (pairs[1:] - pairs[:-1, np.newaxis]) - (tokens[1:] - tokens[:-1, np.newaxis])
    impossible = np.iinfo(np.int64).max // 4
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


def _row_length(info: DatasetInfo, options: Options, max_length: int | None) -> int | None:
    """Returns the length of packed rows in ids; None if pairs are not packed."""
    rows_of_records = info.layout == "packed" and options.packed is not False
    if not (options.packed or rows_of_records):
        return None
    if options.pad_to is not None:
        raise ArgumentError("packed rows have one length; leave out pad_to")
    if rows_of_records and options.too_long == "truncate":
        raise ArgumentError(
            "records of layout packed leave out pairs longer than their rows; use layout chunk, or packed=False"
        )
    length = info.row_length if rows_of_records else max_length
    if length is None:
        raise ArgumentError("packed rows need max_length, which is their length")
    return length


def _buckets(histogram: Histogram, options: Options, tokens: int, max_length: int | None) -> Buckets | None:
    if options.pad_to is not None:
        return fixed_buckets(options.pad_to, tokens, options.batch_size)
    if options.bucketing == "window":
        return None
    longest = histogram[-1][0] if histogram else 1
    if options.bucketing == "t2t":
        buckets = t2t_buckets(max_length or longest, tokens)
        return buckets if options.batch_size is None else fixed_buckets(buckets.limits, tokens, options.batch_size)
    if max_length is not None and max_length < longest:
        cut = sum(count for length, count in histogram if length >= max_length)
        at_limit = cut if options.too_long == "truncate" else dict(histogram).get(max_length, 0)
        histogram = tuple(entry for entry in histogram if entry[0] < max_length)
        histogram = (*histogram, (max_length, at_limit)) if at_limit else histogram
    return fixed_buckets(best_limits(histogram, options.num_buckets) or (1,), tokens, options.batch_size)


@cache
def _highly_composite(most: int) -> int:
    """Returns the largest number up to ``most`` that has more divisors than all smaller ones."""
    divisors = np.zeros(most + 1, np.int64)
    for number in range(1, most + 1):
        divisors[number::number] += 1
    record = np.maximum.accumulate(divisors)
    return int(np.flatnonzero(divisors[1:] > record[:-1])[-1]) + 1
