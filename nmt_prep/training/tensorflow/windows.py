"""Reads the windows of epochs through ``tf.data``: first the run indexes of each window, then their records."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from _nmt_prep_core import PairBatches

from nmt_prep.base.columns import Ragged
from nmt_prep.training.batches import BatchPlan
from nmt_prep.training.batches.batch_reader import read_window
from nmt_prep.training.batches.cutting import WHOLE, PlannedWindow, Split
from nmt_prep.training.batches.epoch import SplitIndex
from nmt_prep.training.records.record_columns import PAIR_BYTES, TYPES, column_path, index_path
from nmt_prep.training.records.shuffle_plan import Layout
from nmt_prep.training.tensorflow import tensors
from nmt_prep.training.tensorflow.batching import BatchedInput, Column, map_inline, packed_column, python_step

_WINDOWS_READ = 2
_HEADER = 4  # magic, version, pairs, rows; see core/records/chunk.h


class Pairs(NamedTuple):
    """Parsed pairs as columns."""

    source: Column
    target: Column
    corpora: tf.Tensor | None  # corpus index of each pair: int64, shape `[pairs]`; None in layout `example`
    row_pairs: tf.Tensor  # int64, shape `[rows]`: pairs in each row; empty if they are not packed
    columns: Mapping[str, tf.Tensor] = MappingProxyType({})  # other columns, shape `[pairs]`, by the names in `IdBatch`
    ignored: Column | None = None  # `ignored` of each pair; None if there is none


def parse(serialized: tf.Tensor | Pairs, layout: Layout) -> Pairs:
    """Parses the pairs in records: strings, shape ``[records]``; pairs with layout ``text`` are encoded already."""
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
    # A chunk is int32 words: a header, three columns of one word per pair (lengths of source and target, corpus), one
    # word per row if packed, then all source IDs and all target IDs. Chunks are joined to one vector, and each pair's
    # place follows from prefix sums: the start of its chunk, plus the lengths of the pairs before it in this chunk.
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
    """A window's content."""

    window: PlannedWindow
    records: tf.Tensor | Pairs  # its records as strings, shape `[records]`; the pairs themselves in layout `text`
    # columns of their pairs as strings, shape `[runs]`: `entries` of the indexes, if they are asked for, and `weight`
    columns: dict[str, tf.Tensor]


# Runs are read by TensorFlow itself, in its threads and without Python: a run is a dataset of records from a byte
# offset. Its buffer is exactly the run. Text is encoded and segments are joined in Python instead, by the function that
# all other loaders use.
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
    """Returns a function that reads the values for a run's pairs, with ``width`` bytes each, as one string."""
    # A file of fixed-size records with one record: header and footer are what comes before and after the run.
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
    """Returns each pair's corpus index, int64, from index entries: strings."""
    columns = tf.io.decode_raw(tf.strings.reduce_join(entries), tf.uint16, little_endian=True)
    return tf.cast(tf.reshape(columns, [-1, PAIR_BYTES // 2])[:, 2], tf.int64)


_PAIRS_PER_BLOCK = 4096
_DRAINS = 32  # parts in which the shuffle buffer is emptied at the end


# Shuffled batches of pairs, padded, as tensorflow/nmt's operators of `tf.data` give them.
#
# The native core has the shuffle buffer and the buckets. It draws the random numbers of `tf.data`'s shuffle from a
# dataset with the same seeds, so the order is the same.


class BatchSizes(NamedTuple):
    """Sizes and special IDs of the batches; each is a number or a scalar tensor."""

    buffer_size: int | tf.Tensor  # pairs in the shuffle buffer
    batch_size: tf.Tensor  # pairs in a batch
    buckets: int  # index of the bucket with the longest pairs; 0 if there is no other bucket
    bucket_width: int  # lengths in each other bucket
    source_width: int  # IDs for each word of a source
    source_padding: tf.Tensor  # ID that pads sources
    sos: tf.Tensor  # ID that begins `target_input`
    eos: tf.Tensor  # ID that ends `target_output` and pads targets


class _Padded(NamedTuple):
    """Batches, one after the other, as in the native ``PaddedBatches``."""

    source: tf.Tensor
    target_input: tf.Tensor
    target_output: tf.Tensor
    source_lengths: tf.Tensor
    target_lengths: tf.Tensor
    places: tf.Tensor


_PADDED_TYPES = [*[tf.int32] * 5, tf.int64]


def blocks_of(lines: tf.data.Dataset) -> tf.data.Dataset:
    """Returns a dataset of line blocks, which are encoded and shuffled together."""
    return lines.batch(_PAIRS_PER_BLOCK)


def random_numbers(seed: int | None, another_each_iteration: bool) -> tf.data.Dataset:
    """Returns the random numbers that ``tf.data.Dataset.shuffle`` draws with this seed, int64 scalars without end."""
    with warnings.catch_warnings():
        # TensorFlow 1 warns that new numbers need a repeated dataset, which holds for its own shuffle too.
        warnings.filterwarnings("ignore", ".*rerandomize_each_iteration", UserWarning)
        return tf.data.Dataset.random(seed, rerandomize_each_iteration=another_each_iteration)


def shuffled_batches(
    source: tf.data.Dataset, target: tf.data.Dataset, order: tf.data.Dataset, sizes: BatchSizes
) -> tf.data.Dataset:
    """Shuffles pairs, drops pairs with an empty side, and batches pairs of similar length.

    A batch is complete when its last pair leaves the shuffle buffer. The incomplete ones follow at the end, in the
    order of their buckets.

    Args:
        source: row blocks, as large as the blocks of :func:`blocks_of`: the IDs of all rows, int32, and each row's word
            count, int64.

    Returns:
        A dataset of :class:`BatchedInput`.
    """
    iterations = _Iterations()
    nothing = tf.constant([], tf.int32), tf.constant([], tf.int64)
    end = tf.data.Dataset.from_tensors((nothing, nothing)).repeat(_DRAINS)
    pairs = tf.data.Dataset.zip((source, target)).concatenate(end)
    blocks = tf.data.Dataset.zip((pairs, order.batch(_PAIRS_PER_BLOCK)))

    def batches(iteration: tf.Tensor) -> tf.data.Dataset:
        def add(pairs: Any, random: tf.Tensor) -> _Padded:
            arguments = iteration, *tf.nest.flatten(pairs), random
            fields = python_step(iterations.add, arguments, _PADDED_TYPES)
            return _Padded(*(tf.ensure_shape(field, [None]) for field in fields))

        return _cut(blocks.map(add))

    arguments = tuple(tf.cast(size, tf.int64) for size in sizes)
    spec = tf.TensorSpec([], tf.int64)
    return tf.data.Dataset.from_generator(iterations.begin, args=arguments, output_signature=spec).flat_map(batches)


class _Iterations:
    """The shuffle buffers and buckets of the iterations under way, by iteration number."""

    def __init__(self) -> None:
        self._open: dict[int, PairBatches] = {}
        self._numbers = count()

    def begin(self, *sizes: np.int64) -> Iterator[int]:
        """Yields the number of a new iteration. TensorFlow drops this generator together with its iterator."""
        number = next(self._numbers)
        options = dict(zip(BatchSizes._fields, map(int, sizes), strict=True))
        self._open[number] = PairBatches(**options, drains=_DRAINS)
        try:
            yield number
        finally:
            del self._open[number]

    def add(self, iteration: np.int64, *arguments: Any) -> tuple[npt.NDArray[Any], ...]:
        """Adds a block of pairs to an iteration; returns the fields for :class:`_Padded`."""
        source, source_lengths, target, target_lengths, random = arguments
        batches = self._open[int(iteration)]
        if not len(source_lengths):  # the end of the input
            return batches.drain()
        return batches.add(source, source_lengths, target, target_lengths, random)


# Numbers in a row of the native `places`: of the lengths, the first and how many; of the source, the first ID, how many
# IDs, and the shape; of both targets, the same. `tf.slice` and `tf.reshape` take vectors.
_PLACE = [1, 1, 1, 1, 2, 1, 1, 2]


def _cut(blocks: tf.data.Dataset) -> tf.data.Dataset:

    def places(padded: _Padded) -> tf.data.Dataset:
        # No function here: TensorFlow would prepare it again for each block, which takes longer than everything else.
        of_batches = tf.data.Dataset.from_tensor_slices(tf.reshape(padded.places, [-1, sum(_PLACE)]))
        return tf.data.Dataset.zip((tf.data.Dataset.from_tensors(padded).repeat(), of_batches))

    def batch(padded: _Padded, place: tf.Tensor) -> BatchedInput:
        first, rows, source, source_size, source_shape, target, target_size, target_shape = tf.split(place, _PLACE)
        return BatchedInput(
            initializer=None,
            source=tf.reshape(tf.slice(padded.source, source, source_size), source_shape),
            target_input=tf.reshape(tf.slice(padded.target_input, target, target_size), target_shape),
            target_output=tf.reshape(tf.slice(padded.target_output, target, target_size), target_shape),
            source_sequence_length=tf.slice(padded.source_lengths, first, rows),
            target_sequence_length=tf.slice(padded.target_lengths, first, rows),
        )

    return map_inline(blocks.flat_map(places), batch)
