"""The SentencePiece dialect: models of the ``sentencepiece`` library, run by the native core.

For BPE and unigram models, you get the same IDs and texts as from ``EncodeAsIds`` and ``DecodeIds`` in version 0.2.3 of
the library. The library itself runs word and character models, and models with features that the core does not support;
:attr:`SentencePieceTokenizer.library_reason` and the log then give the reason.

A model may also be a ``tokenizer.json`` of Hugging Face made from a SentencePiece model. Ids are then the same as in
``tokenizers``, whose rules differ in a few points from the library's.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import SentencePieceModel

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.columns import Lines, Ragged, TextColumn, text_columns
from nmt_prep.base.errors import EncodeError, VocabularyError
from nmt_prep.base.runtime import available_cores
from nmt_prep.subwords.added import AddedToken
from nmt_prep.subwords.piece_text import PieceText
from nmt_prep.subwords.sentencepiece.engine import NativeModel, Sampling
from nmt_prep.subwords.sentencepiece.json_engine import JsonModel
from nmt_prep.subwords.sentencepiece.json_file import JsonFile
from nmt_prep.subwords.sentencepiece.numbering import NumberedModel, checked_numbering, with_numbering
from nmt_prep.subwords.sentencepiece.options import training_arguments
from nmt_prep.subwords.sentencepiece.training import ModelType, train_model
from nmt_prep.subwords.tokenizer import IdLayout, PieceSpans, ProgressCallback, Tokenizer, read_vocabulary
from nmt_prep.subwords.tokenizer_json import parse_json

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class SentencePieceTokenizer(Tokenizer):
    """A SentencePiece model."""

    dialect = "sentencepiece"

    def __init__(
        self, model: bytes, *, id_layout: IdLayout = "sentencepiece", where: str = "the tokenizer.json"
    ) -> None:
        """Makes a tokenizer from the bytes of a ``.model`` file or a ``tokenizer.json``.

        Args:
            model: the file's bytes.
            id_layout: ``sentencepiece`` for the file's IDs; ``fairseq`` for the IDs of fairseq and XLM-R:
                ``<s>`` 0, ``<pad>`` 1, ``</s>`` 2, ``<unk>`` 3, the other IDs one higher than in the file, ``<mask>``
                last. For a ``tokenizer.json`` only ``sentencepiece`` is possible.
            where: path of a ``tokenizer.json``, for messages.

        Raises:
            MissingPackageError: a library that the file needs is not installed.
            VocabularyError: the bytes are not a model, have an unsupported part, or do not fit the layout.
        """
        self._take(bytes(model), id_layout, where)
        self._engine  # noqa: B018  (loads the model, which may be refused)

    def _take(self, model: bytes, id_layout: IdLayout, where: str) -> None:
        self._model_bytes = model
        self.id_layout: IdLayout = id_layout
        self._where = where

    @functools.cached_property
    def _engine(self) -> NativeModel | JsonModel | NumberedModel:
        """The code that runs the model; made when first needed, since saving a new model does not need it."""
        if self.has_spm:
            return _native(self._model_bytes, self.id_layout)
        if self.id_layout != "sentencepiece":
            raise VocabularyError(
                f"{self._where}: id_layout {self.id_layout!r} is for .model files; it has its own IDs"
            )
        return JsonModel(self._model_bytes, self._where)

    @functools.cached_property
    def _roles(self) -> Mapping[str, int | None]:
        return self._engine.special_ids()

    def _special_id(self, role: str) -> int | None:
        return self._roles.get(role)

    @classmethod
    def train(
        cls,
        lines: Lines,
        size: int,
        *,
        model_type: ModelType = "unigram",
        character_coverage: float = 0.9995,
        byte_fallback: bool = False,
        user_defined_symbols: Sequence[str] = (),
        normalization_rule_name: str = "nmt_nfkc",
        pad_id: int | None = 0,
        eos_id: int | None = 1,
        unk_id: int = 2,
        bos_id: int | None = 3,
        progress: ProgressCallback | None = None,
        memory: int | None = None,
        **options: Any,
    ) -> Self:
        """Trains a model, in memory.

        The native core trains BPE and unigram models, except with a few options; the ``sentencepiece`` library trains
        all others. You get the same bytes as from version 0.2.3 of the library.

        The same lines and options give the same bytes on any machine: lines are not shuffled, and the library uses a
        fixed thread count. All lines are used, or the first ``input_sentence_size`` lines if this option is set.
        Lines of more than 4192 bytes are skipped; the ``max_sentence_length`` option changes that.

        Args:
            lines: text, which the training normalizes and splits.
            size: piece count.
            model_type: ``unigram``, ``bpe``, ``word`` or ``char``.
            character_coverage: share of the text's characters that get pieces; 0.9995 suits Chinese and Japanese,
                1.0 suits small alphabets.
            byte_fallback: True to encode characters without a piece as bytes.
            user_defined_symbols: texts that always become one piece.
            normalization_rule_name: ``nmt_nfkc``, ``nfkc``, ``nmt_nfkc_cf``, ``nfkc_cf`` or ``identity``.
            pad_id: ID of padding; batches are padded with 0. None omits the piece.
            eos_id: end-of-sentence ID; 1 as in Tensor2Tensor's vocabularies. None omits the piece.
            unk_id: ID of unknown text.
            bos_id: start-of-sentence ID. None omits the piece.
            progress: called with ``("lines", {"lines": …, "bytes": …})`` as lines are read, then with ``step``,
                ``iteration``, ``merges`` and ``skipped`` events of the training.
            memory: bytes of memory that training may use; None means no limit. Checked while the lines are read.
            options: other options of the library by name, such as ``split_digits=True``.

        Raises:
            InvalidTextError: a line is null, contains a lone surrogate or is not UTF-8.
            MissingPackageError: the library is needed, and not installed.
            TrainingError: an option is unknown or invalid, the lines do not give that many pieces, or training needs
                more memory.
        """
        arguments = training_arguments(
            size,
            model_type=model_type,
            character_coverage=character_coverage,
            byte_fallback=byte_fallback,
            reserved=user_defined_symbols,
            normalization=normalization_rule_name,
            special_ids={"pad": pad_id, "eos": eos_id, "unk": unk_id, "bos": bos_id},
            options=options,
        )
        return cls.trained(lines, arguments, progress, memory)

    @classmethod
    def trained(
        cls, lines: Lines, arguments: Mapping[str, Any], progress: ProgressCallback | None, memory: int | None
    ) -> Self:
        """Trains a model with checked arguments of the library's trainer; otherwise like :meth:`train`."""
        tokenizer = cls.__new__(cls)
        tokenizer._take(train_model(lines, arguments, progress, memory), "sentencepiece", "the model")
        return tokenizer

    @classmethod
    def load(cls, path: str | Path, *, id_layout: IdLayout = "sentencepiece") -> Self:
        """Reads a ``.model`` file, or a ``tokenizer.json``; ``id_layout`` as for the class itself.

        Raises:
            MissingPackageError: a library that the file needs is not installed.
            VocabularyError: the file cannot be read, is not a SentencePiece model, has an unsupported part, or does not
                fit the layout.
        """
        path = Path(path)
        raw = read_vocabulary(path)
        try:
            return cls(raw, id_layout=id_layout, where=str(path))
        except VocabularyError as error:
            if _opens_json(raw):
                raise
            raise VocabularyError(f"{path}: {error}; check that this is the complete .model file") from error

    def numbered(self, ids: Mapping[str, object], where: str = "the numbering") -> Self:
        """Returns a tokenizer with a numbering's IDs, as :meth:`Tokenizer.numbered` explains.

        The file of the new tokenizer contains the numbering. Other tools read the file too, but ignore the numbering.

        Raises:
            VocabularyError: this is not a ``.model`` file with its own IDs, or the IDs are not distinct numbers.
        """
        if not isinstance(self._engine, NativeModel) or self.id_layout != "sentencepiece":
            raise VocabularyError(f"{where}: a numbering is for the pieces of a .model file with its own IDs")
        return type(self)(with_numbering(self._model_bytes, checked_numbering(ids, where)))

    def save(self, path: str | Path) -> None:
        """Writes the file, unchanged since training or loading.

        Raises:
            OutputError: the file cannot be written.
        """
        with atomic_write(Path(path)) as beside:
            beside.write_bytes(self._model_bytes)

    def encode(
        self,
        text: str,
        *,
        alpha: float | None = None,
        nbest: int | None = None,
        dropout: float | None = None,
        seed: int | None = None,
    ) -> list[int]:
        """Returns the IDs of one text, without bos or eos; options as in :meth:`encode_batch`.

        Raises:
            InvalidTextError: the text contains a lone surrogate.
            EncodeError: the sampling options do not fit the model.
        """
        rows = self.encode_batch([text], threads=1, alpha=alpha, nbest=nbest, dropout=dropout, seed=seed)
        ids: list[int] = rows.values.tolist()
        return ids

    def encode_batch(
        self,
        lines: Lines,
        threads: int | None = None,
        *,
        alpha: float | None = None,
        nbest: int | None = None,
        dropout: float | None = None,
        seed: int | None = None,
        first_line: int = 0,
    ) -> Ragged:
        """Returns the IDs of many lines, without bos or eos, in order; the same for any thread count.

        With ``alpha`` or ``dropout`` each line's segmentation is sampled (subword regularization, Kudo 2018;
        BPE-dropout, Provilkov et al. 2020). The sample of a line depends only on its text, its number and ``seed``.
        Samples have the same distribution as in the library, but use other random numbers, since the library draws all
        samples from one generator. As in the library, a skipped merge is possible again only after a neighbor
        merges; in the paper and in byte-level models, after any merge in the word.

        Args:
            lines: strings, or an Arrow string array (read in place).
            threads: native threads to use; None is one per available core.
            alpha: unigram models: a segmentation is sampled with probability proportional to ``exp(alpha * score)``;
                0.1 to 0.5 are usual.
            nbest: unigram models, with ``alpha``: sample only from this many best segmentations; None for all.
            dropout: BPE models: probability of skipping a merge, from 0 to 1; 0.1 is usual.
            seed: seed of the sampling, 0 or more; required with ``alpha`` and ``dropout``.
            first_line: number of the first line, on which its sample depends.

        Raises:
            InvalidTextError: a line is null, contains a lone surrogate or is not UTF-8.
            EncodeError: the sampling options do not fit the model.
        """
        sampling = Sampling.checked(self.model_type, alpha, nbest, dropout, seed)
        count = threads or available_cores()
        parts: list[Ragged] = []
        first = first_line
        for column in text_columns(lines):
            if sampling is None:
                parts.append(self._engine.encode(column, count))
            else:
                parts.append(self._engine.sample(column, count, sampling, first))
            first += len(column)
        return Ragged.joined(parts)

    @property
    def added(self) -> Mapping[str, AddedToken]:
        return self._engine.added if isinstance(self._engine, JsonModel) else {}

    def encode_after_token(self, lines: Lines, threads: int | None = None) -> Ragged:
        engine, count = self._engine, threads or available_cores()
        if not isinstance(engine, JsonModel):
            return self.encode_batch(lines, threads)
        return Ragged.joined([engine.encode(column, count, continued=True) for column in text_columns(lines)])

    def decode(self, ids: Iterable[int]) -> str:
        """Returns the text of one ID sequence.

        Raises:
            EncodeError: an ID is not in the vocabulary.
        """
        row, size = list(ids), len(self)
        outside = next((i for i in row if not 0 <= i < size), None)
        if outside is not None:
            raise EncodeError(
                f"ID {outside} is not in the vocabulary, which has {size} pieces; "
                "decode with the vocabulary that made the IDs"
            )
        return self.decode_batch(Ragged.from_lists([row]))[0]

    def decode_batch(self, rows: Ragged, threads: int | None = None) -> list[str]:
        """Returns the texts of many ID sequences, in order; control pieces give no text, byte pieces their bytes.

        Raises:
            EncodeError: an ID is not in the vocabulary, or the offsets do not fit the values.
        """
        return self._engine.decode(rows, threads or available_cores())

    @property
    def model_bytes(self) -> bytes:
        """The file's bytes."""
        return self._model_bytes

    @property
    def has_spm(self) -> bool:
        """True if the file is a ``.model`` file, False if it is a ``tokenizer.json``."""
        return not _opens_json(self._model_bytes)

    @property
    def model_type(self) -> str:
        """Kind of model: ``unigram``, ``bpe``, ``word`` or ``char``."""
        return self._engine.model_type

    @property
    def json_file(self) -> JsonFile | None:
        """The content of a ``tokenizer.json``; None for a ``.model`` file."""
        return self._engine.file if isinstance(self._engine, JsonModel) else None

    @property
    def native_model(self) -> SentencePieceModel:
        """The pieces in a ``.model`` file, in the file's order."""
        engine = self._engine.model if isinstance(self._engine, NumberedModel) else self._engine
        assert isinstance(engine, NativeModel)
        if self.id_layout == "sentencepiece":
            return engine.native
        return SentencePieceModel(np.frombuffer(self._model_bytes, np.uint8), False)

    @property
    def numbering(self) -> Mapping[str, int] | None:
        """Each piece's ID, if another file gives them."""
        return self._engine.numbers if isinstance(self._engine, NumberedModel) else None

    @property
    def library_reason(self) -> str | None:
        """Reason why the ``sentencepiece`` library runs this model; None if the native core does."""
        return self._engine.library_reason

    @property
    def pieces(self) -> Sequence[str]:
        """The pieces in ID order, with ``▁`` for spaces."""
        return self._engine.pieces

    def piece_spans(self, lines: TextColumn, rows: Ragged) -> PieceSpans:
        return self._engine.spans(lines, rows)

    def segment(self, lines: pa.Array, threads: int | None = None) -> pa.Array:
        """Returns lines as pieces separated by spaces, with unknown text as it is, as spm_encode writes them."""
        rows = self.encode_batch(lines, threads)
        made = self._piece_text.lines(rows, check=False)
        places = np.flatnonzero(rows.values == self.unk_id)
        numbers = np.unique(np.searchsorted(rows.offsets, places, side="right") - 1)
        if not len(numbers) or not isinstance(self._engine, NativeModel):
            return made
        texts = self._engine.normalized(TextColumn.from_arrow(lines.take(pa.array(numbers))))
        ids = (rows.values[rows.offsets[number] : rows.offsets[number + 1]].tolist() for number in numbers.tolist())
        filled = [self._filled(row, text) for row, text in zip(ids, texts, strict=True)]
        mask = np.zeros(len(rows), np.bool_)
        mask[numbers] = True
        return pc.replace_with_mask(made, pa.array(mask), pa.array(filled, pa.large_string()))

    @functools.cached_property
    def _piece_text(self) -> PieceText:
        return PieceText(self)

    def _filled(self, ids: list[int], text: str) -> str:
        """Returns the pieces of a normalized text, with the text between its neighbours for an unknown piece."""
        words, position = list[str](), 0
        for i, after in zip_longest(ids, ids[1:]):
            end = position + len(self.pieces[i])
            if i == self.unk_id:
                end = len(text) if after is None else text.find(self.pieces[after], position + 1)
            words.append(text[position:end])
            position = end
        return " ".join(words)

    def partial_pieces(self) -> npt.NDArray[np.bool_]:
        return np.array([_BYTE.fullmatch(piece) is not None for piece in self.pieces], np.bool_)

    def uncovered(self, characters: Sequence[str]) -> list[str]:
        """Returns the characters that become byte pieces or the unknown piece."""
        lacking = {*np.flatnonzero(self.partial_pieces()).tolist(), self.unk_id}
        rows = self.encode_batch(characters).to_lists()
        return [character for character, row in zip(characters, rows, strict=True) if not lacking.isdisjoint(row)]

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of dialect, ID layout and the model's bytes."""
        libraries = self._engine.libraries if isinstance(self._engine, JsonModel) else ""
        digest = hashlib.sha256(f"{self.dialect}\n{self.id_layout}\n{libraries}".encode())
        digest.update(self._model_bytes)
        return digest.hexdigest()


def _native(model: bytes, id_layout: IdLayout) -> NativeModel | NumberedModel:
    engine = NativeModel(model, id_layout)
    if not engine.numbering:
        return engine
    if id_layout != "sentencepiece":
        raise VocabularyError(f"id_layout {id_layout!r} cannot be combined with a model that contains its own IDs")
    return NumberedModel(engine, checked_numbering(parse_json("the numbering", engine.numbering), "the numbering"))


def _opens_json(data: bytes) -> bool:
    return data[:64].lstrip()[:1] == b"{"
