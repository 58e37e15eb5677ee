"""Reader of plain text: two files, of which line i and line i are a pair; or one file with one side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from nmt_prep.corpora.reader import TEXT_OPTIONS, PairBatch, Reader, merged_faults
from nmt_prep.corpora.slices import line_count
from nmt_prep.errors import AlignmentError
from nmt_prep.lines.blocks import Block, Faults, Offsets, spans
from nmt_prep.sides import SIDES, Side


class PlainReader(Reader):
    """Reads one file per side. In a one-sided corpus, the other side of every pair is the placeholder."""

    parts: ClassVar[tuple[str, ...]] = ("source", "target")
    lines_apart: ClassVar[bool] = True
    options: ClassVar[frozenset[str]] = TEXT_OPTIONS

    def pairs(self) -> Iterator[PairBatch]:
        """Yields the pairs; blocks of the two sides are split to equal numbers of lines.

        Raises:
            AlignmentError: the files have different numbers of lines.
            CorpusError: a file is not text in the encoding of the corpus, or cannot be read.
        """
        if len(self.files) == 1:
            yield from self._one_side()
            return
        sources, targets = (self._batches(side) for side in SIDES)
        source, target = next(sources, None), next(targets, None)
        paired = 0
        while source is not None and target is not None:
            count = min(len(source.text), len(target.text))
            faults = merged_faults(source.faults_of(count), target.faults_of(count))
            places = None
            if source.places is not None and target.places is not None:
                places = np.concatenate([source.places[:count], target.places[:count]], axis=1)
            yield PairBatch(source.text[:count], target.text[:count], faults, places=places)
            paired += count
            source = source.after(count) or next(sources, None)
            target = target.after(count) or next(targets, None)
        more = [_count(source, sources), _count(target, targets)]
        if any(more):
            raise unaligned(self.files, {"source": paired + more[0], "target": paired + more[1]})

    def row_count(self) -> int:
        """Returns the number of lines of the smaller file."""
        lines = line_count(min(self.files.values(), key=lambda path: path.stat().st_size), self.corpus.encoding)
        return super().row_count() if lines is None else lines

    def lines(self, side: Side) -> Iterator[pa.Array]:
        """Yields the lines without fault of one file; does not read the other file."""
        if side in self.files:
            for batch in self._batches(side):
                yield PairBatch(batch.text, batch.text, batch.faults).sound().source

    def text_files(self, side: Side) -> Sequence[Path] | None:
        """Returns the file of a side, if it is in UTF-8."""
        if side not in self.files:
            return []
        return [self.files[side]] if self.corpus.encoding == "utf-8" else None

    def _one_side(self) -> Iterator[PairBatch]:
        [side] = self.files
        for batch in self._batches("source" if side == "source" else "target"):
            other = pa.array(np.full(len(batch.text), self.corpus.placeholder, object), pa.large_string())
            text = batch.text
            yield PairBatch(text, other, batch.faults) if side == "source" else PairBatch(other, text, batch.faults)

    def _batches(self, side: Side) -> Iterator[_Lines]:
        has_places = self.corpus.encoding == "utf-8"
        return (_Lines.of(block, has_places) for block in self.blocks(side))


class _Lines:
    """Consecutive lines of one side, their faults, and their places in the file if it is in UTF-8."""

    def __init__(self, text: pa.Array, faults: Faults | None, places: Offsets | None) -> None:
        self.text = text
        self.faults = faults
        self.places = places

    @classmethod
    def of(cls, block: Block, has_places: bool) -> _Lines:
        text = spans(block.data, block.starts, block.ends)
        return cls(text, block.faults, block.places() if has_places else None)

    def faults_of(self, count: int) -> Faults | None:
        return None if self.faults is None else self.faults[:count]

    def after(self, count: int) -> _Lines | None:
        """Returns the lines after the first ``count``; None if there are none."""
        if count == len(self.text):
            return None
        return _Lines(
            self.text[count:],
            None if self.faults is None else self.faults[count:],
            None if self.places is None else self.places[count:],
        )


def unaligned(files: Mapping[str, Path], lines: Mapping[str, int]) -> AlignmentError:
    """Returns the error for two files with different numbers of lines."""
    return AlignmentError(
        f"{files['source']} has {lines['source']} lines, but {files['target']} has {lines['target']}; line i of both "
        "makes a pair: check that the files belong together and are complete"
    )


def _count(first: _Lines | None, rest: Iterator[_Lines]) -> int:
    """Returns the number of remaining lines of a side."""
    return sum(len(lines.text) for lines in chain([first] if first is not None else [], rest))
