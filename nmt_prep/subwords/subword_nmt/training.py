"""Learns codes from counted words, as learn-bpe and learn-joint-bpe-and-vocab of subword-nmt 0.3.8."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import SubwordNMTWordCounter

from nmt_prep.base.columns import Lines, text_columns
from nmt_prep.base.errors import TrainingError
from nmt_prep.base.runtime import available_cores
from nmt_prep.config.vocab import DEFAULT_MERGES
from nmt_prep.subwords.dialect import TextCounts
from nmt_prep.subwords.subword_nmt.codes import Codes
from nmt_prep.subwords.tokenizer import ProgressCallback

SPECIALS = ("<pad>", "</s>", "<unk>", "<s>")  # The first pieces of a vocabulary without special pieces of its own

_log = logging.getLogger(__name__)
_BYTES_PER_PLACE = 48  # per character of a distinct word and per end of one
_LONG_WORDS = 30  # characters of a word on average, where its text seems to lack spaces


class WordCounts(TextCounts[SubwordNMTWordCounter]):
    """Distinct words of a text and how often each occurs. Only spaces separate words."""

    unit = "words"

    def __init__(self) -> None:
        """Starts empty."""
        super().__init__(SubwordNMTWordCounter())

    @classmethod
    def of(cls, lines: Lines, threads: int | None = None) -> Self:
        """Returns the counts of lines; raises the same errors as :meth:`add`."""
        counts = cls()
        counts.add(lines, threads)
        return counts

    @classmethod
    def joined(cls, sides: Sequence[WordCounts]) -> WordCounts:
        """Returns the counts of all sides together; a single side's counts are returned unchanged."""
        if len(sides) == 1:
            return sides[0]
        counts = cls()
        for side in sides:
            counts.add_counted(side.columns())
        return counts

    def add(self, lines: Lines, threads: int | None = None) -> None:
        """Counts the words of lines."""
        for column in text_columns(lines):
            self.native.add(column.data, column.offsets, threads or available_cores())

    @property
    def training_bytes(self) -> int:
        """Estimated memory for training, in bytes."""
        return self.native.places() * _BYTES_PER_PLACE


def learn_codes(
    words: WordCounts,
    merges: int | None,
    total_symbols: int | None,
    min_frequency: int,
    progress: ProgressCallback | None,
    threads: int,
) -> Codes:
    """Learns merges; takes the same arguments as :meth:`SubwordNMTTokenizer.train`."""
    if merges is not None and total_symbols is not None:
        raise TrainingError("merges and total_symbols cannot be combined; give one of them")
    wanted = total_symbols or (DEFAULT_MERGES if merges is None else merges)
    if wanted < 1 or min_frequency < 0:
        raise TrainingError(
            f"{wanted} merges with a frequency of {min_frequency}: they must be 1 or more, and 0 or more"
        )
    columns = words.columns()
    sizes = np.diff(columns.texts.offsets)
    if sizes.size and sizes.sum() / sizes.size > 3 * _LONG_WORDS:
        _log.warning(
            "the distinct words have %d bytes on average, so the text seems to have no spaces between words; segment "
            "it into words before, or use a tokenizer type that needs no words (sentencepiece)",
            sizes.sum() / sizes.size,
        )

    def report(found: int) -> None:
        if progress is not None:
            progress("merges", {"size": found, "target": wanted})

    learnt = words.native.learn(wanted, total_symbols is not None, min_frequency, threads, report)
    if not learnt:
        raise TrainingError(
            f"no two neighboring symbols occur {max(min_frequency, 1)} times in the words of this text, so there is "
            "nothing to merge; give more text, or a lower min_frequency"
        )
    return Codes(tuple(learnt))


def pieces_by_count(words: pa.ChunkedArray, counts: npt.NDArray[np.int64]) -> dict[str, int]:
    """Returns the pieces of segmented words with their counts."""
    lists = pc.split_pattern(words.combine_chunks(), " ")
    pieces = lists.flatten().dictionary_encode()
    each = np.repeat(counts, pc.list_value_length(lists).to_numpy())
    sums = np.zeros(len(pieces.dictionary), np.int64)
    np.add.at(sums, pieces.indices.to_numpy(), each)
    found = zip(pieces.dictionary.to_pylist(), sums.tolist(), strict=True)
    return {piece: count for piece, count in found if piece}


def by_count(counts: Mapping[str, int]) -> list[str]:
    """Returns pieces in ID order: the most frequent first, then by code points."""
    return sorted(counts, key=lambda piece: (-counts[piece], piece))
