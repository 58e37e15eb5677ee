"""Reader of comma-separated columns, quoted as in RFC 4180."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, NamedTuple

from nmt_prep.corpora.lines import Block
from nmt_prep.corpora.pairs import PairBuilder
from nmt_prep.corpora.reader import TEXT_OPTIONS, PairBatch, Reader
from nmt_prep.corpora.table import Table, text_of
from nmt_prep.errors import CorpusError

_COMMA = ord(",")
_FIELD = re.compile(r'(?:"([^"]*+(?:""[^"]*+)*+)"|([^,"]*+))(,|\Z)')


class CsvReader(Reader):
    """Reads comma-separated columns by number or name; a quoted field may hold commas, quotes and line breaks."""

    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    parts: ClassVar[tuple[str, ...]] = ("both",)
    lines_apart: ClassVar[bool] = True
    quote: ClassVar[bytes] = b'"'
    options: ClassVar[frozenset[str]] = TEXT_OPTIONS | {"columns", "header"}

    def pairs(self) -> Iterator[PairBatch]:
        """Yields the pairs of all records, without the header.

        Most blocks have no quotation mark; these are split as a whole.

        Raises:
            CorpusError: a record has too few columns, quotes are malformed, a named column is missing, or the file is
                not text in the encoding of the corpus or cannot be read.
        """
        path = self.files["both"]
        table = Table(self.corpus, path)
        records = _Records(path, self.corpus.max_line_bytes)
        builder = PairBuilder(self.corpus.max_line_bytes, path)
        header = table.header
        if header and self.slices and self.slices["both"].first_line > 1:
            first = self.first_block("both")
            table.read_header(_fields(_Record(1, text_of(first, 0), 0), path))
            header = False
        for block in self.blocks("both"):
            if not records.open and not header and b'"' not in block.data:
                yield from builder.rest()
                yield table.batch(block, 0, _COMMA)
                continue
            for record in records.of(block):
                if header:
                    table.read_header(_fields(record, path))
                    header = False
                elif record.fault:
                    builder.add("", "", record.fault)
                else:
                    fields = _fields(record, path)
                    if len(fields) <= max(table.columns):
                        raise table.too_few(record.line, len(fields))
                    source, target = table.columns
                    builder.add(fields[source], fields[target])
            yield from builder.full()
        records.end()
        yield from builder.rest()


class _Record(NamedTuple):
    """One record: the number of its first line, its text, and its fault or 0."""

    line: int
    text: str
    fault: int


class _Records:
    """Joins lines to records: a record ends at a line end with an even number of quotation marks before it."""

    def __init__(self, path: Path, limit: int) -> None:
        self._path = path
        self._limit = limit
        self._line = 0
        self._lines: list[str] = []
        self._size = 0

    @property
    def open(self) -> bool:
        """True if a record continues in the next block."""
        return bool(self._lines)

    def of(self, block: Block) -> Iterator[_Record]:
        for number in range(len(block.starts)):
            line = block.first_line + number
            fault = 0 if block.faults is None else int(block.faults[number])
            if fault:
                if self.open:
                    raise self._unended()
                yield _Record(line, "", fault)
                continue
            text = text_of(block, number)
            closes = text.count('"') % 2 == 0
            if not self.open and closes:
                yield _Record(line, text, 0)
            elif self.open and not closes:
                yield _Record(self._line, "\n".join([*self._lines, text]), 0)
                self._lines, self._size = [], 0
            else:
                self._line = self._line if self.open else line
                self._lines.append(text)
                self._size += len(text) + 1
                if self._size > self._limit:
                    raise self._unended()

    def end(self) -> None:
        if self.open:
            raise self._unended()

    def _unended(self) -> CorpusError:
        return CorpusError(
            f"{self._path}:{self._line}: a quoted field does not end within max_line_bytes = {self._limit}; fix the "
            "quotation marks (one within a field is doubled), or use format tsv, which has no quoting"
        )


def _fields(record: _Record, path: Path) -> list[str]:
    fields: list[str] = []
    position = 0
    while match := _FIELD.match(record.text, position):
        quoted, bare, end = match.groups()
        fields.append(bare if quoted is None else quoted.replace('""', '"'))
        position = match.end()
        if not end:
            return fields
    raise CorpusError(
        f"{path}:{record.line}: a quotation mark inside field {len(fields)} (counted from 0); quote the whole field "
        "and double the marks inside it, or use format tsv, which has no quoting"
    )
