"""The interface that all dialects' tokenizers have, and functions that read vocabulary files."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.base.columns import Lines, Ragged, TextColumn
from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords.added import AddedToken

_SPACES = b" \t\n\v\f\r"


@dataclass(frozen=True, slots=True)
class PieceSpans:
    """Piece spans in encoded lines. The span of a piece without text is empty.

    Attributes:
        begins: the first byte of each span in its line; int32, shape ``[ids]``; non-decreasing within a line.
        ends: the byte after each span; int32, shape ``[ids]``.
        known: bool, shape ``[lines]``. False for a line that the vocabulary changed in a way that cannot be traced; its
            spans are empty.
    """

    begins: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    known: npt.NDArray[np.bool_]


def spans_by_size(lines: TextColumn, rows: Ragged, sizes: npt.NDArray[np.int64]) -> PieceSpans:
    """Returns the spans of pieces that spell their line, apart from ASCII white space.

    Args:
        lines: the lines.
        rows: their IDs.
        sizes: the text size of each piece in the vocabulary, in bytes without ASCII white space; int64.
    """
    first, end = lines.offsets[:-1], lines.offsets[1:]
    text = np.flatnonzero(~np.isin(lines.data[: lines.offsets[-1]], [*_SPACES]))
    start = np.searchsorted(text, first)
    line = np.repeat(np.arange(len(rows)), rows.lengths)
    sums = np.concatenate([[0], np.cumsum(sizes[rows.values])])
    totals = np.diff(sums[rows.offsets])
    known = totals == np.searchsorted(text, end) - start
    places = np.append(text, lines.offsets[-1])
    at = start[line] + sums[:-1] - sums[rows.offsets[:-1]][line]  # of each piece's first byte, in text
    begins = np.minimum(places[np.minimum(at, len(text))], end[line]) - first[line]
    last = np.minimum(at + sizes[rows.values] - 1, len(text) - 1)
    ends = np.where(sizes[rows.values] > 0, places[last] + 1 - first[line], begins)
    begins, ends = (np.where(known[line], bounds, 0).astype(np.int32) for bounds in (begins, ends))
    return PieceSpans(begins, ends, known)


_MAX_BYTES = 1 << 28

IdLayout: TypeAlias = Literal["sentencepiece", "fairseq"]  # An ID layout for the pieces in SentencePiece models

ProgressCallback: TypeAlias = Callable[[str, Mapping[str, int | float | str]], None]
"""Called during training with the name of an event and its fields: ``("bisection", {"min_count": 500, "size": 812})``.

If it raises an exception, training ends and the exception reaches the caller.
"""


class Tokenizer(ABC):
    """Converts text to IDs and back. Instances are immutable and thread-safe."""

    dialect: str
    """Name of the dialect, as ``vocab.kind`` in a config."""

    _special_ids: Mapping[str, int | None] = MappingProxyType({})
    """Ids by ``pad``, ``eos``, ``bos`` and ``unk``; None, or no entry, for a piece that the vocabulary lacks."""

    @classmethod
    @abstractmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Reads a vocabulary file.

        Raises:
            VocabularyError: the file cannot be read, or is not a vocabulary of this dialect.
        """

    @abstractmethod
    def save(self, path: str | Path) -> None:
        """Writes the vocabulary file, replacing ``path`` in one step.

        Raises:
            OutputError: the file cannot be written.
        """

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Returns the IDs of one text, without bos or eos."""

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """Returns the text of one ID sequence."""

    @abstractmethod
    def encode_batch(self, lines: Lines, threads: int | None = None) -> Ragged:
        """Returns the IDs of many lines, without bos or eos, in order.

        Args:
            lines: strings, or an Arrow string array (read in place).
            threads: native threads to use; None is one per available core.

        Raises:
            InvalidTextError: a line is null or holds a lone surrogate.
        """

    @property
    def added(self) -> Mapping[str, AddedToken]:
        """The added tokens of a ``tokenizer.json`` by name, special ones among them."""
        return {}

    def encode_after_token(self, lines: Lines, threads: int | None = None) -> Ragged:
        """Returns the IDs of texts that follow an added token, as ``tokenizers`` encodes them, without bos or eos."""
        return self.encode_batch(lines, threads)

    @abstractmethod
    def decode_batch(self, rows: Ragged) -> list[str]:
        """Returns the texts of many ID sequences, in order."""

    @property
    @abstractmethod
    def pieces(self) -> Sequence[str]:
        """The pieces, in ID order."""

    def words(self) -> list[str]:
        """Returns the piece texts in ID order, with escaped white space where the dialect has escapes."""
        return list(self.pieces)

    @abstractmethod
    def piece_spans(self, lines: TextColumn, rows: Ragged) -> PieceSpans:
        """Returns the spans of pieces.

        Args:
            lines: the lines.
            rows: their IDs, as :meth:`encode_batch` returns them.
        """

    def uncovered(self, characters: Sequence[str]) -> list[str]:
        """Returns the characters without a piece, which become an escape, byte pieces or the unknown piece.

        Byte-level dialects have none.
        """
        del characters
        return []

    def partial_pieces(self) -> npt.NDArray[np.bool_]:
        """Returns True for each piece that is a byte, or several bytes of a character: bool, shape ``[pieces]``."""
        return np.zeros(len(self), np.bool_)

    @property
    def has_spm(self) -> bool:
        """True if the vocabulary's file is a SentencePiece model, which Marian reads."""
        return False

    def numbered(self, ids: Mapping[str, object], where: str = "the numbering") -> Tokenizer:
        """Returns a tokenizer with a numbering's IDs, such as the ``vocab.json`` of a MarianTokenizer.

        Args:
            ids: each piece's ID; text without a piece gets the ID of ``<unk>``.
            where: the numbering's file, for messages.

        Raises:
            VocabularyError: the vocabulary has its own IDs, or the IDs are not distinct numbers from 0 on.
        """
        raise VocabularyError(f"{where}: only SentencePiece models are numbered by another file, not {self.dialect}")

    @property
    def suffix_of_all(self) -> str:
        """The suffix with which :meth:`save` writes all parts of a vocabulary that has several files."""
        return ""

    def __len__(self) -> int:
        return len(self.pieces)

    def piece_id(self, piece: str) -> int:
        """Returns a piece's ID, such as a reserved piece; of equal pieces the first.

        Args:
            piece: the piece's text, as in :attr:`pieces`. Tensor2Tensor's dialect also takes a reserved token as
                the config names it; the vocabulary has the token with escapes and an underscore at the end.

        Raises:
            VocabularyError: there is no such piece.
        """
        pieces = self.pieces
        for spelt in self._spellings(piece) if piece else ():
            if spelt in pieces:
                return pieces.index(spelt)
        raise VocabularyError(
            f"{piece!r} is not a piece of the vocabulary; reserve it (vocab.reserved) before training"
        )

    def _spellings(self, piece: str) -> Sequence[str]:
        """Returns the spellings that a piece may have in the vocabulary, most likely first."""
        return (piece,)

    def _special_id(self, role: str) -> int | None:
        return self._special_ids.get(role)

    @property
    def pad_id(self) -> int | None:
        """Id of padding; None if the vocabulary has none."""
        return self._special_id("pad")

    @property
    def eos_id(self) -> int | None:
        """End-of-sentence ID, or None if the vocabulary has none."""
        return self._special_id("eos")

    @property
    def bos_id(self) -> int | None:
        """Start-of-sentence ID, or None if the vocabulary has none."""
        return self._special_id("bos")

    @property
    def unk_id(self) -> int | None:
        """ID for unknown text, or None if the dialect can encode any text."""
        return self._special_id("unk")

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 (hex) of everything that determines IDs: dialect, pieces, options, Unicode version."""


def read_vocabulary(path: Path) -> bytes:
    """Returns the bytes of a vocabulary file.

    Raises:
        VocabularyError: the file cannot be read, or is larger than 256 MiB.
    """
    try:
        with path.open("rb") as file:
            too_large = os.fstat(file.fileno()).st_size > _MAX_BYTES
            data = b"" if too_large else file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise VocabularyError(
            f"cannot read the vocabulary {path}: {error.strerror or error}; check the path"
        ) from error
    if too_large or len(data) > _MAX_BYTES:
        raise VocabularyError(
            f"{path} is larger than {_MAX_BYTES >> 20} MiB, too large for a vocabulary; check the path"
        )
    return data
