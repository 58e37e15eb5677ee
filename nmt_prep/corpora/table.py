"""Columns of text tables: resolving column names, and splitting whole blocks into columns."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from nmt_prep.config.corpus import Columns, Corpus
from nmt_prep.corpora.lines import Block, Faults, spans
from nmt_prep.corpora.reader import PairBatch
from nmt_prep.errors import CorpusError


class Table:
    """The columns of the two sides in one file.

    Args:
        corpus: gives their names or numbers.
        path: the file, for messages.
    """

    def __init__(self, corpus: Corpus, path: Path) -> None:
        columns = corpus.columns or Columns()
        self.path = path
        self._wanted = (columns.source, columns.target)
        self.header = corpus.header or any(isinstance(column, str) for column in self._wanted)
        self._numbers = [column for column in self._wanted if isinstance(column, int)]

    def read_header(self, names: Sequence[str]) -> None:
        """Finds the columns that are wanted by name.

        Raises:
            CorpusError: there is no column of a name, or there are two.
        """
        self._numbers = []
        for column in self._wanted:
            if isinstance(column, str) and names.count(column) != 1:
                near = difflib.get_close_matches(column, names, n=3) or names[:10]
                what = "no column" if column not in names else "several columns"
                raise CorpusError(
                    f"{self.path}:1: {what} named {column!r} (it has {', '.join(map(repr, near))}); "
                    "correct columns in the config"
                )
            self._numbers.append(names.index(column) if isinstance(column, str) else column)

    @property
    def columns(self) -> tuple[int, int]:
        """Returns the column numbers of source and target, counted from 0."""
        source, target = self._numbers
        return source, target

    def too_few(self, line: int, found: int) -> CorpusError:
        """Returns the error for a line with too few columns."""
        return CorpusError(
            f"{self.path}:{line}: {found} column{'s' * (found != 1)}, but column {max(self.columns)} (counted from 0) "
            "is needed; fix the line, or set columns in the config"
        )

    def batch(self, block: Block, first: int, delimiter: int) -> PairBatch:
        """Returns the pairs of a block from line ``first`` on; no line may have quotes.

        Raises:
            CorpusError: a line has too few columns.
        """
        starts, ends = block.starts[first:], block.ends[first:]
        faults: Faults | None = None if block.faults is None else block.faults[first:]
        cuts = np.flatnonzero(np.frombuffer(block.data, np.uint8) == delimiter)
        first_cut = np.searchsorted(cuts, starts)
        cuts_in_line = np.searchsorted(cuts, ends) - first_cut
        short = cuts_in_line < max(self.columns)
        if faults is not None:
            short &= faults == 0
        if short.any():
            line = int(np.argmax(short))
            raise self.too_few(block.first_line + first + line, int(cuts_in_line[line]) + 1)
        bounded = np.append(cuts, len(block.data))  # the last line has no cut at its end
        sides: list[pa.Array] = []
        for column in self.columns:
            begin = starts if column == 0 else bounded[np.minimum(first_cut + column - 1, len(cuts))] + 1
            end = np.where(column < cuts_in_line, bounded[np.minimum(first_cut + column, len(cuts))], ends)
            if faults is not None:
                begin, end = np.where(faults, starts, begin), np.where(faults, starts, end)
            sides.append(spans(block.data, begin, end))
        return PairBatch(sides[0], sides[1], faults)


def text_of(block: Block, number: int) -> str:
    """Returns a line of a block as text."""
    return block.data[block.starts[number] : block.ends[number]].decode("utf-8")
