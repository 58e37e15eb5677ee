"""Words of lines, as alignment sees them.

By default, a word is a run of letters, marks, numbers and underscores. A point or comma between digits belongs to the
number. Chinese characters and Hiragana are words of their own, a run of Katakana is a
word, and Thai, Lao, Khmer and Burmese are divided into clusters of a consonant with its vowels and marks. A
punctuation mark or symbol is a word, together with equal ones that follow it. Spaces belong to no word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import word_spans

from nmt_prep.columns import TextColumn


@dataclass(frozen=True, slots=True)
class Words:
    """Places of words: those of line i are ``begins[offsets[i]:offsets[i + 1]]`` and ``ends[…]``.

    Attributes:
        begins: position of the first byte of each word within its line: int32, shape ``[words]``.
        ends: position after its last byte: int32, shape ``[words]``.
        offsets: int64, shape ``[lines + 1]``.
    """

    begins: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]


def words_of(lines: TextColumn, *, pretokenized: bool = False) -> Words:
    """Splits lines into words.

    Args:
        lines: the lines.
        pretokenized: true if words are what white space in ASCII separates.

    Raises:
        InvalidTextError: a line is not UTF-8.
    """
    return Words(*word_spans(lines.data, lines.offsets, pretokenized))
