"""Who runs a SentencePiece model: the native core, or the library where the core does not cover it."""

from __future__ import annotations

import logging
from typing import Literal, TypeAlias

import numpy as np
from _nmt_prep_core import SentencePieceModel

from nmt_prep.columns import Ragged, TextColumn
from nmt_prep.errors import EncodeError, VocabularyError
from nmt_prep.subwords.sentencepiece_library import LibraryModel
from nmt_prep.subwords.sentencepiece_sampling import Sampling

IdLayout: TypeAlias = Literal["sentencepiece", "fairseq"]

_log = logging.getLogger(__name__)

_KINDS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}


class Engine:
    """A model at work.

    Attributes:
        pieces: the pieces in the order of the layout's ids.
        model_type: ``unigram``, ``bpe``, ``word`` or ``char``.
        library_reason: why the library runs this model, None where the native core does.
    """

    def __init__(self, data: bytes, id_layout: IdLayout) -> None:
        """Loads a model from the bytes of its file.

        Raises:
            VocabularyError: the bytes are no model, or do not fit the layout.
        """
        if id_layout not in ("sentencepiece", "fairseq"):
            raise VocabularyError(f"there is no id layout {id_layout!r}; use 'sentencepiece' or 'fairseq'")
        self._data = data
        self._id_layout = id_layout
        try:
            self._model = SentencePieceModel(np.frombuffer(data, np.uint8), id_layout == "fairseq")
        except UnicodeDecodeError as error:  # of a message that quotes a piece
            raise VocabularyError("the SentencePiece model has a piece that is not UTF-8") from error
        except ValueError as error:
            raise VocabularyError(f"the SentencePiece model {error}") from error
        self.pieces = tuple(self._model.pieces())
        for number, piece in enumerate(self.pieces):
            if "\ufffd" in piece and piece.encode() not in data:  # it stands for bytes that are not UTF-8
                raise VocabularyError(
                    f"the SentencePiece model has a piece that is not UTF-8, the one with id {number}"
                )
        self._check_unknown_text()
        self.model_type = _KINDS[self._model.kind]
        self._library: LibraryModel | None = None
        self.library_reason: str | None = self._model.not_covered or None
        if self.library_reason is None and not self._passes_own_tests():
            self.library_reason = "its own test sentences fail in the native core"
        if self.library_reason is not None:
            self._library = self._load_library()
            _log.warning("the sentencepiece library runs this model, more slowly: %s", self.library_reason)

    def _check_unknown_text(self) -> None:
        """Refuses a model that would decode the unknown piece to what is not UTF-8.

        Raises:
            VocabularyError: it would.
        """
        if self._model.unk_id >= 0 and not self._model.not_covered:
            ids, offsets = np.array([self._model.unk_id], np.int32), np.array([0, 1], np.int64)
            try:
                self._model.decode(ids, offsets, 1)
            except UnicodeDecodeError as error:
                raise VocabularyError(
                    f"the SentencePiece model decodes the unknown piece to what is not UTF-8: {error.object!r}"
                ) from error

    def special_ids(self) -> dict[str, int | None]:
        """Ids by ``pad``, ``eos``, ``bos`` and ``unk``; None for a piece that the model does without."""
        model = self._model
        found = {"pad": model.pad_id, "eos": model.eos_id, "bos": model.bos_id, "unk": model.unk_id}
        return {name: i if i >= 0 else None for name, i in found.items()}

    def encode(self, column: TextColumn, threads: int) -> Ragged:
        """Ids of each line.

        Raises:
            InvalidTextError: a line is not UTF-8.
        """
        if self._library is not None:
            return self._library.encode(column, threads)
        return Ragged(*self._model.encode(column.data, column.offsets, threads))

    def sample(self, column: TextColumn, threads: int, sampling: Sampling, first_line: int) -> Ragged:
        """Ids of each line, drawn at random by the seed and the line's number.

        Raises:
            InvalidTextError: a line is not UTF-8.
            EncodeError: the library runs this model, or a line is too long for so many best ways.
        """
        if self._library is not None:
            raise EncodeError(f"cannot sample: the library runs this model ({self.library_reason})")
        return Ragged(
            *self._model.sample(
                column.data,
                column.offsets,
                threads,
                sampling.dropout,
                sampling.alpha,
                sampling.nbest,
                sampling.seed,
                first_line,
            )
        )

    def decode(self, rows: Ragged, threads: int) -> list[str]:
        """Text of each row of ids.

        Raises:
            EncodeError: an id is not in the vocabulary, or the offsets do not fit the values.
        """
        if self._library is not None:
            return self._library.decode(rows.to_lists())
        values = np.ascontiguousarray(rows.values, np.int32)
        offsets = np.ascontiguousarray(rows.offsets, np.int64)
        return self._model.decode(values, offsets, threads)

    def _passes_own_tests(self) -> bool:
        """Whether the native core spells the file's test sentences as the file or the library does."""
        library: LibraryModel | None = None
        for text, expected in self._model.self_tests():
            column = TextColumn.from_strings([text])
            ids = self._model.encode(column.data, column.offsets, 1)[0]
            if " ".join(self.pieces[i] for i in ids) == expected:
                continue
            # The file spells unknown text out, and ways of equal score are all right by it.
            library = library or self._load_library()
            if library.encode(column, 1).values.tolist() != ids.tolist():
                return False
        return True

    def _load_library(self) -> LibraryModel:
        size = len(self.pieces)
        if self._id_layout == "sentencepiece":
            return LibraryModel(self._data, np.arange(size, dtype=np.int32), size)
        ids = np.arange(1, size - 1, dtype=np.int32)
        ids[:3] = [3, 0, 2]
        return LibraryModel(self._data, ids, size)
