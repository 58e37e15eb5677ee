"""Batches of ids as NumPy arrays, without TensorFlow: for PyTorch, JAX and anything else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, Unpack

import numpy as np

from nmt_prep.batches import vectors
from nmt_prep.batches.epoch import WINDOW_PAIRS, Window
from nmt_prep.batches.options import Keywords, Options
from nmt_prep.batches.plan import BatchPlan, WindowPairs, cut_window, plan_batches
from nmt_prep.batches.vectors import Int64s
from nmt_prep.columns import Ragged
from nmt_prep.records.reader import PairColumns, read_span


@dataclass(frozen=True, slots=True)
class IdBatch:
    """One batch of pairs; ``source, target = batch`` unpacks the ids.

    Attributes:
        source: ids of the sources, one row per pair, each ending in eos unless it was truncated.
        target: ids of the targets, likewise.
        row_pairs: int64, shape ``[rows]``: number of pairs in each packed row, whose pairs are consecutive in
            ``source`` and ``target``; None if pairs are not packed.
        width: length to which both sides are to be padded; None for the longest row of each side.
    """

    source: Ragged
    target: Ragged
    row_pairs: Int64s | None = None
    width: int | None = None

    def __iter__(self) -> Iterator[Ragged]:
        return iter((self.source, self.target))


def read_records(
    run_dir: str | Path, split: str, *, check: Literal["full", "quick"] = "full", **options: Unpack[Keywords]
) -> Iterator[IdBatch]:
    """Returns the batches of one epoch of a split, from the shards that a run wrote, without TensorFlow.

    With the same options the batches, their order and the order of their pairs are those of
    :func:`nmt_prep.make_dataset`.

    Args:
        run_dir: directory of the run, which holds ``records``, or of an output of kind ``tfrecord``.
        split: name of the split.
        check: how thoroughly the shards are checked first, see :func:`nmt_prep.records.check_records`.
        options: attributes of :class:`BatchOptions`, :class:`MixOptions`, :class:`EpochOptions` and
            :class:`ShardOptions`, or instances of these as ``batching``, ``mixing``, ``order`` and ``sharding``.

    Returns:
        An iterator over batches of :class:`~nmt_prep.columns.Ragged` columns.

    Raises:
        RecordsError: shards are missing, damaged, or not those of ``dataset.json``.
        ArgumentError: an option is out of range, or conflicts with another one.
    """
    return read_batches(plan_batches(run_dir, split, Options.of(options), check, WINDOW_PAIRS))


def read_batches(plan: BatchPlan) -> Iterator[IdBatch]:
    """Returns the batches of a plan.

    Raises:
        RecordsError: a shard is damaged; raised when the iterator reaches the damage.
        ArgumentError: ``skip_batches`` exceeds the number of batches in the epoch.
    """
    first, done = plan.start
    windows = enumerate(plan.windows[first:], first)
    batches = (
        batch
        for number, window in windows
        for batch in _batches_of_window(plan, number, window, done if number == first else 0)
    )
    return islice(batches, plan.batches_left)


def _batches_of_window(plan: BatchPlan, number: int, window: Window, done: int) -> Iterator[IdBatch]:
    pairs = _read(plan, window)
    corpora, row_pairs = pairs.corpora, pairs.row_pairs
    lengths = pairs.inputs.lengths, pairs.targets.lengths
    cut = cut_window(
        plan, WindowPairs(number, window.runs, window.skip, window.take, done, *lengths, corpora, row_pairs), vectors
    )
    pair = row = 0
    for batch, size in enumerate(cut.sizes.tolist()):
        rows = None if cut.row_pairs is None else cut.row_pairs[row : row + size]
        row += size
        count = size if rows is None else int(rows.sum())
        chosen = cut.pairs[pair : pair + count]
        pair += count
        width = plan.rule.row_length if cut.widths is None else int(cut.widths[batch])
        source, target = (_rows(side, chosen, plan.rule.max_length) for side in (pairs.inputs, pairs.targets))
        yield IdBatch(source, target, rows, width)


def _read(plan: BatchPlan, window: Window) -> PairColumns:
    index = plan.order.index
    table = index.runs
    parts = []
    for run in window.runs.tolist():
        path, start = index.paths[int(table.shard[run])], int(table.start[run])
        parts.append(read_span(path, start, index.end_of(run), plan.info.layout))
    return PairColumns.joined(parts)


def _rows(side: Ragged, rows: Int64s, max_length: int | None) -> Ragged:
    starts = side.offsets[rows]
    lengths = side.offsets[rows + 1] - starts
    if max_length is not None:
        lengths = np.minimum(lengths, max_length)
    values = side.values[vectors.spans(starts, lengths)]
    return Ragged(values, np.concatenate([[0], np.cumsum(lengths)]))
