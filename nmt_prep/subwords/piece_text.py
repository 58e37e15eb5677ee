"""Pieces as words of a plain-text file: one line a sentence, pieces between spaces, as most toolkits read them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.columns import Ragged
from nmt_prep.errors import EncodeError, VocabularyError
from nmt_prep.subwords.byte_bpe_vocabulary import spelled
from nmt_prep.subwords.tokenizer import Tokenizer

_WHITE = re.compile(r"\s")


def piece_texts(tokenizer: Tokenizer) -> list[str]:
    r"""The text of each piece, without white space, in the order of ids.

    Tensor2Tensor's pieces may hold white space; it is written as that dialect escapes characters, ``\32;`` for a
    space, which its decoding undoes. The other dialects spell spaces by characters of their own (``Ġ``, ``▁``), and
    so the white space of byte-level BPE's added tokens is written, unless another piece has that text.

    Raises:
        VocabularyError: a piece of another dialect holds white space, or two pieces have the same text.
    """
    pieces = list(tokenizer.pieces)
    if tokenizer.dialect == "t2t":
        return [_WHITE.sub(lambda white: f"\\{ord(white[0])};", piece) for piece in pieces]
    if tokenizer.dialect == "byte_bpe":
        others = frozenset(pieces)
        written = [_WHITE.sub(lambda white: spelled(white[0].encode()), piece) for piece in pieces]
        pieces = [piece if text in others else text for piece, text in zip(pieces, written, strict=True)]
    for number, piece in enumerate(pieces):
        if _WHITE.search(piece):
            raise VocabularyError(f"piece {number}, {piece!r}, holds white space, so it cannot stand in a text file")
    return pieces


class PieceText:
    """Ids to lines of pieces and back.

    Attributes:
        tokenizer: whose pieces they are.
        texts: the text of each piece, in the order of ids.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.texts = piece_texts(tokenizer)
        self._column = pa.array(self.texts, pa.large_string())
        self._ids = {text: number for number, text in enumerate(self.texts)}

    def lines(self, rows: Ragged) -> pa.Array:
        """Each row as one line, its pieces between spaces: a ``large_string`` array.

        Raises:
            EncodeError: an id is not in the vocabulary.
        """
        if len(rows.values) and not 0 <= int(rows.values.min()) <= int(rows.values.max()) < len(self.texts):
            raise EncodeError(f"ids must be from 0 to {len(self.texts) - 1}")
        return _joined(rows, self._column.take(pa.array(rows.values)))

    def rows(self, lines: Iterable[str]) -> Ragged:
        """Lines of pieces as rows of ids; pieces stand between single spaces.

        Raises:
            EncodeError: a piece is not in the vocabulary.
        """
        try:
            return Ragged.from_lists([[self._ids[piece] for piece in line.split(" ") if piece] for line in lines])
        except KeyError as error:
            raise EncodeError(f"{error.args[0]!r} is no piece of this vocabulary") from None


def id_lines(rows: Ragged) -> pa.Array:
    """Each row as one line, its ids between spaces: a ``large_string`` array."""
    return _joined(rows, pa.array(rows.values).cast(pa.large_string()))


def id_rows(lines: Iterable[str]) -> Ragged:
    """Lines of ids as rows.

    Raises:
        EncodeError: a word is not a number that an id can be.
    """
    rows = []
    for line in lines:
        try:
            row = [int(word) for word in line.split()]
        except ValueError:
            raise EncodeError(f"not a line of ids: {line[:80]!r}") from None
        if any(not 0 <= number < 2**31 for number in row):
            raise EncodeError(f"an id is out of range: {line[:80]!r}")
        rows.append(row)
    return Ragged.from_lists(rows)


def _joined(rows: Ragged, words: pa.Array) -> pa.Array:
    lists = pa.LargeListArray.from_arrays(pa.array(rows.offsets.astype(np.int64)), words)
    return pc.binary_join(lists, pa.scalar(" ", pa.large_string()))
