"""Splitting batches in two or more, so that all workers get equally many without losing a pair."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmt_prep.batches.vectors import Int64s, Scalar, Vector, Vectors


class Split(NamedTuple):
    """The number of parts that each batch of a window is split into.

    A batch is split into ``parts`` parts, or into single pairs if it has fewer. The last ``more`` of the larger batches
    are split into one part more.

    Attributes:
        parts: at least 1.
        more: number of batches.
    """

    parts: Scalar
    more: Scalar


WHOLE = Split(1, 0)
"""Splits nothing."""


def split_into(sizes: Int64s, batches: int) -> Split:
    """Returns the split that makes a given number of batches, in as few parts each as possible.

    Args:
        sizes: pairs (rows, if packed) in each batch of a window, in any order.
        batches: number wanted, from the number of batches to that of pairs.
    """
    parts, made, largest = 1, len(sizes), int(sizes.max(initial=1))
    while parts < largest:
        larger = int(np.count_nonzero(sizes > parts))
        if made + larger > batches:
            break
        parts, made = parts + 1, made + larger
    return Split(parts, batches - made)


class Parts(NamedTuple):
    """The batches of a window after some were split.

    Attributes:
        batch: int64: number of the batch that each part belongs to, ascending.
        before: int64: number of pairs (rows, if packed) of that batch before the part.
        sizes: int64: pairs (rows, if packed) in each part, none of them 0.
    """

    batch: Vector
    before: Vector
    sizes: Vector


def split_batches(sizes: Vector, split: Split, on: Vectors) -> Parts:
    """Splits the batches of a window; the parts of a batch differ by at most one pair, and larger ones come first.

    Args:
        sizes: int64: pairs (rows, if packed) in each batch, in the order of delivery, none of them 0.
        split: the number of parts.
        on: the operations on vectors.
    """
    count = on.size(sizes)
    larger = on.where(sizes > split.parts)
    parts = on.minimum(sizes, split.parts) + on.counts(larger[on.size(larger) - split.more :], count)
    batch = on.repeat(on.span(0, count), parts)
    number = on.span(0, on.size(batch)) - on.take(on.sums_before(parts), batch)
    of = on.take(parts, batch)
    part_sizes = (on.take(sizes, batch) + of - 1 - number) // of
    before = on.sums_before(part_sizes) - on.take(on.sums_before(sizes), batch)
    return Parts(batch, before, part_sizes)
