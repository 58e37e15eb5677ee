"""Readers of text tables: TSV, and CSV with the quoting of RFC 4180."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from nmt_prep.base.errors import CorpusError
from nmt_prep.base.sides import SIDES
from nmt_prep.config.corpus import Columns, Corpus
from nmt_prep.corpora.reader import TEXT_OPTIONS, PairBatch, PairBuilder, Reader, Value, no_text
from nmt_prep.corpora.scores import column_of, value_of
from nmt_prep.corpora.slices import line_count
from nmt_prep.text.blocks import Block, Faults, spans, text_of

_FIRST_TWO = Columns(source=0, target=1)


def _has_header(corpus: Corpus) -> bool:
    """Returns True if the first line of a table names its columns."""
    columns = corpus.columns or _FIRST_TWO
    others = (place.at for place in corpus.places.values())
    return corpus.header or any(isinstance(column, str) for column in (columns.source, columns.target, *others))


class _Table:
    """The columns to read of one file: the two sides, and further columns.

    Args:
        corpus: the corpus, which names or numbers the columns of the sides.
        path: the file, for messages.
        others: names or numbers of the further columns, by key in the config.
    """

    def __init__(self, corpus: Corpus, path: Path, others: Mapping[str, int | str]) -> None:
        columns = corpus.columns or _FIRST_TWO
        self.path = path
        self._sides = columns.sides
        self._wanted = (*(getattr(columns, side) for side in columns.sides), *others.values())
        self._others = tuple(others)
        self.header = _has_header(corpus)
        self._numbers = [column for column in self._wanted if isinstance(column, int)]

    def read_header(self, names: Sequence[str]) -> None:
        """Finds the columns that the config names."""
        self._numbers = []
        for column in self._wanted:
            if isinstance(column, str) and names.count(column) != 1:
                near = difflib.get_close_matches(column, names, n=3) or names[:10]
                what = "no column" if column not in names else "several columns"
                of_side = column in self._wanted[: len(self._sides)]
                raise CorpusError(
                    f"{self.path}:1: {what} named {column!r} (it has {', '.join(map(repr, near))}); "
                    f"correct {'columns' if of_side else ' and '.join(self._others)} in the config"
                )
            self._numbers.append(names.index(column) if isinstance(column, str) else column)

    @property
    def last(self) -> int:
        return max(self._numbers)

    def row(self, line: int, fields: Sequence[str]) -> tuple[str, str, dict[str, Value]]:
        if len(fields) <= self.last:
            raise self.too_few(line, len(fields))
        texts = [fields[column] for column in self._numbers]
        where, sides = f"{self.path}:{line}", dict(zip(self._sides, texts, strict=False))
        values = {key: value_of(text, key, where) for key, text in zip(self._others, texts[len(sides) :], strict=True)}
        return sides.get("source", ""), sides.get("target", ""), values

    def too_few(self, line: int, columns: int) -> CorpusError:
        return CorpusError(
            f"{self.path}:{line}: {columns} column{'s' * (columns != 1)}, but column {self.last} (counted from 0) "
            f"is needed; fix the line, or set {' and '.join(['columns', *self._others])} in the config"
        )

    def batch(self, block: Block, first: int, delimiter: int) -> PairBatch:
        """Returns the pairs in a block's lines from line ``first`` on; none of these lines has quotes."""
        starts, ends = block.starts[first:], block.ends[first:]
        faults: Faults | None = None if block.faults is None else block.faults[first:]
        cuts = np.flatnonzero(np.frombuffer(block.data, np.uint8) == delimiter)
        first_cut = np.searchsorted(cuts, starts)
        cuts_in_line = np.searchsorted(cuts, ends) - first_cut
        short = cuts_in_line < self.last
        if faults is not None:
            short &= faults == 0
        if short.any():
            line = int(np.argmax(short))
            raise self.too_few(block.first_line + first + line, int(cuts_in_line[line]) + 1)
        bounded = np.append(cuts, len(block.data))  # the last line ends without a cut
        columns: list[pa.Array] = []
        for column in self._numbers:
            begin = starts if column == 0 else bounded[np.minimum(first_cut + column - 1, len(cuts))] + 1
            end = np.where(column < cuts_in_line, bounded[np.minimum(first_cut + column, len(cuts))], ends)
            if faults is not None:
                begin, end = np.where(faults, starts, begin), np.where(faults, starts, end)
            columns.append(spans(block.data, begin, end))
        others = {
            key: column_of(texts, key, lambda index: f"{self.path}:{block.first_line + first + index}")
            for key, texts in zip(self._others, columns[len(self._sides) :], strict=True)
        }
        sides = dict(zip(self._sides, columns, strict=False))
        source, target = (sides[side] if side in sides else no_text(len(starts)) for side in SIDES)
        return PairBatch(source, target, faults, columns=others)


_COMMA = ord(",")
_TAB = "\t"
_FIELD = re.compile(r'(?:"([^"]*+(?:""[^"]*+)*+)"|([^,"]*+))(,|\Z)')


class _TableReader(Reader):
    """Base class for readers of tables, which find columns by index or name."""

    parts: ClassVar[tuple[str, ...]] = ("both",)
    lines_apart: ClassVar[bool] = True
    options: ClassVar[frozenset[str]] = TEXT_OPTIONS | {"columns", "header"}

    @classmethod
    def has_column_at(cls, place: int | str) -> bool:
        """Returns True: a value may be in any column."""
        return True

    @classmethod
    def header_lines(cls, corpus: Corpus) -> int:
        """Returns 1 if the first line names the columns."""
        return int(_has_header(corpus))


class CsvReader(_TableReader):
    """Reads comma-separated columns by number or name; a quoted field may hold commas, quotes and line breaks."""

    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    quote: ClassVar[bytes] = b'"'
    has_lines: ClassVar[bool] = True

    def pairs(self) -> Iterator[PairBatch]:
        """Yields the pairs of all records, without the header.

        A block without quotation marks, as most are, is split as a whole.
        """
        path = self.files["both"]
        table = _Table(self.corpus, path, self.columns)
        records = _Records(path, self.corpus.max_line_bytes)
        builder = PairBuilder(self.corpus.max_line_bytes, path, self.columns, self.joint)
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
                    source, target, others = table.row(record.line, _fields(record, path))
                    builder.add(source, target, columns=others)
            yield from builder.full()
        records.end()
        yield from builder.rest()


class _Record(NamedTuple):
    """A record: the number of its first line, its text, and its fault or 0."""

    line: int
    text: str
    fault: int


class _Records:
    """Joins lines to records: a record ends at the first line end after an even number of quotation marks."""

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
                self.end()
                yield _Record(line, "", fault)
                continue
            text = text_of(block, number)
            ends = text.count('"') % 2 == int(self.open)
            if not self.open:
                self._line, self._size = line, 0
            self._lines.append(text)
            self._size += len(text) + 1
            if ends:
                yield _Record(self._line, "\n".join(self._lines), 0)
                self._lines = []
            elif self._size > self._limit:
                self.end()

    def end(self) -> None:
        """Raises if a record is open."""
        if self.open:
            raise CorpusError(
                f"{self._path}:{self._line}: a quoted field does not end within max_line_bytes = {self._limit}; fix "
                "the quotation marks (one within a field is doubled), or use format tsv, which has no quoting"
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


class TsvReader(_TableReader):
    """Reads tab-separated columns by number or name. A field is the text between tabs, without quoting."""

    suffixes: ClassVar[tuple[str, ...]] = (".tsv",)

    def row_count(self) -> int:
        """Returns the file's line count without the header."""
        lines = line_count(self.files["both"], self.corpus.encoding_of("both"))
        return super().row_count() if lines is None else max(lines - self.header_lines(self.corpus), 0)

    def pairs(self) -> Iterator[PairBatch]:
        """Yields the pairs of all lines, without the header."""
        table = _Table(self.corpus, self.files["both"], self.columns)
        if table.header and self.slices and self.slices["both"].first_line > 1:
            table.read_header(text_of(self.first_block("both"), 0).split(_TAB))
        for block in self.blocks("both"):
            first = int(table.header and block.first_line == 1)
            if first:
                table.read_header(text_of(block, 0).split(_TAB))
            if len(block.starts) > first:
                yield table.batch(block, first, ord(_TAB))
