"""A worker's epoch: its windows, and how many batches each of them has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from _nmt_prep_core import pack_rounds

from nmt_prep.errors import RecordsError
from nmt_prep.records.batch_rules import BatchRule
from nmt_prep.records.epoch import EpochOrder, Window
from nmt_prep.records.index import SATURATED
from nmt_prep.records.mixing import CorpusMix


class Place(NamedTuple):
    """Where an epoch is gone on with: the number of a window, and batches of it that were delivered before."""

    window: int
    done: int


@dataclass(frozen=True)
class WorkerEpoch:
    """The windows of a worker and the batches that they are cut into.

    Attributes:
        order: the windows.
        rule: what bounds a batch; where pairs are packed, ``pairs`` is the number of rows.
        mix: how often each pair is in the epoch; None for once.
        row_length: ids of the rows that pairs are packed into; None where they are not.
    """

    order: EpochOrder
    rule: BatchRule
    mix: CorpusMix | None = None
    row_length: int | None = None

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """The windows, none of them empty."""
        return tuple(self.order.windows())

    def batches(self) -> Iterator[int]:
        """Number of batches of each window, from the indexes alone: about a second for 100 million pairs."""
        return map(self._batches, self.windows)

    def place(self, batches: int) -> Place:
        """Where the epoch goes on after some batches; the end of it where there are no more."""
        left = batches
        if left:
            for number, count in enumerate(self.batches()):
                if left < count:
                    return Place(number, left)
                left -= count
            return Place(len(self.windows), 0)
        return Place(0, 0)

    def batches_of_each(self) -> list[int]:
        """Batches of the epoch of each worker of the job."""
        shards = self.order.num_shards
        workers = (replace(self, order=replace(self.order, shard_index=index)) for index in range(shards))
        return [sum(worker.batches()) for worker in workers]

    def _batches(self, window: Window) -> int:
        index = self.order.index
        if index.packed:
            return self.rule.count(np.array([window.take]))
        own = slice(window.skip, window.skip + window.take)
        copies = None if self.mix is None else self.mix.copies(index, window.runs)[own]
        source, target = (np.ascontiguousarray(side) for side in index.pairs_of(window.runs)[own, :2].T)
        longer = np.maximum(source, target)
        if self.rule.max_length is None and longer.max(initial=0) == SATURATED:
            raise RecordsError(
                f"a pair is longer than the {SATURATED - 1:,} ids that an index can tell: batches cannot be counted; "
                "set max_length"
            )
        if self.row_length is None:
            return self.rule.count(self.rule.admitted(longer, copies))
        kept = np.arange(len(longer)) if copies is None else np.repeat(np.arange(len(longer)), copies)
        if self.rule.too_long == "drop":
            kept = kept[longer[kept] <= self.row_length]
        sources, targets = (np.minimum(side[kept], self.row_length).astype(np.int32) for side in (source, target))
        rows = pack_rounds(sources, targets, self.row_length)
        return self.rule.count(np.array([np.count_nonzero(np.bincount(rows))]))
