"""Reader of JSON lines: one object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from nmt_prep.corpora.lines import Block, Fault, text_of
from nmt_prep.corpora.reader import TEXT_OPTIONS, PairBatch, PairBuilder, Reader
from nmt_prep.corpora.slices import line_count
from nmt_prep.errors import CorpusError


class JsonlReader(Reader):
    """Reads two texts from each object, found by dotted paths; a null drops the pair."""

    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")
    parts: ClassVar[tuple[str, ...]] = ("both",)
    lines_apart: ClassVar[bool] = True
    options: ClassVar[frozenset[str]] = TEXT_OPTIONS | {"fields"}

    def pairs(self) -> Iterator[PairBatch]:
        """Yields the pairs of all lines; a blank line is a row without a pair.

        Raises:
            CorpusError: a line is not a JSON object, a field is not text, or the file is not text in the encoding of
                the corpus or cannot be read.
        """
        fields = self.corpus.fields
        if fields is None:
            raise CorpusError(f"corpus {self.corpus.name}: format jsonl needs fields in the config")
        ways = [fields.source.split("."), fields.target.split(".")]
        builder = PairBuilder(self.corpus.max_line_bytes, self.files["both"])
        for block in self.blocks("both"):
            for number in range(len(block.starts)):
                if block.faults is not None and block.faults[number]:
                    builder.add("", "", int(block.faults[number]))
                    continue
                row = self._row(block, number)
                if row is None:
                    builder.add("", "", Fault.BLANK)
                    continue
                source, target = (self._text(row, way, block.first_line + number) for way in ways)
                builder.add(source, target)
            yield from builder.full()
        yield from builder.rest()

    def row_count(self) -> int:
        """Returns the number of lines of the file."""
        lines = line_count(self.files["both"], self.corpus.encoding)
        return super().row_count() if lines is None else lines

    def _row(self, block: Block, number: int) -> dict[str, Any] | None:
        text = text_of(block, number)
        if not text.strip(" \t\r"):
            return None
        where = f"{self.files['both']}:{block.first_line + number}"
        try:
            row = json.loads(text)
        except json.JSONDecodeError as error:
            raise CorpusError(f"{where}: not JSON at column {error.colno} ({error.msg}); fix the line") from error
        except (ValueError, RecursionError) as error:
            raise CorpusError(f"{where}: cannot be parsed as JSON ({error}); fix the line") from error
        if not isinstance(row, dict):
            raise CorpusError(f"{where}: not a JSON object with a name for each field; fix the line")
        return row

    def _text(self, row: dict[str, Any], way: list[str], line: int) -> str | None:
        value: Any = row
        for done, name in enumerate(way):
            if not isinstance(value, dict):
                raise self._no_text(way[:done], "not an object", line)
            if name not in value:
                raise self._no_text(way[: done + 1], f"missing (there is {', '.join(map(repr, [*value][:10]))})", line)
            value = value[name]
            if value is None:
                return None
        if not isinstance(value, str):
            raise self._no_text(way, "not text", line)
        return value

    def _no_text(self, way: list[str], what: str, line: int) -> CorpusError:
        return CorpusError(
            f"{self.files['both']}:{line}: the field {'.'.join(way)} is {what}; fix the line, or correct fields in "
            "the config"
        )
