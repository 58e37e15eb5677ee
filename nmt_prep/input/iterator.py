"""The input functions of tensorflow/nmt (``nmt/utils/iterator_utils.py``): same arguments, same batches, more speed.

Upstream sends every pair through a dozen ``tf.data`` operators. Here pairs travel one by one only as far as the
shuffle, whose order is part of the contract; from there on they go in blocks of ragged columns, and ``cut_windows``
works out which batches upstream's ``group_by_window`` would have emitted, and when.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from nmt_prep.input.arguments import check_job_shard, check_positive
from nmt_prep.input.batched_input import BatchedInput, batches_or_tensors
from nmt_prep.input.batching import (
    Column,
    concat_columns,
    cut_windows,
    empty_column,
    pack,
    select_rows,
    truncate_rows,
)
from nmt_prep.input.padding import PackedPairs, append_id, pad, padded_batches, row_splits, shift_right
from nmt_prep.input.words import CHARACTER_EOS_ID, CHARACTERS_PER_WORD, look_up, spell, split_words

_PAIRS_PER_BLOCK = 4096
_DEFAULT_BUCKET_WIDTH = 10
_BATCHES_AHEAD = 8


class _Block(NamedTuple):
    source: Column
    target: Column
    buckets: tf.Tensor


class _Encoder(NamedTuple):
    """What turns the words of one side into ids, and what pads them."""

    table: tf.lookup.experimental.LookupInterface
    eos: str
    max_length: int | None
    characters: bool = False

    @property
    def eos_id(self) -> tf.Tensor:
        return tf.constant(CHARACTER_EOS_ID) if self.characters else self.id_of(self.eos)

    @property
    def width(self) -> int:
        return CHARACTERS_PER_WORD if self.characters else 1

    @property
    def no_rows(self) -> Column:
        return empty_column([0, CHARACTERS_PER_WORD] if self.characters else [0])

    def id_of(self, word: str) -> tf.Tensor:
        return tf.cast(self.table.lookup(tf.constant(word)), tf.int32)

    def encode(self, lines: tf.Tensor) -> Column:
        words, lengths = split_words(lines)
        column = spell(words, lengths) if self.characters else look_up(words, lengths, self.table)
        return truncate_rows(column, self.max_length)


def get_iterator(
    src_dataset: tf.data.Dataset,
    tgt_dataset: tf.data.Dataset,
    src_vocab_table: tf.lookup.experimental.LookupInterface,
    tgt_vocab_table: tf.lookup.experimental.LookupInterface,
    batch_size: int | tf.Tensor,
    sos: str,
    eos: str,
    random_seed: int | None,
    num_buckets: int,
    src_max_len: int | None = None,
    tgt_max_len: int | None = None,
    num_parallel_calls: int = 4,
    output_buffer_size: int | None = None,
    skip_count: int | tf.Tensor | None = None,
    num_shards: int = 1,
    shard_index: int = 0,
    reshuffle_each_iteration: bool = True,
    use_char_encode: bool = False,
) -> tf.data.Dataset | BatchedInput:
    """Batches of pairs for training, shuffled and bucketed by length, as tensorflow/nmt's ``get_iterator``.

    In this order: zip, shard, skip, shuffle, split at spaces, drop pairs with an empty side, truncate, look up, add
    ``sos`` and ``eos`` to the target, bucket, pad. A source is padded with the source table's ``eos``, both targets
    with the target table's ``eos``. A bucket is ``(src_max_len + num_buckets - 1) // num_buckets`` tokens wide, or 10
    without ``src_max_len``; the last one, ``num_buckets``, takes all longer pairs. The longer side decides, the
    target counted with ``sos``. A batch goes out when a bucket holds ``batch_size`` pairs; at the end of the data what
    is left of each bucket goes out too.

    With the same seeds, the batches and their order are those of upstream.

    Args:
        src_dataset: scalar strings, one source sentence each, tokens separated by spaces.
        tgt_dataset: the same for the target; sentence i translates sentence i.
        src_vocab_table: ``tf.lookup`` table from source tokens to ids, also of ``eos``.
        tgt_vocab_table: the same for the target, also of ``sos``.
        batch_size: pairs in a batch.
        sos: token that begins ``target_input``.
        eos: token that ends ``target_output`` and pads.
        random_seed: seed of the shuffle, together with TensorFlow's global seed.
        num_buckets: buckets of lengths; 1 means no bucketing.
        src_max_len: sources are cut to this many tokens; None or 0 for no limit.
        tgt_max_len: targets are cut to this many tokens, not counting ``sos`` and ``eos``; None or 0 for no limit.
        num_parallel_calls: threads that encode; changes no result.
        output_buffer_size: pairs in the shuffle buffer; default 1000 times ``batch_size``.
        skip_count: pairs to leave out at the start, counted after sharding.
        num_shards: workers among which the pairs are dealt out.
        shard_index: which of them this is, from 0.
        reshuffle_each_iteration: whether every epoch has an order of its own.
        use_char_encode: the source as 50 character ids a word (``source`` then has shape
            ``[rows, 50 * longest source]``, padded with 257; lengths still count words).

    Returns:
        In TensorFlow 2, a dataset of :class:`BatchedInput`. In a TensorFlow 1 graph, a :class:`BatchedInput` of
        tensors; run its ``initializer``, after the tables', at the start of each epoch.

    Raises:
        ArgumentError: a number is out of its range.
    """
    check_positive(batch_size=batch_size, num_buckets=num_buckets, num_parallel_calls=num_parallel_calls)
    check_positive(output_buffer_size=output_buffer_size or None)
    check_job_shard(num_shards, shard_index)
    source = _Encoder(src_vocab_table, eos, src_max_len, use_char_encode)
    target = _Encoder(tgt_vocab_table, eos, tgt_max_len)
    source_eos, target_eos, target_sos = source.eos_id, target.eos_id, target.id_of(sos)
    window_size = tf.cast(batch_size, tf.int64)
    width = (src_max_len + num_buckets - 1) // num_buckets if src_max_len else _DEFAULT_BUCKET_WIDTH

    def encode(source_lines: tf.Tensor, target_lines: tf.Tensor, flush: tf.Tensor) -> tuple[_Block, tf.Tensor]:
        source_column, target_column = source.encode(source_lines), target.encode(target_lines)
        whole = (source_column.lengths > 0) & (target_column.lengths > 0)
        rows = tf.boolean_mask(tf.range(tf.size(source_lines, tf.int64)), whole)
        source_column, target_column = select_rows(source_column, rows), select_rows(target_column, rows)
        longer = tf.maximum(source_column.lengths, target_column.lengths + 1)
        buckets = tf.minimum(longer // width, num_buckets) if num_buckets > 1 else tf.zeros_like(longer)
        return _Block(source_column, target_column, buckets), flush

    def emit(waiting: _Block, arrived: tuple[_Block, tf.Tensor]) -> tuple[_Block, tuple[Column, Column, tf.Tensor]]:
        block, flush = arrived
        source_column = concat_columns(waiting.source, block.source)
        target_column = concat_columns(waiting.target, block.target)
        buckets = tf.concat([waiting.buckets, block.buckets], 0)
        windows = cut_windows(buckets, num_buckets + 1, window_size, flush)
        still_waiting = _Block(
            pack(select_rows(source_column, windows.waiting)),
            pack(select_rows(target_column, windows.waiting)),
            tf.gather(buckets, windows.waiting),
        )
        batches = select_rows(source_column, windows.rows), select_rows(target_column, windows.rows)
        return still_waiting, (*batches, windows.sizes)

    def packed(source_column: Column, target_column: Column, sizes: tf.Tensor) -> PackedPairs:
        source_column, outputs = pack(source_column), append_id(pack(target_column), target_eos)
        return PackedPairs(
            source=tf.reshape(source_column.values, [-1]),
            target_input=shift_right(outputs, target_sos),
            target_output=outputs.values,
            source_lengths=tf.cast(source_column.lengths, tf.int32),
            target_lengths=tf.cast(outputs.lengths, tf.int32),
            sizes=sizes,
        )

    pairs = tf.data.Dataset.zip((src_dataset, tgt_dataset)).shard(num_shards, shard_index)
    if skip_count is not None:
        pairs = pairs.skip(tf.cast(skip_count, tf.int64))
    pairs = pairs.shuffle(output_buffer_size or window_size * 1000, random_seed, reshuffle_each_iteration)
    no_lines = tf.constant([], tf.string)
    blocks = pairs.batch(tf.maximum(window_size * 8, _PAIRS_PER_BLOCK)).map(lambda src, tgt: (src, tgt, False))
    blocks = blocks.concatenate(tf.data.Dataset.from_tensors((no_lines, no_lines, True)))
    blocks = blocks.map(encode, num_parallel_calls=num_parallel_calls, deterministic=True)
    blocks = blocks.scan(_Block(source.no_rows, target.no_rows, tf.zeros([0], tf.int64)), emit)
    blocks = blocks.map(packed, num_parallel_calls=num_parallel_calls, deterministic=True)
    batches = blocks.flat_map(lambda pairs: padded_batches(pairs, source_eos, target_eos, source.width))
    return batches_or_tensors(batches.prefetch(_BATCHES_AHEAD))


def get_infer_iterator(
    src_dataset: tf.data.Dataset,
    src_vocab_table: tf.lookup.experimental.LookupInterface,
    batch_size: int | tf.Tensor,
    eos: str,
    src_max_len: int | None = None,
    use_char_encode: bool = False,
) -> tf.data.Dataset | BatchedInput:
    """Batches of sources for inference, in the order of the lines, as tensorflow/nmt's ``get_infer_iterator``.

    Nothing is shuffled or dropped: an empty line is a row of padding with length 0.

    Args:
        src_dataset: scalar strings, one sentence each, tokens separated by spaces.
        src_vocab_table: ``tf.lookup`` table from tokens to ids, also of ``eos``.
        batch_size: sentences in a batch; the last batch may have fewer.
        eos: token that pads.
        src_max_len: sentences are cut to this many tokens; None or 0 for no limit.
        use_char_encode: 50 character ids a word, as in :func:`get_iterator`.

    Returns:
        As :func:`get_iterator`; the target fields are None.

    Raises:
        ArgumentError: ``batch_size`` is smaller than 1.
    """
    check_positive(batch_size=batch_size)
    source = _Encoder(src_vocab_table, eos, src_max_len, use_char_encode)
    source_eos = source.eos_id

    def batch(lines: tf.Tensor) -> BatchedInput:
        column = pack(source.encode(lines))
        ids = pad(tf.reshape(column.values, [-1]), row_splits(column.lengths, source.width), source_eos)
        return BatchedInput(None, ids, None, None, tf.cast(column.lengths, tf.int32), None)

    batches = src_dataset.batch(tf.cast(batch_size, tf.int64)).map(batch)
    return batches_or_tensors(batches.prefetch(_BATCHES_AHEAD))
