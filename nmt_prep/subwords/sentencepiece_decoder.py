"""What every SentencePiece tokenizer has beside training and encoding: ids and names of its pieces, text from ids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from nmt_prep.columns import Ragged
from nmt_prep.engines.local import available_cores
from nmt_prep.errors import EncodeError
from nmt_prep.subwords.sentencepiece_engine import Engine, IdLayout
from nmt_prep.subwords.tokenizer import Tokenizer


class SentencePieceDecoder(Tokenizer):
    """A SentencePiece model seen from its ids; :class:`SentencePieceTokenizer` adds the way to them."""

    dialect = "sentencepiece"

    def __init__(self, model: bytes, *, id_layout: IdLayout = "sentencepiece") -> None:
        """Makes a tokenizer of the bytes of a ``.model`` file.

        Args:
            model: the file's bytes.
            id_layout: ``sentencepiece`` for the ids of the file; ``fairseq`` for those of fairseq and XLM-R:
                ``<s>`` 0, ``<pad>`` 1, ``</s>`` 2, ``<unk>`` 3, the others one more than in the file, ``<mask>`` last.

        Raises:
            VocabularyError: the bytes are no model, or do not fit the layout.
        """
        self._model_bytes = bytes(model)
        self._engine = Engine(self._model_bytes, id_layout)
        self._special_ids = self._engine.special_ids()
        self.id_layout: IdLayout = id_layout

    def decode(self, ids: Iterable[int]) -> str:
        """Text of one sequence of ids.

        Raises:
            EncodeError: an id is not in the vocabulary.
        """
        row = list(ids)
        outside = next((i for i in row if not 0 <= i < len(self)), None)
        if outside is not None:
            raise EncodeError(
                f"id {outside} is not in the vocabulary, which has {len(self)} pieces; "
                "decode with the vocabulary that encoded"
            )
        return self.decode_batch(Ragged.from_lists([row]))[0]

    def decode_batch(self, rows: Ragged, threads: int | None = None) -> list[str]:
        """Texts of many sequences of ids, in order: control pieces stand for nothing, bytes for the text they spell.

        Raises:
            EncodeError: an id is not in the vocabulary, or the offsets do not fit the values.
        """
        return self._engine.decode(rows, threads or available_cores())

    @property
    def model_bytes(self) -> bytes:
        """The bytes of the ``.model`` file."""
        return self._model_bytes

    @property
    def model_type(self) -> str:
        """Kind of model: ``unigram``, ``bpe``, ``word`` or ``char``."""
        return self._engine.model_type

    @property
    def library_reason(self) -> str | None:
        """Why the ``sentencepiece`` library runs this model, None where the native core does."""
        return self._engine.library_reason

    @property
    def pieces(self) -> Sequence[str]:
        """The vocabulary in the order of ids, ``▁`` for spaces."""
        return self._engine.pieces

    @property
    def pad_id(self) -> int | None:
        """Id of padding, None where the model has none."""
        return self._special_ids["pad"]

    @property
    def eos_id(self) -> int | None:
        """Id that ends a sentence, None where the model has none."""
        return self._special_ids["eos"]

    @property
    def bos_id(self) -> int | None:
        """Id that begins a sentence, None where the model has none."""
        return self._special_ids["bos"]

    @property
    def unk_id(self) -> int | None:
        """Id of what no piece covers."""
        return self._special_ids["unk"]

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of dialect, id layout and the model's bytes."""
        return hashlib.sha256(f"{self.dialect}\n{self.id_layout}\n".encode() + self._model_bytes).hexdigest()
