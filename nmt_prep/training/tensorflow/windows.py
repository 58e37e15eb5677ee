"""Reads the windows of epochs through ``tf.data``: first the numbers of the runs of each window, then their records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from nmt_prep.base.columns import Ragged
from nmt_prep.training.batches import BatchPlan
from nmt_prep.training.batches.batch_reader import read_window
from nmt_prep.training.batches.cutting import WHOLE, PlannedWindow, Split
from nmt_prep.training.batches.epoch import SplitIndex
from nmt_prep.training.records.index import PAIR_BYTES, index_path
from nmt_prep.training.records.record_columns import TYPES, column_path
from nmt_prep.training.records.shuffle_plan import Layout
from nmt_prep.training.tensorflow import tensors
from nmt_prep.training.tensorflow.batching import Column, packed_column, python_step

_WINDOWS_READ = 2
_HEADER = 4  # magic, version, pairs, rows; see core/records/chunk.h


class Pairs(NamedTuple):
    """Parsed pairs as columns."""

    source: Column
    target: Column
    corpora: tf.Tensor | None  # number of each pair's corpus: int64, shape `[pairs]`; None in layout `example`
    row_pairs: tf.Tensor  # int64, shape `[rows]`: pairs in each row; empty if they are not packed
    columns: Mapping[str, tf.Tensor] = MappingProxyType({})  # other columns, shape `[pairs]`, by the names in `IdBatch`
    ignored: Column | None = None  # `ignored` of each pair; None if there is none


def parse(serialized: tf.Tensor | Pairs, layout: Layout) -> Pairs:
    """Parses the pairs of records: strings, shape ``[records]``; pairs of layout ``text`` are encoded already."""
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
    """The content of a window."""

    window: PlannedWindow
    records: tf.Tensor | Pairs  # its records as strings, shape `[records]`; the pairs themselves in layout `text`
    # columns of their pairs as strings, shape `[runs]`: `entries` of the indexes, if they are asked for, and `weight`
    columns: dict[str, tf.Tensor]


def read_windows(plan: BatchPlan, windows: tf.data.Dataset, with_entries: bool = False) -> tf.data.Dataset:
    """Returns a dataset of :class:`WindowRecords`."""
    if plan.encoder is not None or plan.joining is not None:
        return windows.map(partial(_read, plan), num_parallel_calls=_WINDOWS_READ, deterministic=True)
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

    columns = {"entries": _column_of(index, index_path, PAIR_BYTES)} if with_entries else {}
    if "weight" in index.columns:
        columns["weight"] = _column_of(
            index, lambda path: column_path(path, "weight"), np.dtype(TYPES["weight"]).itemsize
        )

    def window_records(window: PlannedWindow) -> tf.data.Dataset:
        runs = tf.data.Dataset.from_tensor_slices(window.runs)
        whole = runs.flat_map(run_records).batch(tf.reduce_sum(tf.gather(records, window.runs)))
        of_runs = {
            name: runs.flat_map(of_run).batch(tf.size(window.runs, tf.int64)) for name, of_run in columns.items()
        }
        return tf.data.Dataset.zip((whole, of_runs)).map(lambda read, found: WindowRecords(window, read, found))

    return windows.interleave(
        window_records, cycle_length=_WINDOWS_READ, num_parallel_calls=_WINDOWS_READ, deterministic=True
    )


def _read(plan: BatchPlan, window: PlannedWindow) -> WindowRecords:
    """Reads a window, and encodes its text and joins its segments: a step in this process, outside of the graph."""
    named = {"weights": tf.float32} if "weight" in plan.info.columns else {}
    if plan.joining is not None:
        named |= {"segments": tf.int64} | ({} if plan.joining.info.context is None else {"context": tf.int64})

    def read(*vectors: Any) -> tuple[Any, ...]:
        runs, skip, take, epoch = vectors
        content = read_window(plan, PlannedWindow(0, runs, skip, take, 0, WHOLE, 0, runs[:0], epoch))
        pairs, nothing = content.pairs, Ragged.from_lists([[]] * len(content.pairs))
        sides = (pairs.inputs, pairs.targets, content.ignored or nothing)
        ragged = [part for side in sides for part in (side.values, side.lengths)]
        columns = [getattr(content, name) for name in named]
        return np.int64(content.skip), np.int64(content.take), *ragged, pairs.corpora, *columns

    given = (window.runs, window.skip, window.take, window.epoch)
    kinds_read = [tf.int64, tf.int64, *(tf.int32, tf.int64) * 3, tf.int32, *named.values()]
    skip, take, *vectors = python_step(read, given, kinds_read)
    skip.set_shape([])
    take.set_shape([])
    for vector in vectors:
        vector.set_shape([None])
    source, target, ignored = (packed_column(*vectors[first : first + 2]) for first in (0, 2, 4))
    pairs = Pairs(
        source,
        target,
        tf.cast(vectors[6], tf.int64),
        tf.zeros([0], tf.int64),
        dict(zip(named, vectors[7:], strict=True)),
        ignored if plan.joining is not None and plan.order.index.repeats and "context" not in named else None,
    )
    return WindowRecords(window._replace(skip=skip, take=take), pairs, {})


def _column_of(
    index: SplitIndex, path_of: Callable[[Path], Path], width: int
) -> Callable[[tf.Tensor], tf.data.Dataset]:
    """Returns a function that reads the values of a run's pairs, of ``width`` bytes each, as one string."""
    files = [path_of(path) for path in index.paths]
    paths, sizes = tf.constant([str(file) for file in files]), tf.constant([file.stat().st_size for file in files])
    shards, first, pairs = (
        tf.constant(column, tf.int64) for column in (index.runs.shard, index.runs.first_pair, index.runs.pairs)
    )

    def of_run(run: tf.Tensor) -> tf.data.Dataset:
        before, size = width * first[run], width * pairs[run]
        opened = tf.raw_ops.FixedLengthRecordDatasetV2(
            filenames=paths[shards[run], tf.newaxis],
            header_bytes=before,
            record_bytes=size,
            footer_bytes=tf.cast(sizes[shards[run]], tf.int64) - before - size,
            buffer_size=tf.constant(1 << 16, tf.int64),
            compression_type="",
        )
        return tf.data.experimental.from_variant(opened, tf.TensorSpec([], tf.string))

    return of_run


def corpora_of(entries: tf.Tensor) -> tf.Tensor:
    """Returns the number of each pair's corpus, int64, from entries of an index: strings."""
    columns = tf.io.decode_raw(tf.strings.reduce_join(entries), tf.uint16, little_endian=True)
    return tf.cast(tf.reshape(columns, [-1, PAIR_BYTES // 2])[:, 2], tf.int64)


def weights_of(column: tf.Tensor) -> tf.Tensor:
    """Returns the weight of each pair, float32, from strings."""
    return tf.io.decode_raw(tf.strings.reduce_join(column), tf.float32, little_endian=True)
