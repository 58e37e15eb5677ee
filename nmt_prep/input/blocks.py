"""Encodes blocks of lines and forms batches: the steps of ``get_iterator`` between shuffle and padding."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from nmt_prep.input.batching import (
    Column,
    concat_columns,
    cut_windows,
    empty_column,
    pack,
    select_rows,
    truncate_rows,
)
from nmt_prep.input.padding import PackedPairs, append_id, shift_right
from nmt_prep.input.words import CHARACTER_EOS_ID, CHARACTERS_PER_WORD, look_up, spell, split_words

_DEFAULT_BUCKET_WIDTH = 10


class SideEncoder(NamedTuple):
    """Encodes the lines of one side.

    Attributes:
        table: lookup table from words to ids.
        max_length: maximum number of words of a line; the rest is cut off. None or 0 for no limit.
        characters: whether a word becomes 50 character ids instead of one id.
    """

    table: tf.lookup.experimental.LookupInterface
    max_length: int | None
    characters: bool = False

    @property
    def width(self) -> int:
        """Number of ids per word."""
        return CHARACTERS_PER_WORD if self.characters else 1

    @property
    def no_rows(self) -> Column:
        """An encoded column without rows."""
        return empty_column([0, CHARACTERS_PER_WORD] if self.characters else [0])

    def id_of(self, word: str) -> tf.Tensor:
        """Returns a word's id in the table, int32 scalar."""
        return tf.cast(self.table.lookup(tf.constant(word)), tf.int32)

    def padding_id(self, eos: str) -> tf.Tensor:
        """The id that pads this side, int32 scalar."""
        return tf.constant(CHARACTER_EOS_ID) if self.characters else self.id_of(eos)

    def encode(self, lines: tf.Tensor) -> Column:
        """Encodes lines, strings of shape ``[rows]``."""
        words, lengths = split_words(lines)
        column = spell(words, lengths) if self.characters else look_up(words, lengths, self.table)
        return truncate_rows(column, self.max_length)


class EncodedPairs(NamedTuple):
    """Encoded pairs in order of arrival, and the bucket number of each, int64 ``[pairs]``."""

    source: Column
    target: Column
    buckets: tf.Tensor


class BatchedPairs(NamedTuple):
    """Pairs in batch order, and the number of pairs in each batch, int64 ``[batches]``."""

    source: Column
    target: Column
    sizes: tf.Tensor


class TrainingBlocks(NamedTuple):
    """The steps for training, in the order of the methods.

    Attributes:
        source: encoder of the source.
        target: encoder of the target.
        sos: int32 scalar, id that begins ``target_input``.
        eos: int32 scalar, id that ends ``target_output``.
        batch_size: int64 scalar.
        num_buckets: buckets of lengths, 1 for no bucketing.
    """

    source: SideEncoder
    target: SideEncoder
    sos: tf.Tensor
    eos: tf.Tensor
    batch_size: tf.Tensor
    num_buckets: int

    @property
    def nothing(self) -> EncodedPairs:
        """The initial state: no waiting pairs."""
        return EncodedPairs(self.source.no_rows, self.target.no_rows, tf.zeros([0], tf.int64))

    def encode(
        self, source_lines: tf.Tensor, target_lines: tf.Tensor, last: tf.Tensor
    ) -> tuple[EncodedPairs, tf.Tensor]:
        """Encodes a block, drops pairs with an empty side, and finds the buckets of the others.

        Args:
            source_lines: strings, shape ``[pairs]``.
            target_lines: strings, shape ``[pairs]``.
            last: boolean scalar, true for the last block; returned unchanged.
        """
        source, target = self.source.encode(source_lines), self.target.encode(target_lines)
        whole = (source.lengths > 0) & (target.lengths > 0)
        rows = tf.boolean_mask(tf.range(tf.size(source_lines, tf.int64)), whole)
        source, target = select_rows(source, rows), select_rows(target, rows)
        return EncodedPairs(source, target, self._buckets(source.lengths, target.lengths + 1)), last

    def cut(self, waiting: EncodedPairs, arrived: tuple[EncodedPairs, tf.Tensor]) -> tuple[EncodedPairs, BatchedPairs]:
        """Forms the batches that this block completes; returns the other pairs as waiting.

        Batches and their order are those of ``tf.data.Dataset.group_by_window``.
        """
        block, last = arrived
        source = concat_columns(waiting.source, block.source)
        target = concat_columns(waiting.target, block.target)
        buckets = tf.concat([waiting.buckets, block.buckets], 0)
        windows = cut_windows(buckets, self.num_buckets + 1, self.batch_size, last)
        still_waiting = EncodedPairs(
            pack(select_rows(source, windows.waiting)),
            pack(select_rows(target, windows.waiting)),
            tf.gather(buckets, windows.waiting),
        )
        return still_waiting, BatchedPairs(
            select_rows(source, windows.rows), select_rows(target, windows.rows), windows.sizes
        )

    def pack(self, block: BatchedPairs) -> PackedPairs:
        """Copies the ids of a block's batches into consecutive rows, and adds sos and eos."""
        source, outputs = pack(block.source), append_id(pack(block.target), self.eos)
        return PackedPairs(
            source=tf.reshape(source.values, [-1]),
            target_input=shift_right(outputs, self.sos),
            target_output=outputs.values,
            source_lengths=tf.cast(source.lengths, tf.int32),
            target_lengths=tf.cast(outputs.lengths, tf.int32),
            sizes=block.sizes,
        )

    def _buckets(self, source_lengths: tf.Tensor, target_lengths: tf.Tensor) -> tf.Tensor:
        longer = tf.maximum(source_lengths, target_lengths)
        if self.num_buckets == 1:
            return tf.zeros_like(longer)
        longest = self.source.max_length
        width = (longest + self.num_buckets - 1) // self.num_buckets if longest else _DEFAULT_BUCKET_WIDTH
        return tf.minimum(longer // width, self.num_buckets)
