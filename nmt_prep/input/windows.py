"""The windows of an epoch as a dataset of serialized records: no shuffle buffer, any window alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from nmt_prep.records.epoch import SplitIndex, Window

_WINDOWS_READ = 2


class WindowRecords(NamedTuple):
    """A window as it was read: int64 scalars, but for ``runs`` and ``records``.

    Attributes:
        number: of the window in the worker's epoch, so that what is drawn for it does not depend on where one begins.
        runs: int64, shape ``[runs]``: numbers of its runs.
        skip: pairs (rows, where they are packed) at the beginning that belong to another worker.
        take: pairs (rows) after these.
        done: batches that are left out, as they were delivered before.
        records: strings, shape ``[records]``.
    """

    number: tf.Tensor
    runs: tf.Tensor
    skip: tf.Tensor
    take: tf.Tensor
    done: tf.Tensor
    records: tf.Tensor


def read_windows(index: SplitIndex, windows: Sequence[Window], first: int, done: int) -> tf.data.Dataset:
    """A dataset of :class:`WindowRecords`.

    Args:
        index: of the split.
        windows: all of the worker's epoch.
        first: number of the window to begin with.
        done: batches of that window that were delivered before.
    """
    rest = windows[first:]
    table = index.runs
    runs = np.concatenate([np.empty(0, np.int64), *(window.runs for window in rest)])
    ends = np.cumsum([len(window.runs) for window in rest], dtype=np.int64)
    columns = (
        np.arange(first, len(windows), dtype=np.int64),
        ends - [len(window.runs) for window in rest] if rest else ends,
        ends,
        np.array([window.skip for window in rest], np.int64),
        np.array([window.take for window in rest], np.int64),
        np.array([done if number == 0 else 0 for number in range(len(rest))], np.int64),
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
