"""Runs SentencePiece models: with the native core, or with the library if the core does not support a model."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import SentencePieceModel, SentencePieceTracer

from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.base.errors import EncodeError, VocabularyError
from nmt_prep.base.runtime import needed_extra
from nmt_prep.subwords.tokenizer import IdLayout, PieceSpans

_log = logging.getLogger(__name__)

_KINDS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
_MOST_BEST = 512


@functools.cache
def no_marks() -> npt.NDArray[np.uint8]:
    """Returns the marks of texts that all begin a line. A constant would load NumPy at import."""
    return np.zeros(0, np.uint8)


class Sampling(NamedTuple):
    """Checked options of subword sampling, in the order in which the native core takes them."""

    dropout: float  # BPE models: probability of skipping a merge
    alpha: float  # unigram models: probabilities are proportional to `exp(alpha * score)`
    nbest: int  # unigram models: number of best segmentations to sample from; 0 for all
    seed: int  # seed of the sampling

    @classmethod
    def checked(
        cls, model_type: str, alpha: float | None, nbest: int | None, dropout: float | None, seed: int | None
    ) -> Self | None:
        """Checks sampling options for a kind of model; returns None if no option requests sampling."""
        if alpha is None and dropout is None:
            if nbest is not None or seed is not None:
                raise EncodeError("nbest and seed are for sampling; set alpha (unigram) or dropout (BPE) as well")
            return None
        if alpha is not None and model_type != "unigram":
            raise EncodeError(f"this is a {model_type} model: alpha is for unigram models, dropout for BPE models")
        if dropout is not None and model_type != "bpe":
            raise EncodeError(f"this is a {model_type} model: dropout is for BPE models, alpha for unigram models")
        if seed is None or not 0 <= seed < 1 << 64:
            raise EncodeError(f"seed {seed}: sampling needs a seed from 0 to 2**64 - 1, so that it can be repeated")
        if dropout is not None and (nbest is not None or not 0 <= dropout <= 1):
            raise EncodeError(
                f"dropout {dropout}, nbest {nbest}: dropout is from 0 to 1, and nbest is not for BPE models"
            )
        if alpha is not None and not 0 <= alpha < float("inf"):
            raise EncodeError(f"alpha {alpha}: it must be 0 or more, and finite")
        if nbest is not None and not 1 <= nbest <= _MOST_BEST:
            raise EncodeError(f"nbest {nbest}: it must be from 1 to {_MOST_BEST}; omit it to sample from all")
        return cls(dropout or 0.0, alpha or 0.0, nbest or 0, seed)


class NativeModel:
    """A loaded model and the code that runs it."""

    def __init__(self, data: bytes, id_layout: IdLayout) -> None:
        """Loads a model from its file's bytes."""
        if id_layout not in ("sentencepiece", "fairseq"):
            raise VocabularyError(f"there is no ID layout {id_layout!r}; use 'sentencepiece' or 'fairseq'")
        self._data = data
        self._id_layout = id_layout
        try:
            self.native = SentencePieceModel(np.frombuffer(data, np.uint8), id_layout == "fairseq")
        except ValueError as error:
            raise VocabularyError(f"the SentencePiece model {error}") from error
        self.pieces = tuple(self.native.pieces())  # the pieces in order of the layout's IDs
        self.model_type = _KINDS[self.native.kind]  # `unigram`, `bpe`, `word` or `char`
        self._library: LibraryModel | None = None
        # reason why the library runs this model; None if the native core does
        self.library_reason: str | None = self.native.not_covered or None
        if self.library_reason is None and not self._passes_own_tests():
            self.library_reason = "its own test sentences fail in the native core"
        if self.library_reason is not None:
            self._library = self._load_library()
            _log.warning("the sentencepiece library runs this model, more slowly: %s", self.library_reason)

    @property
    def numbering(self) -> bytes:
        """The ID layout of pieces in the file, as JSON, or an empty text without layout."""
        return self.native.numbering

    def normalized(self, column: TextColumn) -> list[str]:
        """Returns the normalized text of each line, with ``▁`` for spaces.

        Returns the lines themselves if the core does not know the model's normalization.
        """
        if self._tracer is None:
            return list(column.strings())
        return self._tracer.normalized(column.data, column.offsets)

    def special_ids(self) -> dict[str, int | None]:
        """Returns the IDs of ``pad``, ``eos``, ``bos`` and ``unk``; None for a piece that the model lacks."""
        model = self.native
        ids = {"pad": model.pad_id, "eos": model.eos_id, "bos": model.bos_id, "unk": model.unk_id}
        return {name: i if i >= 0 else None for name, i in ids.items()}

    def encode(self, column: TextColumn, threads: int) -> Ragged:
        """Returns each line's IDs."""
        if self._library is not None:
            return self._library.encode(column, threads)
        return Ragged(*self.native.encode(column.data, column.offsets, no_marks(), threads))

    def sample(self, column: TextColumn, threads: int, sampling: Sampling, first_line: int) -> Ragged:
        """Returns sampled IDs of each line; the samples depend on the seed and the line's number."""
        if self._library is not None:
            raise EncodeError(f"cannot sample: the library runs this model ({self.library_reason})")
        return Ragged(*self.native.sample(column.data, column.offsets, no_marks(), threads, *sampling, first_line))

    def decode(self, rows: Ragged, threads: int) -> list[str]:
        """Returns the text of each ID row."""
        if self._library is not None:
            return self._library.decode(rows.to_lists())
        return self.native.decode(*rows.contiguous(), threads)

    def spans(self, column: TextColumn, rows: Ragged) -> PieceSpans:
        """Returns piece spans; each byte piece has the span of the whole character."""
        if self._tracer is None:
            nowhere = np.zeros(len(rows.values), np.int32)
            return PieceSpans(nowhere, nowhere, np.zeros(len(rows), np.bool_))
        return PieceSpans(*self._tracer.spans(column.data, column.offsets, rows.values, rows.offsets))

    @functools.cached_property
    def _tracer(self) -> SentencePieceTracer | None:
        """Finds the spans of pieces; None if the core does not know the model's normalization."""
        try:
            return SentencePieceTracer(np.frombuffer(self._data, np.uint8), self._id_layout == "fairseq")
        except RuntimeError:
            return None

    def _passes_own_tests(self) -> bool:
        """Returns True if the native core segments the test sentences of the model as its file or the library does."""
        library: LibraryModel | None = None
        for text, expected in self.native.self_tests():
            column = TextColumn.from_strings([text])
            ids = self.native.encode(column.data, column.offsets, no_marks(), 1)[0]
            if " ".join(self.pieces[i] for i in ids) == expected:
                continue
            # Files spell unknown text as it is, and may give another segmentation with the same score.
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


class LibraryModel:
    """A model that the library runs, with a layout's IDs.

    Args:
        data: bytes of the ``.model`` file.
        ids: IDs in the layout, in the file's ID order; int32, shape ``[pieces in the file]``.
        size: number of IDs in the layout.
    """

    def __init__(self, data: bytes, ids: npt.NDArray[np.int32], size: int) -> None:
        library = needed_extra("sentencepiece", "sentencepiece", "a SentencePiece model that only the library runs")
        self._processor = library.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(data)
        except RuntimeError as error:
            raise VocabularyError(f"the sentencepiece library rejects the model: {error}") from error
        self._ids = ids
        self._ids_in_file = np.full(size, -1, np.int32)
        self._ids_in_file[ids] = np.arange(len(ids), dtype=np.int32)

    def encode(self, column: TextColumn, threads: int) -> Ragged:
        """Returns each line's IDs."""
        lines = list(column.strings())
        rows = Ragged.from_lists(self._processor.encode(lines, out_type=int, num_threads=threads) if lines else [])
        return Ragged(self._ids[rows.values], rows.offsets)

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Returns the text of each ID row; IDs that the layout adds to the model give no text."""
        texts = []
        for row in rows:
            for i in row:
                if not 0 <= i < len(self._ids_in_file):
                    raise EncodeError(
                        f"ID {i} is not in the vocabulary, which has {len(self._ids_in_file)} pieces; "
                        "decode with the vocabulary that made the IDs"
                    )
            ids = [int(self._ids_in_file[i]) for i in row if self._ids_in_file[i] >= 0]
            try:
                texts.append(str(self._processor.decode(ids)) if ids else "")
            except UnicodeDecodeError as error:
                raise EncodeError(f"the text of row {len(texts)} is not UTF-8: {error.object[:80]!r}") from error
        return texts
