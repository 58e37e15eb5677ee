"""The rows of a corpus: which of them are in the compiled or cleaned parts, and where they are in the files.

Parts have a column with the row of each pair if the config cleans or the corpus has scores. For others, the corpus is
read again as far as needed, and pairs are dropped as compile does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nmt_prep.config import Config, Corpus
from nmt_prep.corpora import PairBatch, format_of, iter_pairs, open_corpus, reader_of
from nmt_prep.corpora.parts import PairFile
from nmt_prep.corpora.reader import numbered
from nmt_prep.corpora.slices import whole_lines
from nmt_prep.errors import ArgumentError, OutputError
from nmt_prep.pipeline.stage import Outputs
from nmt_prep.stages.clean import REJECTED, Clean
from nmt_prep.stages.compile import corpus_files, file_steps
from nmt_prep.stages.compile_slices import whole_steps
from nmt_prep.stages.compile_tasks import drop_reason, kept_rows


@dataclass(frozen=True)
class FilePlace:
    """A place in a file of a corpus.

    Attributes:
        part: the sides that the file holds: ``source``, ``target`` or ``both``.
        file: the file, as the config names it.
        unit: ``line``, or ``pair`` for formats whose pairs are not lines.
        number: number of that line or pair in the file, from 1.
    """

    part: str
    file: str
    unit: Literal["line", "pair"]
    number: int

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.number:,}"


def corpus_of(config: Config, split: str, name: str) -> tuple[int, Corpus]:
    """Returns a corpus of a split and its number in the split.

    Raises:
        ArgumentError: there is no such split or corpus.
    """
    if split not in config.splits:
        raise ArgumentError(f"there is no split {split!r}; the splits are {', '.join(config.splits)}")
    for index, corpus in enumerate(config.splits[split]):
        if corpus.name == name:
            return index, corpus
    known = ", ".join(corpus.name for corpus in config.splits[split])
    raise ArgumentError(f"there is no corpus {name!r} in {split}; its corpora are {known}")


class CorpusRows:
    """The rows of a corpus."""

    def __init__(self, outputs: Outputs, split: str, name: str) -> None:
        """Finds the corpus; reads no file.

        Raises:
            ArgumentError: there is no such split or corpus.
        """
        index, self._corpus = corpus_of(outputs.config, split, name)
        self._outputs = outputs
        self._split = split
        self._source = corpus_files(outputs, split, index, self._corpus)
        self._steps = whole_steps(self._source.files[0], file_steps(outputs, split, self._corpus))

    def row_of(self, number: int) -> int:
        """Returns the row of the n-th compiled pair, counted from 0, of a corpus whose parts have no rows.

        Raises:
            CorpusError: the corpus cannot be read.
            OutputError: the corpus has fewer pairs than compile found.
        """
        before = 0
        for batch in self._batches():
            rows = kept_rows(batch)
            if number < before + len(rows):
                return int(rows[number - before])
            before += len(rows)
        raise OutputError(f"{self._source.where} has fewer pairs than were compiled; run again")

    def number_of(self, row: int) -> int:
        """Returns the number of a row among the compiled pairs of the corpus, counted from 0.

        Raises:
            ArgumentError: there is no such row, or compile dropped it; the message says why.
            CorpusError: the corpus cannot be read.
        """
        before = end = 0
        for batch in self._batches():
            assert batch.rows is not None
            end = int(batch.rows[-1]) + 1 if len(batch) else end
            rows = kept_rows(batch)
            if row < end:
                place = int(np.searchsorted(rows, row))
                if place < len(rows) and rows[place] == row:
                    return before + place
                raise ArgumentError(
                    f"row {row} of {self._corpus.name} was dropped by compile: {drop_reason(batch, row)}"
                )
            before += len(rows)
        raise ArgumentError(f"there is no row {row} in {self._corpus.name}; its rows are 0 to {end - 1}")

    def find(self, parts: list[PairFile], row: int) -> tuple[int, int]:
        """Returns where a row is: the number of its part, and its number in that part.

        Args:
            parts: the parts of its split that hold the text that goes into the records.
            row: number of the row, from 0.

        Raises:
            ArgumentError: there is no such row, or it was dropped; the message says why.
            CorpusError: a part, or the corpus, cannot be read.
        """
        own = [number for number, part in enumerate(parts) if part.corpus == self._corpus.name]
        for number in own:
            before = 0
            for batch in iter_pairs(parts[number].path):
                if "row" not in batch.schema.names:
                    return self._counted(parts, own, self.number_of(row))
                places = np.flatnonzero(batch.column("row").to_numpy() == row)
                if len(places):
                    return number, before + int(places[0])
                before += len(batch)
        self.number_of(row)  # raises an error if it was not compiled
        raise ArgumentError(f"row {row} of {self._corpus.name} was dropped by clean: {self._rejection(row)}")

    def files_of(self, row: int) -> list[FilePlace]:
        """Returns where a row is in the files of the corpus; empty if there is no such row.

        Raises:
            CorpusError: a file cannot be read.
        """
        reader = reader_of(format_of(self._corpus))
        unit: Literal["line", "pair"] = "line" if reader.lines_apart and not reader.quote else "pair"
        for files in self._source.files:
            if len(self._source.files) > 1:
                rows = open_corpus(self._corpus, [files], self._outputs.config.languages).row_count()
                if row >= rows:
                    row -= rows
                    continue
            header = reader.header_lines(self._corpus) if unit == "line" else 0
            return [FilePlace(part, self._source.names[path], unit, row + header + 1) for part, path in files.items()]
        return []

    def _counted(self, parts: list[PairFile], own: list[int], number: int) -> tuple[int, int]:
        """Returns the part of the n-th pair of the corpus, and its number there."""
        for place in own:
            if number < parts[place].pairs:
                return place, number
            number -= parts[place].pairs
        raise OutputError(f"{self._source.where} has more pairs than were compiled; run again")

    def _batches(self) -> Iterator[PairBatch]:
        lines = whole_lines(self._steps) if self._steps else None
        reader = open_corpus(self._corpus, self._source.files, self._outputs.config.languages, lines)
        return numbered(reader.pairs(), 0)

    def _rejection(self, row: int) -> str:
        """Returns why cleaning dropped a row, as far as the rejected pairs tell."""
        manifest = self._outputs.manifest(Clean)
        for file in manifest.files_in(REJECTED):
            if file.partition("/")[0] != self._split:
                continue
            for batch in iter_pairs(self._outputs.root / REJECTED / file):
                rows = batch.column("row").to_numpy()
                for place in np.flatnonzero(rows == row).tolist():
                    (found,) = batch.slice(place, 1).to_pylist()
                    if found["corpus"] == self._corpus.name:
                        return _reason(found)
        return "its rule is not recorded (clean.rejects: all would record those of all pairs)"


def _reason(rejected: dict[str, object]) -> str:
    if rejected["kept_corpus"] is not None:
        return f"{rejected['rule']}; row {rejected['kept_row']} of {rejected['kept_corpus']} was kept instead"
    if rejected["value"] is None:
        return str(rejected["rule"])
    return f"{rejected['rule']}, value {rejected['value']:.4g}, threshold {rejected['threshold']:.4g}"
