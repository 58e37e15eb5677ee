"""What every subword dialect offers to the rest of the package."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from nmt_prep.columns import Lines, Ragged
from nmt_prep.errors import VocabularyError

IdLayout: TypeAlias = Literal["sentencepiece", "fairseq"]
"""How the special pieces of a SentencePiece model are numbered."""

ProgressCallback: TypeAlias = Callable[[str, Mapping[str, int | float | str]], None]
"""Called during training with an event's name and its numbers, e.g. ``("bisection", {"min_count": 500, "size": 812})``.

An exception that it raises ends the training and reaches the caller.
"""


class Tokenizer(ABC):
    """Text to ids and back. Instances do not change once made, and may be used from several threads."""

    dialect: str
    """Name of the dialect, as ``vocab.kind`` in a config: ``t2t``, ``byte_bpe`` or ``sentencepiece``."""

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
        """Ids of one text, without sos or eos."""

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """Text of one sequence of ids."""

    @abstractmethod
    def encode_batch(self, lines: Lines, threads: int | None = None) -> Ragged:
        """Ids of many lines, without sos or eos, in order.

        Args:
            lines: strings, or an Arrow string array (read in place).
            threads: native threads to use; None is one per available core.

        Raises:
            InvalidTextError: a line is null or holds a lone surrogate.
        """

    @abstractmethod
    def decode_batch(self, rows: Ragged) -> list[str]:
        """Texts of many sequences of ids, in order."""

    @property
    @abstractmethod
    def pieces(self) -> Sequence[str]:
        """The vocabulary in the order of ids."""

    def words(self) -> list[str]:
        """Texts of the pieces in the order of ids, without white space if the dialect has a way to write that."""
        return list(self.pieces)

    def __len__(self) -> int:
        return len(self.pieces)

    def piece_id(self, piece: str) -> int:
        """Id of a piece, such as a reserved one, that has this text as a whole; of equal ones the first.

        Args:
            piece: its text as in :attr:`pieces`. Of Tensor2Tensor's dialect also a reserved token as it was given; the
                vocabulary holds it escaped and with an underscore at its end.

        Raises:
            VocabularyError: there is no such piece.
        """
        pieces = self.pieces
        for spelt in self._spellings(piece) if piece else ():
            if spelt in pieces:
                return pieces.index(spelt)
        raise VocabularyError(
            f"{piece!r} is no single piece of the vocabulary; reserve it (vocab.reserved) when the vocabulary is built"
        )

    def _spellings(self, piece: str) -> Sequence[str]:
        """How the vocabulary may spell a piece, the likeliest first."""
        return (piece,)

    @property
    @abstractmethod
    def pad_id(self) -> int | None:
        """Id of padding, None where the vocabulary has none."""

    @property
    @abstractmethod
    def eos_id(self) -> int | None:
        """Id that ends a sentence, None where the vocabulary has none."""

    @property
    @abstractmethod
    def bos_id(self) -> int | None:
        """Id that begins a sentence, None where the vocabulary has none."""

    @property
    @abstractmethod
    def unk_id(self) -> int | None:
        """Id of what cannot be expressed, None where the dialect expresses everything."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 (hex) of what decides the ids: dialect, pieces, options, Unicode version. Equal ones encode alike."""
