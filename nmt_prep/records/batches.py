"""Batches of ids as NumPy arrays, without TensorFlow: for PyTorch, JAX and anything else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from nmt_prep.columns import Ragged
from nmt_prep.records.arguments import check_at_least, check_choice, check_job_shard, check_positive
from nmt_prep.records.batch_rules import TOO_LONG, BatchRule, TooLong
from nmt_prep.records.check import check_records
from nmt_prep.records.epoch import EpochOrder, SplitIndex, Window
from nmt_prep.records.plan import Layout
from nmt_prep.records.reader import PairColumns, read_span
from nmt_prep.records.worker import WorkerEpoch

Int64s = npt.NDArray[np.int64]


class PairBatch(NamedTuple):
    """One batch of pairs.

    Attributes:
        source: rows of ids, each ending in eos.
        target: the same of the target.
    """

    source: Ragged
    target: Ragged


def read_records(
    run_dir: str | Path,
    split: str,
    *,
    batch_tokens: int = 4096,
    batch_size: int | None = None,
    max_length: int | None = 256,
    too_long: TooLong = "drop",
    shuffle: bool = True,
    seed: int = 0,
    epoch: int = 0,
    skip_batches: int = 0,
    num_shards: int = 1,
    shard_index: int = 0,
    equal_batches: bool = False,
    check: Literal["full", "quick"] = "full",
) -> Iterator[PairBatch]:
    """Batches of one epoch of a split, from the shards that a run wrote, without TensorFlow.

    The arguments mean what they mean in :func:`nmt_prep.make_dataset`, and the windows hold the same pairs; batches are
    cut from windows sorted by length, in an order of their own. Records of layout ``packed`` are read as pairs.

    Returns:
        An iterator over batches of :class:`~nmt_prep.columns.Ragged` columns.

    Raises:
        RecordsError: shards are missing, damaged, or not those of ``dataset.json``.
        ArgumentError: an argument is out of its range.
    """
    check_positive(batch_tokens=batch_tokens, batch_size=batch_size, max_length=max_length)
    check_at_least(0, skip_batches=skip_batches)
    check_choice(TOO_LONG, too_long=too_long)
    check_job_shard(num_shards, shard_index)
    records_dir = Path(run_dir) / "records"
    info = check_records(records_dir, split, check)
    index = replace(SplitIndex.load(records_dir, info, split), packed=False)
    rule = BatchRule(batch_tokens, batch_size, max_length=max_length, too_long=too_long)
    worker = WorkerEpoch(EpochOrder(index, seed if shuffle else None, epoch, num_shards, shard_index), rule)
    left = min(worker.batches_of_each()) - skip_batches if equal_batches else None
    return _batches(worker, info.layout, skip_batches, left, f"{seed}\n{epoch}\n{shard_index}" if shuffle else None)


def _batches(worker: WorkerEpoch, layout: Layout, skip: int, most: int | None, key: str | None) -> Iterator[PairBatch]:
    place = worker.place(skip)
    left = most
    for number, window in enumerate(worker.windows[place.window :], place.window):
        digest = hashlib.sha256(f"{key}\n{number}".encode()).digest()
        rng = None if key is None else np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))
        pairs = _read(worker.order.index, window, layout)
        cut = list(_cut(pairs, worker.rule, rng))
        for rows in cut[place.done if number == place.window else 0 :]:
            if left == 0:
                return
            left = None if left is None else left - 1
            length = worker.rule.max_length
            yield PairBatch(_rows(pairs.inputs, rows, length), _rows(pairs.targets, rows, length))


def _read(index: SplitIndex, window: Window, layout: Layout) -> PairColumns:
    table = index.runs
    parts = []
    for run in window.runs.tolist():
        shard, start = int(table.shard[run]), int(table.start[run])
        parts.append(read_span(index.paths[shard], start, index.end_of(run), layout))
    whole = PairColumns.joined(parts)
    stop = window.skip + window.take
    return PairColumns(
        Ragged(whole.inputs.values, whole.inputs.offsets[window.skip : stop + 1]),
        Ragged(whole.targets.values, whole.targets.offsets[window.skip : stop + 1]),
        None,
        whole.row_pairs[:0],
    )


def _cut(pairs: PairColumns, rule: BatchRule, rng: np.random.Generator | None) -> Iterator[Int64s]:
    """Numbers of the pairs of each batch, sorted as :func:`~nmt_prep.input.token_batches.longest_first` does."""
    source, target = pairs.inputs.lengths, pairs.targets.lengths
    longer = np.maximum(source, target)
    order = np.arange(len(longer)) if rng is None else rng.permutation(len(longer))
    if rule.max_length is not None:
        order = order[(longer[order] <= rule.max_length) | (rule.too_long == "truncate")]
        source, target, longer = (np.minimum(lengths, rule.max_length) for lengths in (source, target, longer))
    difference = np.where(longer % 2 == 0, source - target, target - source)
    order = order[np.lexsort((-difference[order], -longer[order]))]
    starts, row = [], 0
    lengths = np.maximum(longer[order], 1).tolist()
    while row < len(order):
        starts.append(row)
        row += rule.pairs or max(rule.tokens // lengths[row], 1)
    batches = np.split(order, starts[1:]) if starts else []
    numbers = range(len(batches)) if rng is None else rng.permutation(len(batches)).tolist()
    return (batches[number] for number in numbers)


def _rows(side: Ragged, rows: Int64s, max_length: int | None) -> Ragged:
    lengths = side.lengths[rows]
    if max_length is not None:
        lengths = np.minimum(lengths, max_length)
    ends = np.cumsum(lengths)
    places = np.arange(int(lengths.sum())) + np.repeat(side.offsets[rows] - (ends - lengths), lengths)
    return Ragged(side.values[places], np.concatenate([[0], ends]))
