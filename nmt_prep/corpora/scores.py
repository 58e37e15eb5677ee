"""Scores that come with a corpus: numbers as text, and files with a number on each line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.corpora.reader import PairBatch
from nmt_prep.corpora.slices import LineStart
from nmt_prep.errors import AlignmentError, CorpusError
from nmt_prep.lines.blocks import Block, TextPolicy, iter_blocks, spans
from nmt_prep.lines.chunks import LineSlice

_POLICY = TextPolicy(crlf="strip", max_line_bytes=1000, mark="strip")
_WHITE_SPACE = " \t\r"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)


def score_of(value: object, name: str, where: str) -> float | None:
    """Returns a score as a number; None for None and for text of white space only.

    Args:
        value: a text, a number, or None.
        name: name of the score.
        where: file and line, for messages.

    Raises:
        CorpusError: the value is not a number.
    """
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
            "score, or name the right place of the scores"
        )
    return number


def score_column(values: pa.Array, name: str, where: Callable[[int], str]) -> pa.Array:
    """Returns scores as numbers: ``float64``, null for null and for text of white space only.

    Args:
        values: an Arrow array of strings or numbers.
        name: name of the score.
        where: returns file and line of a value by its index, for messages.

    Raises:
        CorpusError: a value is not a number.
    """
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return _without_nan(values.cast(pa.float64(), safe=False), name, where)
    texts = pc.utf8_trim(values, characters=_WHITE_SPACE)
    texts = pc.if_else(pc.equal(pc.binary_length(texts), 0), pa.scalar(None, texts.type), texts)
    try:
        return _without_nan(texts.cast(pa.float64()), name, where)
    except pa.ArrowInvalid:  # Arrow does not say which value, and refuses some that Python takes
        numbers = [score_of(text, name, where(index)) for index, text in enumerate(texts.to_pylist())]
        return pa.array(numbers, pa.float64())


def _without_nan(numbers: pa.Array, name: str, where: Callable[[int], str]) -> pa.Array:
    """Returns the numbers.

    Raises:
        CorpusError: a number is NaN.
    """
    is_nan = pc.fill_null(pc.is_nan(numbers), fill_value=False)
    if is_nan.true_count:
        score_of(math.nan, name, where(pc.index(is_nan, value=True).as_py()))
    return numbers


class ScoreLines:
    """Reads the numbers of a file, one on each line, for a corpus or a slice of it.

    Attributes:
        name: name of the score.
        path: the file.
        line: number of the next line, counted from 0.
    """

    def __init__(self, name: str, path: Path, start: LineStart | None = None) -> None:
        """Stores the arguments; opens no file.

        Args:
            name: name of the score.
            path: the file, in UTF-8.
            start: the first line to read; None for the first line of the file.
        """
        self.name = name
        self.path = path
        self.line = start.line if start is not None else 0
        self._blocks = self._read(start)
        self._ahead = pa.array([], pa.float64())

    def take(self, count: int) -> pa.Array:
        """Returns the next numbers as ``float64``, null for empty lines; fewer than ``count`` if the file ends.

        Raises:
            CorpusError: a line is not a number, or the file cannot be read.
        """
        held, size = [self._ahead], len(self._ahead)
        while size < count and (numbers := next(self._blocks, None)) is not None:
            held.append(numbers)
            size += len(numbers)
        joined = pa.concat_arrays(held)
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
            yield self._numbers(block)

    def _numbers(self, block: Block) -> pa.Array:
        def where(index: int) -> str:
            return f"{self.path}:{block.first_line + index}"

        if block.faults is not None:
            raise CorpusError(
                f"{where(int(np.argmax(block.faults)))}: scores.{self.name}: a line of more than "
                f"{_POLICY.max_line_bytes} bytes is not a number; correct scores in the config"
            )
        return score_column(spans(block.data, block.starts, block.ends), self.name, where)


def with_scores(batches: Iterator[PairBatch], files: Sequence[ScoreLines], *, last: bool) -> Iterator[PairBatch]:
    """Yields batches with the scores of files, of which line i is the score of row i.

    Args:
        batches: the pairs of all rows, as a reader yields them.
        files: the files, at the line of the first row.
        last: True if the files must end where the batches end.

    Raises:
        AlignmentError: a file has too few lines, or too many.
        CorpusError: a line is not a number, or a file cannot be read.
    """
    row = files[0].line if files else 0
    for batch in batches:
        row += len(batch)
        scores = {file.name: file.take(len(batch)) for file in files}
        for file in files:
            if file.line < row:
                rows = row + sum(map(len, batches))
                raise unequal_lines(file.name, file.path, file.line, rows)
        yield replace(batch, scores={**batch.scores, **scores})
    for file in files:
        if last and (more := file.rest()):
            raise unequal_lines(file.name, file.path, row + more, row)


def unequal_lines(name: str, path: Path, lines: int, rows: int | str) -> AlignmentError:
    """Returns the error for a file of scores that has more or fewer lines than the corpus has rows."""
    return AlignmentError(
        f"scores.{name}: {path} has {lines} lines, but the corpus has {rows} rows; line i must be the score of row i: "
        "check that the file belongs to the corpus and is complete"
    )
