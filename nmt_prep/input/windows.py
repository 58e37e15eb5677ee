"""Reads the windows of an epoch as a dataset of serialized records; it can start at any window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from nmt_prep.batches import BatchPlan

_WINDOWS_READ = 2


class WindowRecords(NamedTuple):
    """The records of a window; the first fields are those of :class:`~nmt_prep.batches.window.WindowPairs`.

    ``records`` are its records as strings, shape ``[records]``.
    """

    number: tf.Tensor
    runs: tf.Tensor
    skip: tf.Tensor
    take: tf.Tensor
    done: tf.Tensor
    records: tf.Tensor


def read_windows(plan: BatchPlan) -> tf.data.Dataset:
    """Returns a dataset of :class:`WindowRecords`, beginning at the plan's start."""
    first, done = plan.start
    windows = plan.windows[first:]
    index = plan.order.index
    table = index.runs
    runs = np.concatenate([np.empty(0, np.int64), *(window.runs for window in windows)])
    sizes = np.array([len(window.runs) for window in windows], np.int64)
    columns = (
        np.arange(first, first + len(windows)),
        np.cumsum(sizes) - sizes,
        np.cumsum(sizes),
        np.array([window.skip for window in windows], np.int64),
        np.array([window.take for window in windows], np.int64),
        np.array([done, *[0] * len(windows)], np.int64)[: len(windows)],
    )
    paths = tf.constant([str(path) for path in index.paths], tf.string)
    numbers = tf.constant(runs, tf.int64)
    shards, starts, records = (
        tf.constant(column[runs], tf.int64) for column in (table.shard, table.start, table.records)
    )

    def run_records(run: tf.Tensor) -> tf.data.Dataset:
        opened = tf.raw_ops.TFRecordDatasetV2(
            filenames=paths[shards[run], tf.newaxis],
            compression_type="",
            buffer_size=tf.constant(1 << 20, tf.int64),
            byte_offsets=starts[run, tf.newaxis],
        )
        return tf.data.experimental.from_variant(opened, tf.TensorSpec([], tf.string)).take(records[run])

    def window_records(
        number: tf.Tensor, begin: tf.Tensor, end: tf.Tensor, skip: tf.Tensor, take: tf.Tensor, done: tf.Tensor
    ) -> tf.data.Dataset:
        count = tf.reduce_sum(records[begin:end])
        whole = tf.data.Dataset.range(begin, end).flat_map(run_records).batch(count)
        return whole.map(lambda read: WindowRecords(number, numbers[begin:end], skip, take, done, read))

    return tf.data.Dataset.from_tensor_slices(columns).interleave(
        window_records, cycle_length=_WINDOWS_READ, num_parallel_calls=_WINDOWS_READ, deterministic=True
    )
