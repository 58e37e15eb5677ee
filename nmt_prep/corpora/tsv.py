"""One file, a pair a line, columns between tabs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from nmt_prep.config import Columns
from nmt_prep.corpora.lines import Block, iter_blocks, spans
from nmt_prep.corpora.reader import PairBatch, Reader
from nmt_prep.errors import CorpusError

_TAB = ord("\t")


class TsvReader(Reader):
    """Reads tab-separated columns by number. Fields are the raw text between tabs: there is no quoting."""

    parts = ("both",)

    def pairs(self) -> Iterator[PairBatch]:
        """The pairs of all lines, without the header where the corpus has one.

        Raises:
            CorpusError: a line has too few columns, or the file is not UTF-8 or cannot be read.
        """
        columns = self.corpus.columns or Columns()
        header = self.corpus.header
        for block in iter_blocks(self.files["both"]):
            first = int(header and block.first_line == 1)
            source, target = self._fields(block, first, [columns.source, columns.target])
            if len(source):
                yield PairBatch(source, target)

    def _fields(self, block: Block, first: int, columns: list[int]) -> list[pa.Array]:
        """The wanted columns of a block's lines from number ``first`` on."""
        starts, ends = block.starts[first:], block.ends[first:]
        tabs = np.flatnonzero(np.frombuffer(block.data, np.uint8) == _TAB)
        first_tab = np.searchsorted(tabs, starts)
        tabs_in_line = np.searchsorted(tabs, ends) - first_tab
        short = np.flatnonzero(tabs_in_line < max(columns))
        if len(short):
            line = block.first_line + first + int(short[0])
            raise CorpusError(
                f"{self.files['both']}:{line}: {tabs_in_line[short[0]] + 1} columns, but column {max(columns)} "
                "(counted from 0) is wanted; mend the line, or set columns in the config"
            )
        bounded = np.append(tabs, len(block.data))  # lets the last line's missing tab be looked up
        fields = []
        for column in columns:
            begin = starts if column == 0 else tabs[first_tab + column - 1] + 1
            end = np.where(column < tabs_in_line, bounded[np.minimum(first_tab + column, len(tabs))], ends)
            fields.append(spans(block.data, begin, end))
        return fields
