"""Lines as ids: the words of a lookup table, or the characters of words, as tensorflow/nmt has them.

A table of TensorFlow copies every word that it looks up. So the native core splits a block of lines and gives each
different word once.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from _nmt_prep_core import distinct_words

CHARACTERS_PER_WORD = 50
"""Number of ids per word in character mode, as in tensorflow/nmt's ``vocab_utils``."""

CHARACTER_EOS_ID = 257
"""Padding of the source in character mode. Unlike the ids of characters it is not shifted by one."""

_BEGIN_OF_WORD_ID = 258
_END_OF_WORD_ID = 259
_CHARACTER_PADDING_ID = 260

_NO_LIMIT = (1 << 63) - 1


class Words(NamedTuple):
    """The words of some lines.

    Attributes:
        distinct: the different words, strings, shape ``[distinct]``.
        numbers: int32, shape ``[words]``: for each word of the lines, its number in ``distinct``.
        lengths: int64, shape ``[rows]``: number of words of each line.
    """

    distinct: tf.Tensor
    numbers: tf.Tensor
    lengths: tf.Tensor


def split_words(lines: tf.Tensor, max_length: int | None = None) -> Words:
    """Splits lines at spaces (only U+0020); runs of spaces give no empty words.

    Args:
        lines: strings, shape ``[rows]``.
        max_length: maximum number of words of a line; the rest is left out. None or 0 for no limit.
    """
    text, sizes = tf.strings.reduce_join(lines), tf.strings.length(lines)
    split = partial(_split, longest=max_length or _NO_LIMIT)
    words, numbers, lengths = tf.numpy_function(split, (text, sizes), (tf.string, tf.int32, tf.int64), stateful=False)
    distinct = tf.raw_ops.StringSplit(input=tf.reshape(words, [1]), delimiter=" ", skip_empty=True).values
    return Words(distinct, tf.ensure_shape(numbers, [None]), tf.ensure_shape(lengths, [None]))


def _split(
    text: bytes | npt.NDArray[np.object_], sizes: npt.NDArray[np.int32], *, longest: int
) -> tuple[bytes, npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    # Outside of a graph, which includes the debug mode of tf.data, TensorFlow passes an array with the bytes.
    return distinct_words(text if isinstance(text, bytes) else text.item(), sizes, longest)


def spell(words: tf.Tensor) -> tf.Tensor:
    """Returns the character ids of words: begin of word, at most 48 bytes, end of word, padding; all shifted by one.

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
    """Encodes the lines of one side.

    Attributes:
        table: lookup table from words to ids.
        max_length: maximum number of words of a line; the rest is cut off. None or 0 for no limit.
        characters: True if a word becomes 50 character ids instead of one id.
    """

    table: tf.lookup.experimental.LookupInterface
    max_length: int | None
    characters: bool = False

    @property
    def width(self) -> int:
        """Number of ids per word."""
        return CHARACTERS_PER_WORD if self.characters else 1

    def id_of(self, word: str) -> tf.Tensor:
        """Returns a word's id in the table, int32 scalar."""
        return tf.cast(self.table.lookup(tf.constant(word)), tf.int32)

    def padding_id(self, eos: str) -> tf.Tensor:
        """Returns the id that pads this side, int32 scalar."""
        return tf.constant(CHARACTER_EOS_ID) if self.characters else self.id_of(eos)

    def encode(self, lines: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Encodes lines, strings of shape ``[rows]``.

        Returns:
            The ids of all lines, int32, and the number of words of each line, int64 ``[rows]``.
        """
        words = split_words(lines, self.max_length)
        ids = spell(words.distinct) if self.characters else tf.cast(self.table.lookup(words.distinct), tf.int32)
        return tf.reshape(tf.gather(ids, words.numbers), [-1]), words.lengths
