"""The input functions of tensorflow/nmt (``nmt/utils/iterator_utils.py``), faster, with the same arguments and batches.

Upstream sends every pair through a dozen ``tf.data`` operators. Here TensorFlow reads lines and looks up words; the
native core splits, shuffles and pads them.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from _nmt_prep_core import distinct_words

from nmt_prep.training.batches.options import check_place, check_positive
from nmt_prep.training.tensorflow.batching import (
    BatchedInput,
    batches_or_tensors,
    pad,
    python_step,
    row_splits,
    without_autograph,
)
from nmt_prep.training.tensorflow.windows import BatchSizes, blocks_of, random_numbers, shuffled_batches

_DEFAULT_BUCKET_WIDTH = 10
_BATCHES_AHEAD = 8


@without_autograph
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
    """Returns batches of pairs for training, shuffled and bucketed by length, like tensorflow/nmt's ``get_iterator``.

    In this order: zip, shard, skip, shuffle, split at spaces, drop pairs with an empty side, truncate, look up, add
    ``sos`` and ``eos`` to the target, bucket, pad. A source is padded with the source table's ``eos``, both targets
    with the target table's ``eos``. A bucket is ``(src_max_len + num_buckets - 1) // num_buckets`` tokens wide, or 10
    without ``src_max_len``; the last one, ``num_buckets``, takes all longer pairs. The longer side decides, counting
    the target with ``sos``. A batch is emitted when a bucket holds ``batch_size`` pairs; when the data ends, each
    bucket's rest is emitted.

    With the same seeds, you get the same batches in the same order as upstream.

    Args:
        src_dataset: scalar strings, one source sentence each, tokens separated by spaces.
        tgt_dataset: the same for the target; sentence i translates sentence i.
        src_vocab_table: ``tf.lookup`` table from source tokens, including ``eos``, to IDs.
        tgt_vocab_table: the same for the target, including ``sos``.
        batch_size: pairs in a batch.
        sos: token that begins ``target_input``.
        eos: token that ends ``target_output`` and pads.
        random_seed: seed of the shuffle, together with TensorFlow's global seed.
        num_buckets: number of length buckets; 1 or less for no bucketing.
        src_max_len: sources are cut to this many tokens; None or 0 for no limit.
        tgt_max_len: targets are cut to this many tokens, not counting ``sos`` and ``eos``; None or 0 for no limit.
        num_parallel_calls: number of encoding threads, or ``tf.data.AUTOTUNE``; does not change the result.
        output_buffer_size: pairs in the shuffle buffer; default 1000 times ``batch_size``.
        skip_count: pairs to skip at the start, counted after sharding.
        num_shards: number of processes among which the pairs are distributed.
        shard_index: index of this process, from 0.
        reshuffle_each_iteration: give every epoch a different order.
        use_char_encode: encode the source as 50 character IDs per word (``source`` then has shape
            ``[rows, 50 * longest source]``, padded with 257; lengths still count words).

    Returns:
        In TensorFlow 2, a dataset of :class:`BatchedInput`. In a TensorFlow 1 graph, a :class:`BatchedInput` of
        tensors; run its ``initializer``, after the tables', at the start of each epoch.

    Raises:
        ArgumentError: a number is out of range.
        tf.errors.InvalidArgumentError: when the graph runs: a ``batch_size`` whose value is fed is out of range.
    """
    if num_parallel_calls != tf.data.AUTOTUNE:
        check_positive(num_parallel_calls=num_parallel_calls)
    check_positive(src_max_len=src_max_len or None, tgt_max_len=tgt_max_len or None)
    check_positive(output_buffer_size=output_buffer_size or None)
    check_place(shard_index=shard_index, num_shards=num_shards)
    source, target = Side(src_vocab_table, src_max_len, use_char_encode), Side(tgt_vocab_table, tgt_max_len)
    window_size = _positive(batch_size=batch_size)
    num_buckets = max(num_buckets, 1)
    sizes = BatchSizes(
        buffer_size=output_buffer_size or window_size * 1000,
        batch_size=window_size,
        buckets=0 if num_buckets == 1 else num_buckets,
        bucket_width=-(-src_max_len // num_buckets) if src_max_len else _DEFAULT_BUCKET_WIDTH,
        source_width=source.width,
        source_padding=source.padding_id(eos),
        sos=target.id_of(sos),
        eos=target.padding_id(eos),
    )

    def shard_of(lines: tf.data.Dataset) -> tf.data.Dataset:
        if num_shards > 1:
            lines = lines.shard(num_shards, shard_index)
        return lines if skip_count is None else lines.skip(tf.cast(skip_count, tf.int64))

    def encoded(lines: tf.data.Dataset, side: Side) -> tf.data.Dataset:
        return blocks_of(shard_of(lines)).map(side.encode, num_parallel_calls=num_parallel_calls, deterministic=True)

    order = random_numbers(random_seed, reshuffle_each_iteration)
    batches = shuffled_batches(encoded(src_dataset, source), encoded(tgt_dataset, target), order, sizes)
    return batches_or_tensors(batches.prefetch(_BATCHES_AHEAD))


@without_autograph
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
        src_vocab_table: ``tf.lookup`` table from tokens, including ``eos``, to IDs.
        batch_size: sentences in a batch; the last batch may have fewer.
        eos: token that pads.
        src_max_len: sentences are cut to this many tokens; None or 0 for no limit.
        use_char_encode: encode as 50 character IDs per word, as in :func:`get_iterator`.

    Returns:
        As :func:`get_iterator`; the target fields are None.

    Raises:
        ArgumentError: a number is out of range.
        tf.errors.InvalidArgumentError: when the graph runs: a ``batch_size`` whose value is fed is out of range.
    """
    check_positive(src_max_len=src_max_len or None)
    source = Side(src_vocab_table, src_max_len, use_char_encode)
    source_eos = source.padding_id(eos)

    def batch(lines: tf.Tensor) -> BatchedInput:
        ids, lengths = source.encode(lines)
        padded = pad(ids, row_splits(lengths, source.width), source_eos)
        return BatchedInput(None, padded, None, None, tf.cast(lengths, tf.int32), None)

    batches = src_dataset.batch(_positive(batch_size=batch_size)).map(batch)
    return batches_or_tensors(batches.prefetch(_BATCHES_AHEAD))


def _positive(**argument: int | tf.Tensor) -> tf.Tensor:
    """Returns an argument as int64. An argument that is fed later is checked when the graph runs."""
    [(name, value)] = argument.items()
    known = tf.get_static_value(value) if tf.is_tensor(value) else value
    if known is not None:
        known = known.item() if isinstance(known, np.ndarray | np.generic) else known
        check_positive(**{name: known})
        return tf.cast(value, tf.int64)
    checked = tf.debugging.assert_positive(value, f"{name} must be at least 1")
    with tf.control_dependencies([checked]):
        return tf.identity(tf.cast(value, tf.int64))  # a cast of int64 would lose the dependency


CHARACTERS_PER_WORD = 50  # Number of IDs per word in character mode, as in tensorflow/nmt's `vocab_utils`

CHARACTER_EOS_ID = 257
"""Padding of the source in character mode. Unlike the IDs of characters it is not shifted by one."""

_BEGIN_OF_WORD_ID = 258
_END_OF_WORD_ID = 259
_CHARACTER_PADDING_ID = 260

_NO_LIMIT = (1 << 63) - 1


class Words(NamedTuple):
    """The words of some lines."""

    distinct: tf.Tensor  # the different words, strings, shape `[distinct]`
    numbers: tf.Tensor  # int32, shape `[words]`: for each word of the lines, its number in `distinct`
    lengths: tf.Tensor  # int64, shape `[rows]`: word count of each line


def split_words(lines: tf.Tensor, max_length: int | None = None) -> Words:
    """Splits lines at spaces (only U+0020); runs of spaces give no empty words.

    Args:
        lines: strings, shape ``[rows]``.
        max_length: maximum word count per line; further words are skipped. None or 0 for no limit.
    """
    text, sizes = tf.strings.reduce_join(lines), tf.strings.length(lines)
    split = partial(_split, longest=max_length or _NO_LIMIT)
    words, numbers, lengths = python_step(split, (text, sizes), (tf.string, tf.int32, tf.int64), stateful=False)
    distinct = tf.raw_ops.StringSplit(input=tf.reshape(words, [1]), delimiter=" ", skip_empty=True).values
    return Words(distinct, tf.ensure_shape(numbers, [None]), tf.ensure_shape(lengths, [None]))


def _split(
    text: bytes | npt.NDArray[np.object_], sizes: npt.NDArray[np.int32], *, longest: int
) -> tuple[bytes, npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    # Outside of a graph, which includes the debug mode of tf.data, TensorFlow passes an array with the bytes.
    return distinct_words(text if isinstance(text, bytes) else text.item(), sizes, longest)


def spell(words: tf.Tensor) -> tf.Tensor:
    """Returns words as character IDs: begin of word, at most 48 bytes, end of word, padding; all shifted by one.

    Same as ``tokens_to_bytes`` of tensorflow/nmt's ``vocab_utils``.

    Args:
        words: strings, shape ``[words]``.

    Returns:
        int32, shape ``[words, 50]``.
    """
    kept = tf.strings.substr(words, 0, CHARACTERS_PER_WORD - 2)
    sizes = tf.strings.length(kept)[:, tf.newaxis]
    raw = tf.io.decode_raw(kept, tf.uint8, fixed_length=CHARACTERS_PER_WORD - 2)
    raw = tf.reshape(tf.cast(raw, tf.int32), [-1, CHARACTERS_PER_WORD - 2])
    position = tf.range(CHARACTERS_PER_WORD - 1)[tf.newaxis, :]
    ends = tf.where(tf.equal(position, sizes), _END_OF_WORD_ID, _CHARACTER_PADDING_ID)
    tail = tf.where(position < sizes, tf.pad(raw, [[0, 0], [0, 1]]), ends)
    begin = tf.fill([tf.size(words), 1], _BEGIN_OF_WORD_ID)
    return tf.concat([begin, tail], 1) + 1


class Side(NamedTuple):
    """Encodes the lines of one side."""

    table: tf.lookup.experimental.LookupInterface  # from words to IDs
    max_length: int | None  # maximum word count of a line; the rest is cut off. None or 0 for no limit
    characters: bool = False  # true if a word becomes 50 character IDs instead of one ID

    @property
    def width(self) -> int:
        """Number of IDs per word."""
        return CHARACTERS_PER_WORD if self.characters else 1

    def id_of(self, word: str) -> tf.Tensor:
        """Returns a word's ID in the table, int32 scalar."""
        return tf.cast(self.table.lookup(tf.constant(word)), tf.int32)

    def padding_id(self, eos: str) -> tf.Tensor:
        """Returns the ID that pads this side, int32 scalar."""
        return tf.constant(CHARACTER_EOS_ID) if self.characters else self.id_of(eos)

    def encode(self, lines: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Encodes lines, strings of shape ``[rows]``.

        Returns: The IDs for all lines, int32, and each line's word count, int64 ``[rows]``.
        """
        words = split_words(lines, self.max_length)
        ids = spell(words.distinct) if self.characters else tf.cast(self.table.lookup(words.distinct), tf.int32)
        return tf.reshape(tf.gather(ids, words.numbers), [-1]), words.lengths
