"""Glossaries: regular expressions of text that subword-nmt leaves whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from _nmt_prep_core import SubwordNMTWordCounter

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import VocabularyError

_MOST_KEPT = 1 << 17  # words whose parts are kept for later lines

Parts = list[tuple[str, bool]]  # The parts of a word, and whether each one is left whole


class Glossaries:
    """Cuts words at regular expression matches, in the order of the expressions."""

    def __init__(self, expressions: Sequence[str]) -> None:
        """Compiles the expressions, in the syntax of Python's ``re``."""
        self._kept: dict[str, Parts | None] = {}
        try:
            self._each = [(re.compile(f"^{text}$"), re.compile(text), re.compile(f"({text})")) for text in expressions]
            self._any = re.compile(f"^({'|'.join(expressions)})$")
        except (re.error, RecursionError, OverflowError) as error:
            raise VocabularyError(f"the glossaries {list(expressions)} are not regular expressions: {error}") from error

    def cut(self, column: TextColumn, threads: int) -> list[tuple[str, Parts]]:
        """Returns the parts of the words in lines that an expression matches."""
        counter = SubwordNMTWordCounter()
        counter.add(column.data, column.offsets, threads)
        data, offsets, _ = counter.columns()
        found = []
        for word in TextColumn(data, offsets).strings():
            if word not in self._kept:
                if len(self._kept) >= _MOST_KEPT:
                    self._kept = {}
                self._kept[word] = self.parts(word)
            parts = self._kept[word]
            if parts is not None:
                found.append((word, parts))
        return found

    def parts(self, word: str) -> Parts | None:
        """Returns a word's parts, or None if the word is segmented like any other word."""
        segments = [word]
        for expression in self._each:
            segments = list(chain.from_iterable(_split(segment, *expression) for segment in segments))
        parts = [(segment, self._any.match(segment) is not None) for segment in segments]
        return None if parts in ([], [(word, False)]) else parts


def _split(segment: str, whole: re.Pattern[str], part: re.Pattern[str], kept: re.Pattern[str]) -> list[str]:
    """Splits a segment at an expression's matches; the text in its groups is repeated, as in the original."""
    if whole.match(segment) or not part.search(segment):
        return [segment]
    *segments, ending = kept.split(segment)
    return [*filter(None, [*segments, ending.strip("\r\n ")])]
