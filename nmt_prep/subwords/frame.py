"""Frames: the special pieces around a row's IDs, such as a tag and the end of sentence.

Frames are added as IDs. No dialect reads special pieces from text, so text that looks like a tag stays text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from _nmt_prep_core import frame_rows

from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Frame:
    """The IDs at the start and at the end of every row."""

    before: tuple[int, ...] = ()  # IDs at the start of a row
    after: tuple[int, ...] = ()  # IDs at the end of a row

    @classmethod
    def of(cls, tokenizer: Tokenizer, tag: str | None = None, *, eos: bool = True) -> Self:
        """Returns the usual frame: the tag, the text, the end of sentence.

        Args:
            tag: a piece, as :meth:`Tokenizer.piece_id` takes it; None for no tag.
        """
        if eos and tokenizer.eos_id is None:
            raise VocabularyError(
                "the vocabulary has no eos piece, but every row must end with eos; train the vocabulary with "
                "an eos piece"
            )
        before = () if tag is None else (tokenizer.piece_id(tag),)
        return cls(before, (tokenizer.eos_id,) if eos and tokenizer.eos_id is not None else ())

    @classmethod
    def parse(cls, tokenizer: Tokenizer, text: str | None, tag: str | None = None) -> Self:
        """Returns the frame that a text such as ``{tag} {ids} </s>`` describes; the usual frame for None.

        Args:
            tag: the piece for ``{tag}``; None for no tag.
        """
        if text is None:
            return cls.of(tokenizer, tag)
        before, _, after = (f" {text} ".replace(" {tag} ", f" {tag} " if tag else " ")).partition(" {ids} ")
        first, last = (tuple(tokenizer.piece_id(piece) for piece in part.split()) for part in (before, after))
        return cls(first, last)

    @property
    def size(self) -> int:
        """Number of IDs that the frame adds to a row."""
        return len(self.before) + len(self.after)

    def around(self, rows: Ragged) -> Ragged:
        """Returns the rows, each within the frame."""
        if not self.before and not self.after:
            return rows
        return Ragged(
            *frame_rows(rows.values, rows.offsets, np.array(self.before, np.int32), np.array(self.after, np.int32))
        )

    def inside(self, ids: Sequence[int]) -> Sequence[int] | None:
        """Returns the IDs within the frame; None if the row does not start and end with the frame's IDs."""
        end = len(ids) - len(self.after)
        if end < len(self.before) or tuple(ids[end:]) != self.after or tuple(ids[: len(self.before)]) != self.before:
            return None
        return ids[len(self.before) : end]


def frame_sizes(text: str | None, tag: str | None) -> tuple[int, int]:
    """Returns how many IDs a frame, as :meth:`Frame.parse` takes it, adds before and after a row's IDs."""
    words = ["{tag}", "{ids}", "</s>"] if text is None else text.split()
    words = [word for word in words if word != "{tag}" or tag is not None]
    place = words.index("{ids}")
    return place, len(words) - place - 1
