"""The fast way from a run's shards to batches."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import tensorflow as tf

from nmt_prep.input.arguments import ArgumentError, check_job_shard, check_positive
from nmt_prep.input.batched_input import BatchedInput, batches_or_tensors
from nmt_prep.input.batching import Column, packed_column, select_rows
from nmt_prep.input.padding import PackedPairs, padded_batches, shift_right
from nmt_prep.input.token_batches import BatchLimit, in_batches
from nmt_prep.records import ShardInfo, VocabularyInfo, check_records

DEFAULT_BATCH_TOKENS = 4096
DEFAULT_MAX_LENGTH = 256
WINDOW_PAIRS = 65_536

_OPEN_SHARDS = 8
_RECORDS_PER_READ = 1024
_BATCHES_AHEAD = 16


class _Piece(NamedTuple):
    """Consecutive pairs of one shard."""

    path: str
    skip: int
    take: int


def make_dataset(
    run_dir: str | Path,
    split: str,
    *,
    batch_tokens: int | None = None,
    batch_size: int | None = None,
    max_length: int | None = DEFAULT_MAX_LENGTH,
    shuffle: bool = True,
    seed: int = 0,
    epoch: int = 0,
    num_shards: int = 1,
    shard_index: int = 0,
    sos_id: int | None = None,
    check: Literal["full", "quick"] = "full",
) -> tf.data.Dataset | BatchedInput:
    """Batches of one epoch of a split, from the shards that a run wrote.

    Windows of 65,536 pairs are sorted by length and cut into batches, and the batches of a window are shuffled. The
    result is a pure function of the shards and the arguments. The workers of a data-parallel job get disjoint parts
    of the epoch, whose numbers of pairs differ by at most one (their numbers of batches may differ by more), and
    which together are every pair that ``max_length`` admits, once.

    The rows of ``source`` and ``target_output`` are those of the shards: they end in the eos id. ``target_input`` is
    ``target_output`` shifted right: it begins with the sos id, and lacks eos. Where the vocabulary has no sos, as
    Tensor2Tensor's, it begins with the padding id, as Tensor2Tensor does. Padding is the vocabulary's pad id, or
    its eos id where it has none; the lengths count neither.

    Args:
        run_dir: directory of the run, which holds ``records``.
        split: name of the split.
        batch_tokens: the most that pairs times the longest row of either side may be in a batch; a longer pair is a
            batch of its own. Default 4,096.
        batch_size: pairs in a batch, instead of ``batch_tokens``; windows end in a smaller one.
        max_length: pairs with a longer side, eos included, are left out; None takes all. How many there are of each
            length stands in ``dataset.json``, ``max_lengths``.
        shuffle: False reads the shards in order, and gives the longest batches of each window first.
        seed: decides, with ``epoch``, the order of shards, of batches, and of pairs of equal lengths.
        epoch: number of the epoch; each has an order of its own.
        num_shards: workers of a data-parallel job.
        shard_index: which of them this is, from 0.
        sos_id: the id that begins ``target_input``, instead of the vocabulary's.
        check: how thoroughly the shards are checked first, see :func:`nmt_prep.records.check_records`.

    Returns:
        In TensorFlow 2, a dataset of :class:`BatchedInput`. In a TensorFlow 1 graph, a :class:`BatchedInput` of
        tensors with their initializer.

    Raises:
        RecordsError: shards are missing, damaged, or not those of ``dataset.json``.
        ArgumentError: a number is out of its range, or both ``batch_tokens`` and ``batch_size`` are given.
    """
    check_positive(batch_tokens=batch_tokens, batch_size=batch_size, max_length=max_length)
    check_job_shard(num_shards, shard_index)
    if batch_tokens is not None and batch_size is not None:
        raise ArgumentError("both batch_tokens and batch_size are given; a batch is bounded by one of them")
    limit = BatchLimit(batch_tokens or DEFAULT_BATCH_TOKENS, batch_size)
    records_dir = Path(run_dir) / "records"
    info = check_records(records_dir, split, check)
    source_pad, target_pad = _padding(info.vocab.source), _padding(info.vocab.target)
    sos = next(choice for choice in (sos_id, info.vocab.target.bos_id, target_pad) if choice is not None)

    def window(number: tf.Tensor, serialized: tf.Tensor) -> PackedPairs:
        source, target = _within(*_parse(serialized), max_length)
        window_seed = tf.stack([tf.constant(_key(seed, epoch, f"windows of {shard_index}")), 2 * number])
        source, target, sizes = in_batches(source, target, limit, window_seed if shuffle else None)
        return PackedPairs(
            source=source.values,
            target_input=shift_right(target, sos),
            target_output=target.values,
            source_lengths=tf.cast(source.lengths, tf.int32),
            target_lengths=tf.cast(target.lengths, tf.int32),
            sizes=sizes,
        )

    shards = info.splits[split].shards
    order = sorted(shards, key=lambda shard: _key(seed, epoch, shard.file)) if shuffle else shards
    pieces = _pieces_of(records_dir, order, num_shards, shard_index)
    windows = _read(pieces, open_shards=_OPEN_SHARDS if shuffle else 1).rebatch(WINDOW_PAIRS).enumerate()
    packed = windows.map(window, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    batches = packed.flat_map(lambda pairs: padded_batches(pairs, source_pad, target_pad))
    return batches_or_tensors(batches.prefetch(_BATCHES_AHEAD))


def _padding(vocabulary: VocabularyInfo) -> int:
    """Id that pads a side; the encode stage has made sure that there is an eos."""
    return next(choice for choice in (vocabulary.pad_id, vocabulary.eos_id, 0) if choice is not None)


def _key(seed: int, epoch: int, purpose: str) -> int:
    """A number in the range of int64 that the arguments fix on any machine."""
    digest = hashlib.sha256(f"{seed}\n{epoch}\n{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)


def _pieces_of(records_dir: Path, shards: Sequence[ShardInfo], num_shards: int, shard_index: int) -> list[_Piece]:
    """A worker's part of the epoch: an equal span of all pairs, taken shard after shard."""
    pairs = sum(shard.pairs for shard in shards)
    begin, end = (pairs * part // num_shards for part in (shard_index, shard_index + 1))
    pieces = []
    position = 0
    for shard in shards:
        skip, stop = max(begin - position, 0), min(end - position, shard.pairs)
        if skip < stop:
            pieces.append(_Piece(str(records_dir / shard.file), skip, stop - skip))
        position += shard.pairs
    return pieces


def _read(pieces: Sequence[_Piece], open_shards: int) -> tf.data.Dataset:
    """Serialized records, some hundreds at a time, from several shards in turn."""

    def records(path: tf.Tensor, skip: tf.Tensor, take: tf.Tensor) -> tf.data.Dataset:
        return tf.data.TFRecordDataset(path).skip(skip).take(take).batch(_RECORDS_PER_READ)

    columns = (
        tf.constant([piece.path for piece in pieces], tf.string),
        tf.constant([piece.skip for piece in pieces], tf.int64),
        tf.constant([piece.take for piece in pieces], tf.int64),
    )
    return tf.data.Dataset.from_tensor_slices(columns).interleave(
        records, cycle_length=open_shards, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True
    )


def _parse(serialized: tf.Tensor) -> tuple[Column, Column]:
    """Source and target ids of ``tf.train.Example`` records."""
    feature = tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)
    parsed = tf.io.parse_example(serialized, {"inputs": feature, "targets": feature})
    source, target = (
        packed_column(tf.cast(parsed[name].values, tf.int32), parsed[name].row_lengths())
        for name in ("inputs", "targets")
    )
    return source, target


def _within(source: Column, target: Column, max_length: int | None) -> tuple[Column, Column]:
    """The pairs neither side of which is longer than ``max_length``."""
    if max_length is None:
        return source, target
    fits = tf.maximum(source.lengths, target.lengths) <= max_length
    rows = tf.boolean_mask(tf.range(tf.size(fits, tf.int64)), fits)
    return select_rows(source, rows), select_rows(target, rows)
