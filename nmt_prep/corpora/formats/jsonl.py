"""Reader of JSON lines: one object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from nmt_prep.base.errors import CorpusError, InvalidTextError
from nmt_prep.config.corpus import value_at
from nmt_prep.corpora.reader import TEXT_OPTIONS, PairBatch, PairBuilder, Reader, Value
from nmt_prep.corpora.scores import value_of
from nmt_prep.corpora.slices import line_count
from nmt_prep.text.blocks import Block, Fault, text_of


class JsonlReader(Reader):
    """Reads the texts of the sides from each object, found by dotted paths; a null drops the pair."""

    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")
    parts: ClassVar[tuple[str, ...]] = ("both",)
    lines_apart: ClassVar[bool] = True
    has_lines: ClassVar[bool] = True
    options: ClassVar[frozenset[str]] = TEXT_OPTIONS | {"fields"}

    def pairs(self) -> Iterator[PairBatch]:
        """Yields the pairs of all lines; a blank line is a row without a pair."""
        fields = self.corpus.fields
        if fields is None:
            raise CorpusError(f"corpus {self.corpus.name}: format jsonl needs fields in the config")
        others = {key: str(at) for key, at in self.columns.items()}
        builder = PairBuilder(self.corpus.max_line_bytes, self.files["both"], self.columns, self.joint)
        for block in self.blocks("both"):
            for number in range(len(block.starts)):
                if block.faults is not None and block.faults[number]:
                    builder.add("", "", int(block.faults[number]))
                    continue
                row = self._row(block, number)
                if row is None:
                    builder.add("", "", Fault.BLANK)
                    continue
                line = block.first_line + number
                try:
                    source, target = (self._text(row, place, line) for place in (fields.source, fields.target))
                    columns = {key: self._value(row, place, key, line) for key, place in others.items()}
                except InvalidTextError:
                    if self.corpus.invalid == "error":
                        raise
                    builder.add("", "", Fault.INVALID_TEXT)
                    continue
                builder.add(source, target, columns=columns)
            yield from builder.full()
        yield from builder.rest()

    @classmethod
    def has_column_at(cls, place: int | str) -> bool:
        """Returns True for a path of field names."""
        return isinstance(place, str)

    def row_count(self) -> int:
        """Returns the file's line count."""
        lines = line_count(self.files["both"], self.corpus.encoding_of("both"))
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

    def _at(self, row: dict[str, Any], place: str, line: int, key: str = "fields") -> Any:
        """Returns the value at a path of field names; None for null.

        A missing field is an error for the texts, and None for other columns.
        """
        try:
            return value_at(row, place)
        except UnicodeEncodeError as error:
            shown = ascii(error.object[max(error.start - 20, 0) : error.end])
            raise InvalidTextError(
                f"{self.files['both']}:{line}: {key}: the field {place} has half of a surrogate pair, which is not a "
                f"character (…{shown}); fix the line, or set invalid: drop to skip such pairs"
            ) from error
        except KeyError:
            return self._absent(row, place.split("."), line, key)

    def _absent(self, row: dict[str, Any], place: list[str], line: int, key: str) -> None:
        value: Any = row
        for done, name in enumerate(place):
            if value is None:
                return
            if isinstance(value, list):
                value = {str(number): item for number, item in enumerate(value)}
            if not isinstance(value, dict):
                raise self._wrong(".".join(place[:done]), "not an object", line, key)
            if name not in value and key == "fields":
                listed = ", ".join(map(repr, [*value][:10]))
                raise self._wrong(".".join(place[: done + 1]), f"missing (there is {listed})", line, key)
            value = value.get(name)

    def _text(self, row: dict[str, Any], place: str | None, line: int) -> str | None:
        if place is None:
            return ""
        value = self._at(row, place, line)
        if not isinstance(value, str | None):
            raise self._wrong(place, "not text", line, "fields")
        return value

    def _value(self, row: dict[str, Any], place: str, key: str, line: int) -> Value:
        return value_of(self._at(row, place, line, key), key, f"{self.files['both']}:{line}")

    def _wrong(self, place: str, what: str, line: int, key: str) -> CorpusError:
        where = f"{self.files['both']}:{line}: " + ("" if key == "fields" else f"{key}: ")
        return CorpusError(f"{where}the field {place} is {what}; fix the line, or correct {key} in the config")
