"""``make_dataset``: batches from a run's shards through ``tf.data``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, Unpack, get_args

import numpy as np
import tensorflow as tf

from nmt_prep.batches import BatchPlan, Options, cut_window, plan_batches
from nmt_prep.batches.cutting import WindowPairs
from nmt_prep.batches.epoch import WINDOW_PAIRS
from nmt_prep.batches.options import Keywords, check_choice
from nmt_prep.errors import ArgumentError, RecordsError
from nmt_prep.input import tensors
from nmt_prep.input.batching import (
    BatchedInput,
    Column,
    PackedPairs,
    batches_or_tensors,
    pack,
    packed_batches,
    packed_column,
    padded_batches,
    select_rows,
    shift_right,
    truncate_rows,
    without_autograph,
)
from nmt_prep.records import Layout, load_dataset_info, records_in

Features: TypeAlias = Literal["nmt", "t2t"]

_WINDOWS_READ = 2
_BATCHES_AHEAD = 16
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
    return Pairs(
        Column(values, source_ends[:-1] + tf.gather(ids - before, record), source_lengths),
        Column(values, target_ends[:-1] + tf.gather(targets, record), target_lengths),
        corpora,
        read(tensors.spans(ids - rows, rows)),
    )


class WindowRecords(NamedTuple):
    """The records of a window; the other fields are those of :class:`~nmt_prep.batches.cutting.WindowPairs`.

    ``records`` are its records as strings, shape ``[records]``. ``entries`` are the entries of their pairs in the index,
    as strings, shape ``[runs]``; None where corpora are in the records, or not asked for.
    """

    number: tf.Tensor
    runs: tf.Tensor
    skip: tf.Tensor
    take: tf.Tensor
    done: tf.Tensor
    split: Split
    records: tf.Tensor
    entries: tf.Tensor | None


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


class CutWindow(NamedTuple):
    """A window's pairs in batch order, with consecutive ids.

    Attributes:
        source: the sources.
        target: the targets.
        row_pairs: int64, shape ``[rows]``: pairs in each row; None if they are not packed.
        sizes: int64, shape ``[batches]``: pairs (rows, if packed) in each batch.
        widths: int64, shape ``[batches]``: ids that each batch is padded to; None for the length of its longest row.
    """

    source: Column
    target: Column
    row_pairs: tf.Tensor | None
    sizes: tf.Tensor
    widths: tf.Tensor | None


class WindowSteps(NamedTuple):
    """The steps for one window, in the order of the methods.

    Attributes:
        plan: the plan of the batches.
        sos: id that begins ``target_input``.
        features: as in :func:`make_dataset`.
    """

    plan: BatchPlan
    sos: int
    features: Features

    def cut(self, window: WindowRecords) -> CutWindow:
        """Parses a window, and cuts it into batches."""
        pairs = parse(window.records, self.plan.info.layout)
        read = WindowPairs(*window[:-1], pairs.source.lengths, pairs.target.lengths, pairs.corpora, pairs.row_pairs)
        batches = cut_window(self.plan, read, tensors)
        source, target = (
            pack(select_rows(truncate_rows(side, self.plan.rule.max_length), batches.pairs))
            for side in (pairs.source, pairs.target)
        )
        return CutWindow(source, target, *batches[1:])

    def batches(self, cut: CutWindow) -> tf.data.Dataset:
        """Returns the batches of a window, padded."""
        paddings, shape = self.plan.info.vocab.padding_ids, self._static_shape()
        if cut.row_pairs is not None:
            length = self.plan.rule.row_length or 0
            batches = packed_batches(cut.source, cut.target, cut.row_pairs, cut.sizes, length, paddings)
        else:
            pairs = PackedPairs(
                source=cut.source.values,
                target_input=shift_right(cut.target, self.sos),
                target_output=cut.target.values,
                source_lengths=tf.cast(cut.source.lengths, tf.int32),
                target_lengths=tf.cast(cut.target.lengths, tf.int32),
                sizes=cut.sizes,
            )
            batches = padded_batches(pairs, *paddings, widths=cut.widths)
            if self.features == "t2t":
                batches = batches.map(lambda batch: {"inputs": batch.source, "targets": batch.target_output})
        if shape is None:
            return batches
        return batches.map(lambda batch: tf.nest.map_structure(lambda field: _ensured(field, shape), batch))

    def _static_shape(self) -> tuple[int | None, int] | None:
        """Returns rows and columns of the batches; None if not all batches have the same."""
        rule = self.plan.rule
        if not rule.drop_remainder:
            return None
        if rule.row_length is not None:
            return rule.pairs, rule.row_length
        if not self.plan.pad_to_limits or rule.buckets is None or len(rule.buckets.limits) > 1:
            return None
        return rule.buckets.capacities[0], rule.buckets.limits[0]


def _ensured(field: tf.Tensor | None, shape: tuple[int | None, int]) -> tf.Tensor | None:
    return None if field is None else tf.ensure_shape(field, shape[: field.shape.rank])


@without_autograph
def make_dataset(
    run_dir: str | Path,
    split: str,
    *,
    features: Features = "nmt",
    sos_id: int | None = None,
    check: Literal["full", "quick"] = "full",
    **options: Unpack[Keywords],
) -> tf.data.Dataset | BatchedInput:
    """Returns the batches of one epoch of a split, from the shards that a run wrote.

    The batches are a pure function of the shards and the options. Windows of up to 131,072 pairs are cut into batches,
    and the batches of a window are shuffled; each epoch divides the pairs into different windows. The workers of a
    data-parallel job get disjoint parts of the epoch, whose numbers of pairs (of rows, in layout ``packed``) differ by
    at most one; their numbers of batches may differ by more. Together the parts hold every pair that ``max_length``
    admits, once.

    The rows of ``source`` and ``target_output`` are those of the shards: they end in the eos id. ``target_input`` is
    ``target_output`` shifted right: it begins with the sos id and lacks eos. If the vocabulary has no sos, like
    Tensor2Tensor's, it begins with the padding id, as in Tensor2Tensor. Padding is the vocabulary's pad id, or its eos
    id if it has none; the lengths count neither.

    Args:
        run_dir: directory of the run, which holds ``records``, or of an output of kind ``tfrecord``.
        split: name of the split.
        features: ``nmt`` gives :class:`BatchedInput`; ``t2t`` gives dictionaries with ``inputs`` and ``targets`` and,
            for packed pairs, ``inputs_segmentation``, ``inputs_position`` and the same of the targets; packed pairs
            need ``t2t``.
        sos_id: overrides the id that begins ``target_input``.
        check: how thoroughly the shards are checked first, see :func:`nmt_prep.records.check_records`.
        options: attributes of :class:`~nmt_prep.BatchOptions` (``batch_tokens``, ``batch_size``, ``max_length``,
            ``too_long``, ``bucketing``, ``num_buckets``, ``pad_to``, ``drop_remainder``, ``packed``),
            :class:`~nmt_prep.MixOptions` (``weights``, ``temperature``), :class:`~nmt_prep.EpochOptions` (``shuffle``,
            ``seed``, ``epoch``, ``skip_batches``) and :class:`~nmt_prep.ShardOptions` (``num_shards``,
            ``shard_index``, ``equal_batches``), or instances of these as ``batching``, ``mixing``, ``order`` and
            ``sharding``.

    Returns:
        In TensorFlow 2, a dataset of batches, with static shapes if all are the same. In a TensorFlow 1 graph, the
        tensors of the next batch, with an initializer; ``features="t2t"`` is for TensorFlow 2.

    Raises:
        RecordsError: shards are missing, damaged, or not those of ``dataset.json``.
        ArgumentError: an option is out of range, or conflicts with another one.
    """
    check_choice(get_args(Features), features=features)
    if features == "t2t" and not tf.compat.v1.executing_eagerly_outside_functions():
        raise ArgumentError('features="t2t" has no place for the initializer of a TensorFlow 1 graph; use "nmt"')
    plan = plan_batches(run_dir, split, Options.of(options), check, WINDOW_PAIRS)
    if plan.rule.row_length is not None and features != "t2t":
        raise ArgumentError('packed rows need segments and positions, which BatchedInput lacks; set features="t2t"')
    vocabulary = plan.info.vocab.target
    sos = next(choice for choice in (sos_id, vocabulary.bos_id, vocabulary.padding_id) if choice is not None)
    steps = WindowSteps(plan, sos, features)
    windows = read_windows(plan).map(steps.cut, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    batches = windows.flat_map(steps.batches)
    if plan.batches_left is not None:
        batches = batches.take(plan.batches_left)
    return batches_or_tensors(batches.prefetch(_BATCHES_AHEAD))


def too_long_pairs(run_dir: str | Path, split: str, max_length: int) -> int:
    """Returns the number of pairs of a split that have a side longer than ``max_length`` ids, including eos.

    :func:`make_dataset` drops or truncates these pairs. Only ``dataset.json`` is read.

    Raises:
        RecordsError: ``dataset.json`` cannot be read, or has no such split.
    """
    directory = records_in(run_dir)
    info = load_dataset_info(directory)
    if split not in info.splits:
        raise RecordsError(f"{directory}: has no split {split!r}, only {', '.join(sorted(info.splits))}")
    return sum(count for length, count in info.splits[split].max_lengths if length > max_length)
