"""Reader of Parquet files; the two sides' columns may be nested in structures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nmt_prep.base.errors import CorpusError, InvalidTextError
from nmt_prep.config.corpus import Corpus, Fields, paths_of
from nmt_prep.corpora.reader import (
    BATCH_CHARACTERS,
    DOCUMENT,
    PAIRS_PER_BATCH,
    PairBatch,
    Reader,
    longer,
    merged_faults,
    no_text,
    one_line,
)
from nmt_prep.corpora.scores import column_of
from nmt_prep.text.blocks import Fault, Faults


class ParquetReader(Reader):
    """Reads the columns of the sides, found by dotted paths; a null drops the pair."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet",)
    parts: ClassVar[tuple[str, ...]] = ("both",)
    options: ClassVar[frozenset[str]] = frozenset({"fields", "max_line_bytes"})
    has_lines: ClassVar[bool] = True

    def pairs(self) -> Iterator[PairBatch]:
        path, fields = self.files["both"], self.corpus.fields
        if fields is None:
            raise CorpusError(f"corpus {self.corpus.name}: format parquet needs fields in the config")
        try:
            with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
                _check_schema(file.schema_arrow, str(path), fields, self.columns)
                columns = [_read(file.schema_arrow, at) for at in (*_texts(fields), *map(str, self.columns.values()))]
                row = 0
                for batch in file.iter_batches(_rows_at_a_time(file.metadata), columns=columns, use_threads=False):
                    source, source_faults = self._column(batch, fields.source)
                    target, target_faults = self._column(batch, fields.target)
                    others = {key: self._value(batch, str(place), key, row) for key, place in self.columns.items()}
                    yield PairBatch(source, target, merged_faults(source_faults, target_faults), columns=others)
                    row += len(batch)
        except (OSError, pa.ArrowException) as error:
            raise _damaged(path, error) from error

    def row_count(self) -> int:
        """Returns the number of rows that the file states."""
        path = self.files["both"]
        try:
            return int(pq.read_metadata(path).num_rows)
        except (OSError, pa.ArrowException) as error:
            raise _damaged(path, error) from error

    @classmethod
    def has_column_at(cls, place: int | str) -> bool:
        """Returns True for a path of field names."""
        return isinstance(place, str)

    def _value(self, batch: pa.RecordBatch, field: str, key: str, row: int) -> pa.Array:
        path = self.files["both"]
        return column_of(_values(batch, field, path), key, lambda index: f"{path}, row {row + index}")

    def _column(self, batch: pa.RecordBatch, field: str | None) -> tuple[pa.Array, Faults | None]:
        if field is None:
            return no_text(len(batch)), None
        texts = _values(batch, field, self.files["both"])
        missing = texts.is_null() if texts.null_count else None
        if missing is not None:
            texts = texts.fill_null("")
        if pc.any(pc.match_substring(texts, "\n")).as_py():
            texts = pa.array(
                [one_line(text, self.joint) if "\n" in text else text for text in texts.to_pylist()],
                pa.large_string(),
            )
        faults = np.zeros(len(texts), np.uint8)
        faults[longer(texts, self.corpus.max_line_bytes)] = Fault.TOO_LONG
        if missing is not None:
            faults[missing.to_numpy(zero_copy_only=False)] = Fault.MISSING_SIDE
        return texts, faults if faults.any() else None


def _rows_at_a_time(metadata: pq.FileMetaData) -> int:
    """Returns how many rows have a few megabytes; rows may be whole documents."""
    size = sum(int(metadata.row_group(number).total_byte_size) for number in range(metadata.num_row_groups))
    return max(1, min(PAIRS_PER_BATCH, 2 * BATCH_CHARACTERS * int(metadata.num_rows) // max(size, 1)))


def check_fields(file: Path | BinaryIO, name: str, corpus: Corpus) -> None:
    """Checks that a file has a corpus's fields, and texts in them; reads only the footer."""
    assert corpus.fields is not None
    try:
        schema = pq.read_schema(file)
    except (OSError, pa.ArrowException) as error:
        raise _damaged(name, error) from error
    _check_schema(schema, name, corpus.fields, ParquetReader.columns_inside(corpus))


def _check_schema(schema: pa.Schema, path: str, fields: Fields, columns: Mapping[str, int | str]) -> None:
    for field in _texts(fields):
        _check_field(schema, path, field)
    for key, place in columns.items():
        _check_field(schema, path, str(place), key)


def _texts(fields: Fields) -> list[str]:
    return [field for field in (fields.source, fields.target) if field is not None]


def _check_field(schema: pa.Schema, path: str, field: str, key: str = "fields") -> None:
    """Checks that there is a field, with text in it, or with numbers or text if it is the field of another column."""
    kind = pa.struct(list(schema))
    at = _place_of(kind, field)
    if at is None:
        raise CorpusError(f"{path}: {_absence(kind, field)}; correct {key} in the config")
    for index in at:
        kind = kind.field(index).type if pa.types.is_struct(kind) else kind.value_type
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_number = pa.types.is_integer(value) or pa.types.is_floating(value) or pa.types.is_decimal(value)
    if not (_is_text(value) or (is_number and key != "fields")):
        what = "text" if key == "fields" else "numbers" if key != DOCUMENT else "text or integers"
        raise CorpusError(f"{path}: the field {field!r} is {kind}, not {what}; correct {key} in the config")


def _place_of(kind: pa.DataType, field: str) -> list[int] | None:
    """Returns the indexes of a field (a dotted path), in structures and lists, or None if the field is absent."""
    for path in paths_of(field):
        inner, at = kind, []
        for name in path:
            if _is_list(inner) and name.isdecimal() and len(name) < 10:
                at.append(int(name))
                inner = inner.value_type
                continue
            index = inner.get_field_index(name) if pa.types.is_struct(inner) else -1
            if index < 0:
                break
            at.append(index)
            inner = inner.field(index).type
        else:
            return at
    return None


def _read(schema: pa.Schema, field: str) -> str:
    """Returns what to read of a file for a field: the whole column for an item of a list."""
    if not any(name.isdecimal() for name in field.split(".")):
        return field
    at = _place_of(pa.struct(list(schema)), field)
    assert at is not None  # the schema was checked
    return str(schema.names[at[0]])


def _absence(kind: pa.DataType, field: str) -> str:
    """Says that several fields have a name, or that none has it, with the names where a dotted path ends."""
    parents: list[str] = []
    for name in field.split("."):
        names = [inner.name for inner in kind] if pa.types.is_struct(kind) else []
        if names.count(name) != 1:
            break
        parents.append(name)
        kind = kind.field(name).type
    rest = field.split(".", len(parents))[-1]  # names may have dots
    for repeated in (name, rest):
        if names.count(repeated) > 1:
            return f"several fields have the name {'.'.join([*parents, repeated])!r}"
    near = get_close_matches(rest, names, n=1) or get_close_matches(name, names, n=1)
    meant = f"did you mean {'.'.join([*parents, near[0]])!r}? " if near else ""
    there = ", ".join(map(repr, names[:20])) or "nothing"
    return f"there is no field {field!r} ({meant}at this level there is {there})"


def _is_text(kind: pa.DataType) -> bool:
    views = (pa.string_view(), pa.binary_view()) if hasattr(pa, "string_view") else ()
    return kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.null(), *views)


def _values(batch: pa.RecordBatch, field: str, path: Path) -> pa.Array:
    """Returns a field's values, given by a dotted path; texts as ``large_string``."""
    at = _place_of(pa.struct(list(batch.schema)), field)
    assert at is not None  # the schema of the file was checked
    root, *inner = at
    values = batch.column(root)
    for index in inner:
        values = pc.struct_field(values, [index]) if pa.types.is_struct(values.type) else _items(values, index)
    try:
        values.validate(full=True)
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        return values.cast(pa.large_string()) if _is_text(values.type) else values
    except pa.ArrowInvalid as error:
        raise InvalidTextError(f"{path}: the field {field!r} is not UTF-8 ({error}); write the file again") from error


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _items(lists: pa.Array, index: int) -> pa.Array:
    """Returns an item of each list; null for shorter lists."""
    return pc.list_element(pc.list_slice(lists, index, index + 1, return_fixed_size_list=True), 0)


def _damaged(path: Path | str, error: Exception) -> CorpusError:
    return CorpusError(f"cannot read {path} as Parquet: {error}; it is damaged: fetch it again")
