"""What every byte-level BPE tokenizer has beside encoding: ids and names of its tokens, and text from ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from _nmt_prep_core import ByteBPEModel

from nmt_prep.columns import Ragged
from nmt_prep.engines.local import available_cores
from nmt_prep.errors import EncodeError, VocabularyError
from nmt_prep.subwords.byte_bpe_vocabulary import ByteBPEVocabulary
from nmt_prep.subwords.tokenizer import Tokenizer

_USUAL_NAMES = {
    "pad": ("<pad>", "[PAD]", "<|padding|>"),
    "eos": ("<EOS>", "</s>", "<eos>", "[EOS]", "<|endoftext|>"),
    "bos": ("<BOS>", "<s>", "<bos>", "[BOS]"),
}


class ByteBPEDecoder(Tokenizer):
    """A byte-level BPE vocabulary seen from its ids; :class:`ByteBPETokenizer` adds the way to them."""

    def __init__(self, vocabulary: ByteBPEVocabulary, pad: str | None, eos: str | None, bos: str | None) -> None:
        self.vocabulary = vocabulary
        self._pieces = vocabulary.pieces()
        self._fingerprint = vocabulary.fingerprint()
        self._pad_id, self._eos_id, self._bos_id = (
            self._role(role, name) for role, name in (("pad", pad), ("eos", eos), ("bos", bos))
        )
        self._model = ByteBPEModel(
            list(vocabulary.tokens),
            [(token.id, name.encode()) for name, token in vocabulary.added.items()],
            np.ascontiguousarray(vocabulary.merges, np.int32).ravel(),
            vocabulary.whole_words,
            vocabulary.pretokenization.add_prefix_space,
        )

    def decode(self, ids: Iterable[int], errors: Literal["strict", "replace"] = "strict") -> str:
        """Text of one sequence of ids; special tokens come by their names.

        Args:
            ids: the ids.
            errors: what to do where the ids' bytes are not UTF-8: raise, or put U+FFFD.

        Raises:
            EncodeError: an id stands for nothing, or the bytes are not UTF-8.
        """
        return self.decode_batch(self._row(ids), errors)[0]

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes that ids stand for, UTF-8 or not.

        Raises:
            EncodeError: an id stands for nothing.
        """
        row = self._row(ids)
        return self._model.decode_bytes(row.values, row.offsets, 1)[0]

    def decode_batch(
        self, rows: Ragged, errors: Literal["strict", "replace"] = "strict", threads: int | None = None
    ) -> list[str]:
        """Texts of many sequences of ids, in order.

        Raises:
            EncodeError: an id stands for nothing, bytes are not UTF-8, or the offsets do not fit the values.
        """
        values = np.ascontiguousarray(rows.values, np.int32)
        offsets = np.ascontiguousarray(rows.offsets, np.int64)
        return self._model.decode(values, offsets, threads or available_cores(), errors == "replace")

    def _row(self, ids: Iterable[int]) -> Ragged:
        row = list(ids)
        for number in row:
            if not 0 <= number < len(self._pieces):
                raise EncodeError(f"id {number}: the vocabulary's go from 0 to {len(self._pieces) - 1}")
        return Ragged.from_lists([row])

    def special_id(self, name: str) -> int:
        """Id of a special token.

        Raises:
            VocabularyError: there is none of that name.
        """
        if name not in self.vocabulary.specials:
            raise VocabularyError(
                f"the vocabulary has no special token {name!r}, only {sorted(self.vocabulary.specials)}; "
                "name it when the vocabulary is trained"
            )
        return self.vocabulary.specials[name]

    def _role(self, role: str, name: str | None) -> int | None:
        if name is not None:
            return self.special_id(name)
        specials = self.vocabulary.specials
        return next((specials[n] for n in _USUAL_NAMES[role] if n in specials), None)

    @property
    def pieces(self) -> Sequence[str]:
        """The vocabulary in the order of ids, spelt as in its files; "" for ids that are not used."""
        return self._pieces

    @property
    def pad_id(self) -> int | None:
        """Id of padding, None where the vocabulary has none."""
        return self._pad_id

    @property
    def eos_id(self) -> int | None:
        """Id that ends a sentence, None where the vocabulary has none."""
        return self._eos_id

    @property
    def bos_id(self) -> int | None:
        """Id that begins a sentence, None where the vocabulary has none."""
        return self._bos_id

    @property
    def unk_id(self) -> None:
        """None: whatever is not a token is spelt in bytes."""
        return

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the vocabulary, its options and the Unicode version."""
        return self._fingerprint
