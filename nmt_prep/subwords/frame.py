"""Special pieces round the ids of a row, such as a tag before them and the end of the sentence behind them.

They are put there as ids. No dialect makes them from text, so that a text that looks like a tag stays text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from _nmt_prep_core import frame_rows

from nmt_prep.columns import Ragged
from nmt_prep.errors import VocabularyError
from nmt_prep.subwords.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Frame:
    """The ids before and after those of the text, the same for each row.

    Attributes:
        before: ids that begin a row.
        after: ids that end a row.
    """

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    @classmethod
    def of(cls, tokenizer: Tokenizer, tag: str | None = None, *, eos: bool = True) -> Self:
        """The usual frame: the tag, the text, the end of the sentence.

        Args:
            tokenizer: whose pieces they are.
            tag: a piece, as :meth:`Tokenizer.piece_id` takes it; None for no tag.
            eos: False leaves out the end of the sentence.

        Raises:
            VocabularyError: the tag is no piece of the vocabulary, or there is no eos piece.
        """
        if eos and tokenizer.eos_id is None:
            raise VocabularyError("the vocabulary has no eos piece, with which every row must end; build it with one")
        before = () if tag is None else (tokenizer.piece_id(tag),)
        return cls(before, (tokenizer.eos_id,) if eos and tokenizer.eos_id is not None else ())

    def around(self, rows: Ragged) -> Ragged:
        """The rows, each within the frame.

        Raises:
            ValueError: the offsets do not ascend within the values.
        """
        if not self.before and not self.after:
            return rows
        return Ragged(
            *frame_rows(rows.values, rows.offsets, np.array(self.before, np.int32), np.array(self.after, np.int32))
        )

    def inside(self, ids: Sequence[int]) -> Sequence[int] | None:
        """The ids within the frame; None where the row does not begin and end with its ids."""
        end = len(ids) - len(self.after)
        if end < len(self.before) or tuple(ids[end:]) != self.after or tuple(ids[: len(self.before)]) != self.before:
            return None
        return ids[len(self.before) : end]
