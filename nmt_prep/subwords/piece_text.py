"""Lines of pieces separated by spaces, as most toolkits read them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.columns import Ragged, joined_items
from nmt_prep.base.errors import EncodeError
from nmt_prep.subwords.tokenizer import Tokenizer

_WHITE = re.compile(r"\s")


class PieceText:
    """Converts IDs to piece lines, and back."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer  # the tokenizer of these pieces
        self.texts = tokenizer.words()  # the piece texts, in ID order
        self._column = pa.array(self.texts, pa.large_string())
        self._ids = {text: number for number, text in enumerate(self.texts)}
        self._white = np.array([_WHITE.search(text) is not None for text in self.texts], dtype=np.bool_)
        self._some_white = bool(self._white.any())

    def words(self) -> list[str]:
        r"""Returns the texts of all pieces, for a vocabulary list with one piece per line.

        White space in a piece is spelt as an escape such as ``\u000d``, with more backslashes if another piece has this
        text. Such pieces are in the list only: :meth:`check` refuses to write text with them.
        """
        words, known = list(self.texts), set(self.texts)
        for number in np.flatnonzero(self._white).tolist():
            escape = _WHITE.sub(lambda match: f"\\u{ord(match[0]):04x}", words[number])
            while escape in known:
                escape = f"\\{escape}"
            words[number] = escape
            known.add(escape)
        return words

    def check(self, ids: npt.NDArray[np.int32]) -> None:
        """Checks that the pieces of IDs can be written as words."""
        if not self._some_white:
            return
        white = self._white[ids]
        if white.any():
            number = int(ids[int(white.argmax())])
            raise EncodeError(
                f"the text has piece {number}, {self.texts[number]!r}, which contains white space, so it cannot be "
                "written as a piece; write IDs, or remove those characters from the text"
            )

    def lines(self, rows: Ragged, *, check: bool = True) -> pa.Array:
        """Returns one line per row, with pieces separated by spaces, as a ``large_string`` array."""
        if len(rows.values) and not 0 <= int(rows.values.min()) <= int(rows.values.max()) < len(self.texts):
            raise EncodeError(f"IDs must be from 0 to {len(self.texts) - 1}")
        if check:
            self.check(rows.values)
        return joined_items(self._column.take(pa.array(rows.values)), rows.offsets, " ")

    def rows(self, lines: Iterable[str]) -> Ragged:
        """Returns the IDs in each line of pieces; spaces separate the pieces."""
        try:
            return Ragged.from_lists([[self._ids[piece] for piece in line.split(" ") if piece] for line in lines])
        except KeyError as error:
            raise EncodeError(f"{error.args[0]!r} is not a piece of this vocabulary") from None


def id_lines(rows: Ragged) -> pa.Array:
    """Returns one line per row, with IDs separated by spaces, as a ``large_string`` array."""
    return joined_items(pa.array(rows.values).cast(pa.large_string()), rows.offsets, " ")


def id_rows(lines: Iterable[str]) -> Ragged:
    """Parses lines of IDs."""
    rows = []
    for line in lines:
        try:
            row = [int(word) for word in line.split()]
        except ValueError:
            raise EncodeError(f"not a line of IDs: {line[:80]!r}") from None
        if any(not 0 <= number < 2**31 for number in row):
            raise EncodeError(f"an ID is out of range: {line[:80]!r}")
        rows.append(row)
    return Ragged.from_lists(rows)
