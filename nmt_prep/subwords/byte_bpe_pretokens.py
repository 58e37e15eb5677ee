"""Pretokens by a pattern of one's own: slower than GPT-2's, which the native core cuts by itself."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import regex

from nmt_prep.columns import TextColumn
from nmt_prep.errors import InvalidTextError, VocabularyError


class PretokenPattern:
    """A pattern in the syntax of the ``regex`` package: its matches, and what lies between them, are pretokens."""

    def __init__(self, pattern: str) -> None:
        """Compiles a pattern.

        Raises:
            VocabularyError: it is not one.
        """
        try:
            self._compiled = regex.compile(pattern)
        except regex.error as error:
            raise VocabularyError(f"the pattern {pattern!r} is not a regular expression: {error}; mend it") from error

    def cut(self, column: TextColumn) -> tuple[TextColumn, npt.NDArray[np.int64]]:
        """Pretokens as lines of their own, over the same text, and the number of the first one of each line.

        Returns:
            The pretokens, and int64 of shape ``[lines + 1]`` that ends in their count.

        Raises:
            InvalidTextError: a line is not UTF-8.
        """
        ends = [int(column.offsets[0])]
        firsts = np.zeros(len(column) + 1, np.int64)
        for number, line in enumerate(column.to_bytes()):
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise InvalidTextError(
                    f"line {number}: byte {error.start} is not UTF-8; convert the text to UTF-8 or drop the line"
                ) from error
            for pretoken in self.split(text):
                ends.append(ends[-1] + len(pretoken.encode()))
            firsts[number + 1] = len(ends) - 1
        return TextColumn(column.data, np.array(ends, np.int64)), firsts

    def split(self, text: str) -> list[str]:
        """The pretokens of one text; together they are the text."""
        pretokens = []
        at = 0
        for match in self._compiled.finditer(text):
            start, end = match.span()
            pretokens += [text[at:start], text[start:end]]
            at = end
        pretokens.append(text[at:])
        return [pretoken for pretoken in pretokens if pretoken]
