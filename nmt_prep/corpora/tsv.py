"""Reader of tab-separated columns, one pair per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from nmt_prep.corpora.reader import TEXT_OPTIONS, PairBatch, Reader
from nmt_prep.corpora.table import Table, text_of

_TAB = "\t"


class TsvReader(Reader):
    """Reads tab-separated columns by number or name. A field is the raw text between tabs: there is no quoting."""

    suffixes: ClassVar[tuple[str, ...]] = (".tsv",)
    parts: ClassVar[tuple[str, ...]] = ("both",)
    lines_apart: ClassVar[bool] = True
    options: ClassVar[frozenset[str]] = TEXT_OPTIONS | {"columns", "header"}

    def pairs(self) -> Iterator[PairBatch]:
        """Yields the pairs of all lines, without the header.

        Raises:
            CorpusError: a line has too few columns, a named column is missing, or the file is not text in the encoding
                of the corpus or cannot be read.
        """
        table = Table(self.corpus, self.files["both"])
        if table.header and self.slices and self.slices["both"].first_line > 1:
            table.read_header(text_of(self.first_block("both"), 0).split(_TAB))
        for block in self.blocks("both"):
            first = int(table.header and block.first_line == 1)
            if first:
                table.read_header(text_of(block, 0).split(_TAB))
            if len(block.starts) > first:
                yield table.batch(block, first, ord(_TAB))
