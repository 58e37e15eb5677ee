"""The ``sentencepiece`` library as a tokenizer's engine, for models that the native core leaves to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import sentencepiece

from nmt_prep.columns import Ragged, TextColumn
from nmt_prep.errors import EncodeError, InvalidTextError, VocabularyError


class LibraryModel:
    """A model run by the library, with the ids of a layout.

    Args:
        data: bytes of the ``.model`` file.
        ids: int32, shape ``[pieces in the file]``: the id that each of them has in the layout.
        size: number of ids of the layout.

    Raises:
        VocabularyError: the library refuses the model.
    """

    def __init__(self, data: bytes, ids: npt.NDArray[np.int32], size: int) -> None:
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(data)
        except RuntimeError as error:
            raise VocabularyError(f"the sentencepiece library refuses the model: {error}") from error
        self._ids = ids
        self._own_ids = np.full(size, -1, np.int32)
        self._own_ids[ids] = np.arange(len(ids), dtype=np.int32)

    def encode(self, column: TextColumn, threads: int) -> Ragged:
        """Ids of each line.

        Raises:
            InvalidTextError: a line is not UTF-8.
        """
        lines = column.to_bytes()
        for number, line in enumerate(lines):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise InvalidTextError(
                    f"line {number}: byte {error.start} is not UTF-8; convert the text to UTF-8 or drop the line"
                ) from error
        rows = Ragged.from_lists(self._processor.encode(lines, out_type=int, num_threads=threads)) if lines else None
        if rows is None:
            return Ragged(np.empty(0, np.int32), np.zeros(1, np.int64))
        return Ragged(self._ids[rows.values], rows.offsets)

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids; ids that the layout adds stand for nothing.

        Raises:
            EncodeError: an id is not in the vocabulary.
        """
        texts = []
        for row in rows:
            for i in row:
                if not 0 <= i < len(self._own_ids):
                    raise EncodeError(
                        f"id {i} is not in the vocabulary, which has {len(self._own_ids)} pieces; "
                        "decode with the vocabulary that encoded"
                    )
            own = [int(self._own_ids[i]) for i in row if self._own_ids[i] >= 0]
            texts.append(str(self._processor.decode(own)) if own else "")
        return texts
