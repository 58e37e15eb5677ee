"""Grouping of rows into batches, one row at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence


def group_by_window(buckets: Sequence[int], window_size: int) -> tuple[list[list[int]], list[list[int]]]:
    """Returns the row numbers of each batch of ``tf.data.Dataset.group_by_window``: full windows, then the rest."""
    waiting: dict[int, list[int]] = defaultdict(list)
    full = []
    for row, bucket in enumerate(buckets):
        waiting[bucket].append(row)
        if len(waiting[bucket]) == window_size:
            full.append(waiting.pop(bucket))
    return full, [waiting[bucket] for bucket in sorted(waiting)]


def token_batch_sizes(longer: Sequence[int], batch_tokens: int) -> list[int]:
    """Returns the number of pairs in each batch of at most ``batch_tokens`` cells per side, for descending lengths."""
    sizes = []
    row = 0
    while row < len(longer):
        size = 1
        while row + size < len(longer) and (size + 1) * longer[row] <= batch_tokens:
            size += 1
        sizes.append(size)
        row += size
    return sizes
