"""Which pairs form which batch of a worker's epoch, for any loader.

A plan is a pure function of the dataset and the options. It lists the windows of the epoch, and tells from the shards'
indexes how many batches each window has. A loader reads the windows from ``plan.start`` on, lets
:func:`~nmt_prep.batches.window.cut_window` cut each into batches, copies the ids of the pairs that these name, and
stops after ``plan.batches_left``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from _nmt_prep_core import pack_rounds

from nmt_prep.batches import vectors
from nmt_prep.batches.epoch import WINDOW_PAIRS, EpochOrder, SplitIndex, Window
from nmt_prep.batches.mixing import CorpusMix, corpus_mix
from nmt_prep.batches.options import Options
from nmt_prep.batches.rules import BatchRule
from nmt_prep.batches.vectors import Int64s
from nmt_prep.errors import ArgumentError, RecordsError
from nmt_prep.records import DatasetInfo, check_records
from nmt_prep.records.index import SATURATED


class Place(NamedTuple):
    """Resume position: the number of a window, and how many batches of it were delivered before."""

    window: int
    done: int


@dataclass(frozen=True)
class BatchPlan:
    """The windows of a worker's epoch and the batches that they are cut into.

    Attributes:
        info: of the dataset.
        order: the order of the epoch, and the worker's part of it.
        rule: what bounds a batch.
        mix: how often each pair is in the epoch; None for once.
        pad_to_limits: whether batches are padded to the limits of their buckets.
        skip_batches: batches that were delivered before.
        equal_batches: whether the worker stops at the number of batches that all workers have.
    """

    info: DatasetInfo
    order: EpochOrder
    rule: BatchRule
    mix: CorpusMix | None = None
    pad_to_limits: bool = False
    skip_batches: int = 0
    equal_batches: bool = False

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """The windows, none of them empty."""
        return tuple(self.order.windows())

    def batches(self) -> Iterator[int]:
        """Returns the number of batches of each window, from the indexes: about a second for 100 million pairs."""
        return map(self._batches, self.windows)

    @cached_property
    def batches_of_all(self) -> int | None:
        """The number of batches that each worker delivers in an epoch; None where their numbers may differ."""
        if not self.equal_batches:
            return None
        orders = (replace(self.order, shard_index=index) for index in range(self.order.num_shards))
        return min(sum(replace(self, order=order).batches()) for order in orders)

    @cached_property
    def batches_left(self) -> int | None:
        """The number of batches to deliver from :attr:`start` on; None for all."""
        return None if self.batches_of_all is None else self.batches_of_all - self.skip_batches

    @cached_property
    def start(self) -> Place:
        """Where the epoch begins or resumes; behind the last window where all batches were delivered.

        Raises:
            ArgumentError: the epoch has fewer batches than ``skip_batches``.
        """
        if self.batches_of_all is not None and self.skip_batches > self.batches_of_all:
            raise self._too_many(self.batches_of_all)
        left = self.skip_batches
        if not left:
            return Place(0, 0)
        for number, count in enumerate(self.batches()):
            if left < count:
                return Place(number, left)
            left -= count
        if left:
            raise self._too_many(self.skip_batches - left)
        return Place(len(self.windows), 0)

    def _too_many(self, batches: int) -> ArgumentError:
        return ArgumentError(
            f"skip_batches is {self.skip_batches}, but this epoch has {batches} batches; give the options with which "
            "the skipped batches were counted, or begin the next epoch with skip_batches=0"
        )

    def _batches(self, window: Window) -> int:
        index = self.order.index
        if index.packed:
            return self.rule.count(np.array([window.take]))
        own = slice(window.skip, window.skip + window.take)
        pairs = index.pairs_of(window.runs)
        copies = None
        if self.mix is not None:
            copies = self.mix.copies(pairs[:, 2], window.runs, index.runs.pairs[window.runs], vectors)[own]
        source, target = (np.ascontiguousarray(side) for side in pairs[own, :2].T)
        longer = np.maximum(source, target)
        if self.rule.max_length is None and longer.max(initial=0) == SATURATED:
            raise RecordsError(
                f"a pair is longer than the {SATURATED - 1:,} ids that an index can tell: batches cannot be counted; "
                "set max_length"
            )
        if self.rule.row_length is None:
            return self.rule.count(self.rule.admitted(longer, copies))
        return self.rule.count(np.array([self._packed_rows(source, target, longer, copies)]))

    def _packed_rows(self, source: Int64s, target: Int64s, longer: Int64s, copies: Int64s | None) -> int:
        kept = np.arange(len(longer)) if copies is None else np.repeat(np.arange(len(longer)), copies)
        length = self.rule.row_length or 0
        if self.rule.too_long == "drop":
            kept = kept[longer[kept] <= length]
        sources, targets = (np.minimum(side[kept], length).astype(np.int32) for side in (source, target))
        return int(np.count_nonzero(np.bincount(pack_rounds(sources, targets, length))))


def plan_batches(
    run_dir: str | Path,
    split: str,
    options: Options,
    check: Literal["full", "quick"] = "full",
    window_pairs: int = WINDOW_PAIRS,
) -> BatchPlan:
    """Returns the plan of a worker's epoch over the shards of a run.

    Args:
        run_dir: directory of the run, which holds ``records``.
        split: name of the split.
        options: what the batches are.
        check: how thoroughly the shards are checked first, see :func:`nmt_prep.records.check_records`.
        window_pairs: pairs of a window, about.

    Raises:
        RecordsError: shards are missing, damaged, or not those of ``dataset.json``.
        ArgumentError: an option does not go with another one or with the records.
    """
    records_dir = Path(run_dir) / "records"
    info = check_records(records_dir, split, check)
    batching, order, sharding = options.batching, options.order, options.sharding
    rule = BatchRule.of(info, split, batching)
    index = SplitIndex.load(records_dir, info, split)
    if batching.packed is False:
        index = replace(index, packed=False)
    seed = order.seed if order.shuffle else None
    return BatchPlan(
        info,
        EpochOrder(index, seed, order.epoch, sharding.num_shards, sharding.shard_index, window_pairs),
        rule,
        corpus_mix(info, split, index, options.mixing, order.seed, order.epoch),
        batching.pad_to is not None,
        order.skip_batches,
        sharding.equal_batches,
    )
