"""Parses serialized records of every layout to ragged columns, in the ``tf.data`` graph."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from nmt_prep.input.batching import Column, packed_column, select_rows
from nmt_prep.records import Layout

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

    def select(self, rows: tf.Tensor) -> Pairs:
        """Selects pairs in the given order; drops the information on packed rows."""
        corpora = None if self.corpora is None else tf.gather(self.corpora, rows)
        return Pairs(select_rows(self.source, rows), select_rows(self.target, rows), corpora, self.row_pairs[:0])


def parse(serialized: tf.Tensor, layout: Layout) -> Pairs:
    """Parses the pairs of records: strings, shape ``[records]``."""
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
    record = tf.repeat(tf.range(tf.size(sizes)), pairs)
    first_pair = tf.cumsum(pairs, exclusive=True)
    place = tf.range(tf.size(record, tf.int64)) + tf.gather(begins + _HEADER - first_pair, record)
    column = tf.gather(pairs, record)
    source_lengths, target_lengths, corpora = read(place), read(place + column), read(place + 2 * column)
    source_ends, target_ends = (tf.concat([[0], tf.cumsum(lengths)], 0) for lengths in (source_lengths, target_lengths))
    ids = begins + _HEADER + 3 * pairs + rows
    before = tf.gather(source_ends, first_pair)
    targets = ids + tf.gather(source_ends, first_pair + pairs) - before - tf.gather(target_ends, first_pair)
    row_places = tf.raw_ops.RaggedRange(starts=ids - rows, limits=ids, deltas=tf.constant(1, tf.int64)).rt_dense_values
    return Pairs(
        Column(values, source_ends[:-1] + tf.gather(ids - before, record), source_lengths),
        Column(values, target_ends[:-1] + tf.gather(targets, record), target_lengths),
        corpora,
        read(row_places),
    )
