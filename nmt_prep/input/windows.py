"""Reads the windows of epochs through ``tf.data``: first which runs belong to each, then their records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from nmt_prep.batches import BatchPlan
from nmt_prep.batches.cutting import PlannedWindow, Split
from nmt_prep.batches.epoch import SplitIndex
from nmt_prep.batches.vectors import Int64s
from nmt_prep.input import tensors
from nmt_prep.input.batching import Column, packed_column
from nmt_prep.records.index import PAIR_BYTES, index_path
from nmt_prep.records.plan import Layout

_WINDOWS_READ = 2
_HEADER = 4  # magic, version, pairs, rows; see core/records/chunk.h


class Pairs(NamedTuple):
    """Parsed pairs as columns.

    Attributes:
        source: the sources.
        target: the targets.
        corpora: int64, shape ``[pairs]``, or None in layout ``example``.
        row_pairs: int64, shape ``[rows]``: pairs in each row; empty if they are not packed.
    """

    source: Column
    target: Column
    corpora: tf.Tensor | None
    row_pairs: tf.Tensor


def parse(serialized: tf.Tensor | Pairs, layout: Layout) -> Pairs:
    """Parses the pairs of records: strings, shape ``[records]``; pairs of text have been encoded before."""
    if isinstance(serialized, Pairs):
        return serialized
    return _examples(serialized) if layout == "example" else _chunks(serialized)


def _examples(serialized: tf.Tensor) -> Pairs:
    feature = tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)
    parsed = tf.io.parse_example(serialized, {"inputs": feature, "targets": feature})
    source, target = (
        packed_column(tf.cast(parsed[name].values, tf.int32), parsed[name].row_lengths())
        for name in ("inputs", "targets")
    )
    return Pairs(source, target, None, tf.zeros([0], tf.int64))


def _chunks(serialized: tf.Tensor) -> Pairs:
    """Parses chunks. Only starts and lengths are computed: both sides share the records' values without a copy."""
    sizes = tf.cast(tf.strings.length(serialized), tf.int64) // 4
    values = tf.io.decode_raw(tf.strings.reduce_join(serialized), tf.int32, little_endian=True)
    begins = tf.cumsum(sizes, exclusive=True)

    def read(places: tf.Tensor) -> tf.Tensor:
        return tf.cast(tf.gather(values, places), tf.int64)

    pairs, rows = read(begins + 2), read(begins + 3)
    record = tensors.repeat(tf.range(tf.size(sizes)), pairs)
    first_pair = tf.cumsum(pairs, exclusive=True)
    place = tf.range(tf.size(record, tf.int64)) + tf.gather(begins + _HEADER - first_pair, record)
    column = tf.gather(pairs, record)
    source_lengths, target_lengths, corpora = read(place), read(place + column), read(place + 2 * column)
    source_ends, target_ends = (tf.concat([[0], tf.cumsum(lengths)], 0) for lengths in (source_lengths, target_lengths))
    ids = begins + _HEADER + 3 * pairs + rows
    before = tf.gather(source_ends, first_pair)
    targets = ids + tf.gather(source_ends, first_pair + pairs) - before - tf.gather(target_ends, first_pair)
    return Pairs(
        Column(values, source_ends[:-1] + tf.gather(ids - before, record), source_lengths),
        Column(values, target_ends[:-1] + tf.gather(targets, record), target_lengths),
        corpora,
        read(tensors.spans(ids - rows, rows)),
    )


_SCALAR, _VECTOR = tf.TensorSpec([], tf.int64), tf.TensorSpec([None], tf.int64)
_SPECS = PlannedWindow(_SCALAR, _VECTOR, _SCALAR, _SCALAR, _SCALAR, Split(_SCALAR, _SCALAR), _SCALAR, _VECTOR, _SCALAR)


def windows_of_epoch(plan: BatchPlan) -> tf.data.Dataset:
    """Returns a dataset of :class:`PlannedWindow`, beginning at the plan's start."""
    windows = list(plan.planned_windows())
    runs = tf.constant(np.concatenate([np.empty(0, np.int64), *(window.runs for window in windows)]))
    ends = np.cumsum([0, *(len(window.runs) for window in windows)])
    scalars = [[window.number, window.skip, window.take, window.done, *window.split] for window in windows]
    columns = np.array(scalars, np.int64).reshape(-1, 6)
    constants = windows[0][-3:] if windows else (np.int64(0), np.empty(0, np.int64), np.int64(0))

    def window(begin: tf.Tensor, end: tf.Tensor, scalars: tf.Tensor) -> PlannedWindow:
        number, skip, take, done, parts, more = tf.unstack(scalars)
        split = Split(parts, more)
        return PlannedWindow(number, runs[begin:end], skip, take, done, split, *map(tf.constant, constants))

    return tf.data.Dataset.from_tensor_slices((ends[:-1], ends[1:], columns)).map(window)


def windows_of_passes(plans: Callable[[int], BatchPlan]) -> tf.data.Dataset:
    """Returns a dataset of :class:`PlannedWindow` that gives another epoch in each pass over it.

    Args:
        plans: returns the plan of a pass, given its number from 0 on.
    """
    passes = count()

    def windows() -> Iterator[PlannedWindow]:
        return plans(next(passes)).planned_windows()

    return tf.data.Dataset.from_generator(windows, output_signature=_SPECS)


class WindowRecords(NamedTuple):
    """The content of a window.

    Attributes:
        window: the window.
        records: its records as strings, shape ``[records]``; the pairs themselves in layout ``text``.
        entries: the entries of their pairs in the indexes, as strings, shape ``[runs]``; None unless asked for.
    """

    window: PlannedWindow
    records: tf.Tensor | Pairs
    entries: tf.Tensor | None


def read_windows(plan: BatchPlan, windows: tf.data.Dataset, with_entries: bool = False) -> tf.data.Dataset:
    """Returns a dataset of :class:`WindowRecords`.

    Args:
        plan: a plan over the shards.
        windows: the windows to read, :class:`PlannedWindow`.
        with_entries: also read the entries of the indexes.
    """
    if plan.encoder is not None:
        return windows.map(partial(_encoded, plan), num_parallel_calls=_WINDOWS_READ, deterministic=True)
    index = plan.order.index
    paths, table = tf.constant([str(path) for path in index.paths], tf.string), index.runs
    shards, starts, records = (tf.constant(column, tf.int64) for column in (table.shard, table.start, table.records))
    sizes = tf.constant(index.run_ends - table.start, tf.int64)

    def run_records(run: tf.Tensor) -> tf.data.Dataset:
        only = tf.reshape(run, [1])
        opened = tf.raw_ops.TFRecordDatasetV2(
            filenames=tf.gather(paths, tf.gather(shards, only)),
            compression_type="",
            buffer_size=tf.gather(sizes, run),  # a larger buffer would also read what follows the run
            byte_offsets=tf.gather(starts, only),
        )
        return tf.data.experimental.from_variant(opened, tf.TensorSpec([], tf.string)).take(tf.gather(records, run))

    run_entries = _entries_of(index) if with_entries else None

    def window_records(window: PlannedWindow) -> tf.data.Dataset:
        runs = tf.data.Dataset.from_tensor_slices(window.runs)
        whole = runs.flat_map(run_records).batch(tf.reduce_sum(tf.gather(records, window.runs)))
        if run_entries is None:
            return whole.map(lambda read: WindowRecords(window, read, None))
        entries = runs.flat_map(run_entries).batch(tf.size(window.runs, tf.int64))
        return tf.data.Dataset.zip((whole, entries)).map(lambda read, entries: WindowRecords(window, read, entries))

    return windows.interleave(
        window_records, cycle_length=_WINDOWS_READ, num_parallel_calls=_WINDOWS_READ, deterministic=True
    )


def _encoded(plan: BatchPlan, window: PlannedWindow) -> WindowRecords:
    """Encodes the text of a window: a step in this process, outside of the graph."""

    def encode(runs: Int64s, epoch: Int64s) -> tuple[Any, ...]:
        pairs = plan.read(runs, int(epoch))
        return pairs.inputs.values, pairs.inputs.lengths, pairs.targets.values, pairs.targets.lengths, pairs.corpora

    kinds = [tf.int32, tf.int64, tf.int32, tf.int64, tf.int32]
    read = tf.numpy_function(encode, [window.runs, window.epoch], kinds)
    for column in read:
        column.set_shape([None])
    if plan.staged:
        window = window._replace(take=tf.size(read[1], tf.int64))
    source, target = packed_column(*read[:2]), packed_column(*read[2:4])
    return WindowRecords(window, Pairs(source, target, tf.cast(read[4], tf.int64), tf.zeros([0], tf.int64)), None)


def _entries_of(index: SplitIndex) -> Callable[[tf.Tensor], tf.data.Dataset]:
    """Returns a function that reads the entries of a run's pairs as one string."""
    files = [index_path(path) for path in index.paths]
    paths, sizes = tf.constant([str(file) for file in files]), tf.constant([file.stat().st_size for file in files])
    shards, first, pairs = (
        tf.constant(column, tf.int64) for column in (index.runs.shard, index.runs.first_pair, index.runs.pairs)
    )

    def run_entries(run: tf.Tensor) -> tf.data.Dataset:
        before, size = PAIR_BYTES * first[run], PAIR_BYTES * pairs[run]
        opened = tf.raw_ops.FixedLengthRecordDatasetV2(
            filenames=paths[shards[run], tf.newaxis],
            header_bytes=before,
            record_bytes=size,
            footer_bytes=tf.cast(sizes[shards[run]], tf.int64) - before - size,
            buffer_size=tf.constant(1 << 16, tf.int64),
            compression_type="",
        )
        return tf.data.experimental.from_variant(opened, tf.TensorSpec([], tf.string))

    return run_entries


def corpora_of(entries: tf.Tensor) -> tf.Tensor:
    """Returns the number of each pair's corpus, int64, from entries of an index: strings."""
    columns = tf.io.decode_raw(tf.strings.reduce_join(entries), tf.uint16, little_endian=True)
    return tf.cast(tf.reshape(columns, [-1, PAIR_BYTES // 2])[:, 2], tf.int64)
