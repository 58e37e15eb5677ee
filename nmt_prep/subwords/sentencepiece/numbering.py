"""Numbers the pieces of a SentencePiece model by another file, as MarianTokenizer does with ``vocab.json``.

Models trained with Marian have one list of pieces for both sides, or a list in another order than the SentencePiece
models. The numbering is saved in the ``.model`` file, in a field that the format reserves for extensions. The file then
gives the IDs by itself, and other tools still read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.base.errors import EncodeError, VocabularyError
from nmt_prep.subwords.sentencepiece.engine import NativeModel, Sampling
from nmt_prep.subwords.sentencepiece.model_file import MOST_PIECES, varint
from nmt_prep.subwords.tokenizer import PieceSpans
from nmt_prep.subwords.tokenizer_json import SPACE

_FIELD = 200  # of the protocol buffer; fields from 200 are for extensions
_ROLES = {"pad": "<pad>", "eos": "</s>", "bos": "<s>", "unk": "<unk>"}


def checked_numbering(content: Mapping[str, object], where: str) -> dict[str, int]:
    """Returns each piece's ID."""
    ids: dict[str, int] = {}
    for piece, number in content.items():
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < MOST_PIECES:
            raise VocabularyError(f"{where}: the piece {piece!r} has the ID {number!r}, not a number from 0 on")
        ids[piece] = number
    if len(set(ids.values())) < len(ids):
        raise VocabularyError(f"{where}: several pieces have the same ID; fetch the file again")
    for needed in ("</s>", "<unk>"):
        if needed not in ids:
            raise VocabularyError(f"{where} has no ID for {needed}; name the vocab.json of a MarianTokenizer")
    return ids


def with_numbering(model: bytes, ids: Mapping[str, int]) -> bytes:
    """Returns the bytes of a model's file, with an ID layout for its pieces added."""
    data = json.dumps(ids, ensure_ascii=False, separators=(",", ":")).encode()
    return model + varint(_FIELD << 3 | 2) + varint(len(data)) + data


class NumberedModel:
    """A model with a numbering's IDs; used like :class:`NativeModel`.

    Text that is unknown to the model gets the ID of the piece with this text, as in MarianTokenizer, or else the ID of
    ``<unk>``. A piece of the model without an ID gets the ID of ``<unk>``.
    """

    def __init__(self, model: NativeModel, ids: Mapping[str, int]) -> None:
        """Numbers the pieces of a loaded model."""
        self.model = model  # the model with its own IDs
        self.numbers = ids  # the ID of each piece
        pieces = [""] * (max(ids.values()) + 1)
        for piece, number in ids.items():
            pieces[number] = piece
        self.pieces = tuple(pieces)  # the pieces in ID order; empty for IDs without a piece
        self.model_type = model.model_type  # kind of the model
        # reason why the library runs the model; None if the native core does
        self.library_reason = model.library_reason
        unknown = model.special_ids()["unk"]
        assert unknown is not None  # every model has the piece
        self._unknown = unknown
        self._ids = np.array([ids.get(piece, ids["<unk>"]) for piece in model.pieces], np.int32)
        self._ids[unknown] = ids["<unk>"]
        self._ids_in_file = np.full(len(pieces), -1, np.int32)
        for number, piece in reversed([*enumerate(model.pieces)]):
            if piece in ids:
                self._ids_in_file[ids[piece]] = number

    def special_ids(self) -> dict[str, int | None]:
        """Returns the IDs of ``pad``, ``eos``, ``bos`` and ``unk``; None for a piece without an ID."""
        return {role: self.numbers.get(piece) for role, piece in _ROLES.items()}

    def encode(self, column: TextColumn, threads: int) -> Ragged:
        """Returns each line's IDs."""
        return self._numbered(column, self.model.encode(column, threads))

    def sample(self, column: TextColumn, threads: int, sampling: Sampling, first_line: int) -> Ragged:
        """Returns sampled IDs of each line; the samples depend on the seed and the line's number."""
        return self._numbered(column, self.model.sample(column, threads, sampling, first_line))

    def _numbered(self, column: TextColumn, rows: Ragged) -> Ragged:
        values = self._ids[rows.values]
        places = np.flatnonzero(rows.values == self._unknown)
        if len(places):
            lines = np.unique(np.searchsorted(rows.offsets, places, side="right") - 1)
            for line in lines.tolist():
                self._name_unknown(column, rows, line, values)
        return Ragged(values, rows.offsets)

    def _name_unknown(self, column: TextColumn, rows: Ragged, line: int, values: npt.NDArray[np.int32]) -> None:
        """Gives unknown texts of a line the IDs that the numbering has for pieces with these texts."""
        begin, end = int(rows.offsets[line]), int(rows.offsets[line + 1])
        offsets = np.array([0, column.offsets[line + 1] - column.offsets[line]], np.int64)
        data = column.data[column.offsets[line] : column.offsets[line + 1]]
        text = self.model.normalized(TextColumn(np.ascontiguousarray(data), offsets))[0]
        ids = rows.values[begin:end].tolist()
        at = 0
        for place, number in enumerate(ids):
            if number != self._unknown:
                at += len(self.model.pieces[number])
                continue
            following = self.model.pieces[ids[place + 1]] if place + 1 < len(ids) else None
            stop = at + 1
            while stop < len(text) and not (following is not None and text.startswith(following, stop)):
                stop += 1
            values[begin + place] = self.numbers.get(text[at:stop], self.numbers["<unk>"])
            at = stop

    def decode(self, rows: Ragged, threads: int) -> list[str]:
        """Returns the text of each ID row, without special pieces."""
        if len(rows.values) and not 0 <= rows.values.min() <= rows.values.max() < len(self.pieces):
            raise EncodeError(f"an ID is not in the vocabulary, which has {len(self.pieces)} pieces")
        ids = self._ids_in_file[rows.values]
        if (ids >= 0).all():
            return self.model.decode(Ragged(ids, rows.offsets), threads)
        return [self._text(row) for row in rows.to_lists()]

    def _text(self, row: Sequence[int]) -> str:
        special = {number for number in self.special_ids().values() if number is not None}
        return "".join(self.pieces[number] for number in row if number not in special).replace(SPACE, " ").strip(" ")

    def spans(self, column: TextColumn, rows: Ragged) -> PieceSpans:
        """Returns the spans of pieces."""
        ids = self._ids_in_file[rows.values]
        return self.model.spans(column, Ragged(np.where(ids < 0, self._unknown, ids).astype(np.int32), rows.offsets))
