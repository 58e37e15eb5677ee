"""Columns that come with a corpus, scores and documents: values as text, and files with a value on each line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.errors import AlignmentError, CorpusError
from nmt_prep.corpora.reader import DOCUMENT, PairBatch, Value, column_type
from nmt_prep.corpora.slices import LineStart
from nmt_prep.text.blocks import Block, TextPolicy, iter_blocks, spans
from nmt_prep.text.chunks import LineSlice

_POLICY = TextPolicy(crlf="strip", max_line_bytes=1 << 16, mark="strip")
_LONGEST_NAME = 1000
_WHITE_SPACE = " \t\r"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)


def value_of(value: object, key: str, where: str) -> Value:
    """Returns the score or document name in a text or number, or None if the value is None or white space."""
    if key != DOCUMENT:
        return score_of(value, key.removeprefix("scores."), where)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _no_document(value, where)
    text = (
        re.sub(r"[\t\n]", " ", str(value)).strip(_WHITE_SPACE) if isinstance(value, str) or abs(value) < 1 << 64 else ""
    )
    if len(text) > _LONGEST_NAME or (isinstance(value, int) and not text):
        raise _no_document(value, where)
    return text or None


def column_of(values: pa.Array, key: str, where: Callable[[int], str]) -> pa.Array:
    """Returns a batch's column, with the type that :func:`~nmt_prep.corpora.reader.column_type` gives."""
    column = _documents_of(values) if key == DOCUMENT else _scores_of(values)
    if column is None:  # Arrow does not say which value is wrong, and refuses some numbers that Python takes
        named = [value_of(value, key, where(index)) for index, value in enumerate(values.to_pylist())]
        column = pa.array(named, column_type(key))
    return column


def _documents_of(values: pa.Array) -> pa.Array | None:
    """Returns the names of documents; None if one is too long."""
    names = pc.replace_substring_regex(values.cast(pa.string()), r"[\t\n]", " ")
    names = pc.utf8_trim(names, characters=_WHITE_SPACE)
    if (pc.max(pc.utf8_length(names)).as_py() or 0) > _LONGEST_NAME:
        return None
    return pc.if_else(pc.equal(names, ""), pa.scalar(None, names.type), names).dictionary_encode()


def _scores_of(values: pa.Array) -> pa.Array | None:
    """Returns scores as numbers; None if Arrow finds one that is not a number."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        texts = pc.utf8_trim(values, characters=_WHITE_SPACE)
        values = pc.if_else(pc.equal(pc.binary_length(texts), 0), pa.scalar(None, texts.type), texts)
    try:
        numbers = values.cast(pa.float64(), safe=False)
    except pa.ArrowInvalid:
        return None
    return None if pc.is_nan(numbers).true_count else numbers


def _no_document(value: object, where: str) -> CorpusError:
    shown = repr(value) if len(repr(value)) <= 80 else f"{repr(value)[:80]}…"
    return CorpusError(
        f"{where}: document: found {shown}; the name of a document is a text or an integer, of at most {_LONGEST_NAME} "
        "characters: fix it, or correct the column or field of the documents"
    )


class RowPlace(NamedTuple):
    """Where the values of consecutive rows are, for messages."""

    path: Path  # the file
    unit: Literal["line", "row"]  # `line`, or `row` in files whose rows are not lines
    first: int  # number of the first row

    def at(self, row: int) -> str:
        """Returns the place of a row, given its number after the first one."""
        return f"{self.path}, {self.unit} {self.first + row}"


def in_order(batches: Iterator[PairBatch], place: RowPlace) -> Iterator[PairBatch]:
    """Yields batches, and checks that documents with numbers as names come in ascending order."""
    last, row = -1, 0
    for batch in batches:
        if (documents := batch.columns.get(DOCUMENT)) is not None and len(documents):
            starts = document_starts(documents)
            for start, name in zip(starts.tolist(), documents.take(pa.array(starts)).to_pylist(), strict=True):
                if name is None or not (name.isascii() and name.isdecimal()):
                    continue
                if int(name) < last:
                    raise CorpusError(
                        f"{place.at(row + start)}: document: {name} comes after {last}, but the rows of a document "
                        "must be consecutive, and document numbers must ascend; sort the rows, or name the right place "
                        "of the documents"
                    )
                last = int(name)
        yield batch
        row += len(batch)


def checked_weights(batches: Iterator[PairBatch], key: str, place: RowPlace) -> Iterator[PairBatch]:
    """Yields batches, and checks that their scores can be the weights of pairs."""
    row = 0
    for batch in batches:
        scores = batch.columns[key].to_numpy(zero_copy_only=False)
        wrong = no_weights(scores)
        if len(wrong):
            raise CorpusError(
                f"{place.at(row + int(wrong[0]))}: {key}: found {scores[wrong[0]]:g}, which cannot be a weight "
                "(weight.from): weights are finite numbers of at least 0; fix it, or name another score"
            )
        yield batch
        row += len(batch)


def no_weights(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Returns the indexes of scores that cannot be weights (negative, or not finite in float32): int64."""
    with np.errstate(over="ignore"):
        return np.flatnonzero((scores < 0) | np.isinf(scores.astype(np.float32)))


def document_starts(documents: pa.DictionaryArray) -> npt.NDArray[np.int64]:
    """Returns the first pair of each run of pairs with the same document, or without document: int64, ascending."""
    codes = documents.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.flatnonzero(np.diff(codes, prepend=-2))


def score_of(value: object, name: str, where: str) -> float | None:
    """Returns the score in a text or number, or None if the value is None or white space."""
    if value is None:
        return None
    number = math.nan
    if isinstance(value, str):
        text = value.strip(_WHITE_SPACE)
        if not text:
            return None
        if _NUMBER.fullmatch(text):
            number = float(text)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # JSON has integers of any size
            number = math.inf if value > 0 else -math.inf
    if math.isnan(number):
        shown = repr(value) if len(repr(value)) <= 80 else f"{repr(value)[:80]}…"
        raise CorpusError(
            f"{where}: scores.{name}: found {shown}, which is not a number; fix it, leave it empty for a pair without "
            "score, or correct the column or field of the scores"
        )
    return number


class ColumnLines:
    """Reads a file's values, one on each line, for a corpus or a slice of it."""

    def __init__(self, key: str, path: Path, start: LineStart | None = None) -> None:
        """Reads from ``start`` on; None for the first line of the file."""
        self.key = key  # key of the column in the config
        self.path = path  # the file
        self.line = start.line if start is not None else 0  # number of the next line, counted from 0
        self._blocks = self._read(start)
        self._ahead = pa.array([], column_type(key))

    def take(self, count: int) -> pa.Array:
        """Returns the next values, null for empty lines; fewer than ``count`` if the file ends."""
        held, size = [self._ahead], len(self._ahead)
        while size < count and (values := next(self._blocks, None)) is not None:
            held.append(values)
            size += len(values)
        joined = joined_column(held)
        self._ahead = joined[count:]
        taken = joined[:count]
        self.line += len(taken)
        return taken

    def rest(self) -> int:
        """Returns the number of lines that were not taken."""
        return len(self._ahead) + sum(map(len, self._blocks))

    def _read(self, start: LineStart | None) -> Iterator[pa.Array]:
        lines = None
        if start is not None and start.line:
            lines = LineSlice(start.find(self.path), self.path.stat().st_size, start.line + 1)
        for block in iter_blocks(self.path, _POLICY, lines=lines):
            yield self._values(block)

    def _values(self, block: Block) -> pa.Array:
        def where(index: int) -> str:
            return f"{self.path}:{block.first_line + index}"

        if block.faults is not None:
            raise CorpusError(
                f"{where(int(np.argmax(block.faults)))}: {self.key}: a line has more than "
                f"{_POLICY.max_line_bytes} bytes; correct {self.key} in the config"
            )
        lines = spans(block.data, block.starts, block.ends)
        if self.key == DOCUMENT:  # OPUS's .ids: both documents, then segment numbers
            lines = pc.replace_substring_regex(lines, r"^([^\t]*)\t([^\t]*).*$", r"\1 \2")
        return column_of(lines, self.key, where)


def joined_column(arrays: Sequence[pa.Array]) -> pa.Array:
    """Returns a column's arrays as one; a dictionary has only the names that occur, in the order of the arrays."""
    joined = pa.concat_arrays(pa.chunked_array(arrays).unify_dictionaries().chunks)
    if not pa.types.is_dictionary(joined.type):
        return joined
    codes = joined.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    used = np.unique(codes[codes >= 0])
    indices = pa.array(np.searchsorted(used, codes).astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, joined.dictionary.take(pa.array(used)))


def with_columns(batches: Iterator[PairBatch], files: Sequence[ColumnLines], *, last: bool) -> Iterator[PairBatch]:
    """Yields batches with the columns from files, which end where the ``last`` batches end; line i belongs to row i."""
    row = files[0].line if files else 0
    for batch in batches:
        row += len(batch)
        columns = {file.key: file.take(len(batch)) for file in files}
        for file in files:
            if file.line < row:
                rows = row + sum(map(len, batches))
                raise unequal_lines(file.key, file.path, file.line, rows)
        yield replace(batch, columns={**batch.columns, **columns})
    for file in files:
        if last and (more := file.rest()):
            raise unequal_lines(file.key, file.path, row + more, row)


def unequal_lines(key: str, path: Path, lines: int, rows: int | str) -> AlignmentError:
    """Returns the error for a file with a column that has more or fewer lines than the corpus has rows."""
    return AlignmentError(
        f"{key}: {path} has {lines} lines, but the corpus has {rows} rows; line i must be the value of row i: "
        "check that the file belongs to the corpus and is complete"
    )
