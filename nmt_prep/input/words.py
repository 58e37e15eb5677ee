"""Splits lines into words and looks up their ids like tensorflow/nmt, but for many lines at a time."""

from __future__ import annotations

import tensorflow as tf

from nmt_prep.input.batching import Column, packed_column

CHARACTERS_PER_WORD = 50
"""Number of ids per word in character mode, as in tensorflow/nmt's ``vocab_utils``."""

CHARACTER_EOS_ID = 257
"""Padding of the source in character mode. Unlike the ids of characters it is not shifted by one."""

_BEGIN_OF_WORD_ID = 258
_END_OF_WORD_ID = 259
_CHARACTER_PADDING_ID = 260


def split_words(lines: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Splits lines at spaces (only U+0020); runs of spaces give no empty words.

    Args:
        lines: strings, shape ``[rows]``.

    Returns:
        The words of all lines, and the number of words of each line, int64 ``[rows]``.
    """
    parts = tf.raw_ops.StringSplit(input=lines, delimiter=" ", skip_empty=True)
    rows = tf.range(tf.size(lines, tf.int64))
    ends = tf.searchsorted(parts.indices[:, 0], rows, side="right", out_type=tf.int64)
    return parts.values, ends - tf.concat([[0], ends], 0)[:-1]


def look_up(words: tf.Tensor, lengths: tf.Tensor, table: tf.lookup.experimental.LookupInterface) -> Column:
    """Returns the ids of words in a vocabulary table."""
    return packed_column(tf.cast(table.lookup(words), tf.int32), lengths)


def spell(words: tf.Tensor, lengths: tf.Tensor) -> Column:
    """Returns the character ids of words: begin of word, at most 48 bytes, end of word, padding; all shifted by one.

    Same as ``tokens_to_bytes`` of tensorflow/nmt's ``vocab_utils``.

    Returns:
        A column whose values have shape ``[words, 50]``.
    """
    kept = tf.strings.substr(words, 0, CHARACTERS_PER_WORD - 2)
    sizes = tf.strings.length(kept)[:, tf.newaxis]
    raw = tf.io.decode_raw(kept, tf.uint8, fixed_length=CHARACTERS_PER_WORD - 2)
    raw = tf.reshape(tf.cast(raw, tf.int32), [-1, CHARACTERS_PER_WORD - 2])
    position = tf.range(CHARACTERS_PER_WORD - 1)[tf.newaxis, :]
    ends = tf.where(tf.equal(position, sizes), _END_OF_WORD_ID, _CHARACTER_PADDING_ID)
    tail = tf.where(position < sizes, tf.pad(raw, [[0, 0], [0, 1]]), ends)
    begin = tf.fill([tf.size(words), 1], _BEGIN_OF_WORD_ID)
    return packed_column(tf.concat([begin, tail], 1) + 1, lengths)
