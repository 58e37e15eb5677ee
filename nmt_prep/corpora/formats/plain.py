"""Reader of plain text: two files, whose lines with the same number are a pair; or one file with one side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from nmt_prep.base.errors import AlignmentError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.corpora.blocks import spans
from nmt_prep.corpora.reader import TEXT_OPTIONS, PairBatch, Reader, merged_faults
from nmt_prep.corpora.slices import line_count


class PlainReader(Reader):
    """Reads one file per side. In a one-sided corpus, the other side of every pair is the placeholder."""

    parts: ClassVar[tuple[str, ...]] = ("source", "target")
    lines_apart: ClassVar[bool] = True
    options: ClassVar[frozenset[str]] = TEXT_OPTIONS

    def pairs(self) -> Iterator[PairBatch]:
        """Yields the pairs; blocks of the two sides are split to equal numbers of lines."""
        if len(self.files) == 1:
            yield from self._one_side()
            return
        sources, targets = (self._batches(side) for side in SIDES)
        source, target = next(sources, None), next(targets, None)
        paired = 0
        while source is not None and target is not None:
            count = min(len(source), len(target))
            yield _paired(source[:count], target[:count])
            paired += count
            source, target = source[count:] or next(sources, None), target[count:] or next(targets, None)
        more = [_count(source, sources), _count(target, targets)]
        if any(more):
            raise unaligned(self.files, {"source": paired + more[0], "target": paired + more[1]})

    def row_count(self) -> int:
        """Returns the number of lines of the smaller file."""
        side, path = min(self.files.items(), key=lambda file: file[1].stat().st_size)
        lines = line_count(path, self.corpus.encoding_of(side))
        return super().row_count() if lines is None else lines

    def lines(self, side: Side) -> Iterator[pa.Array]:
        """Yields the lines without fault of one file; does not read the other file."""
        if side in self.files:
            for batch in self._batches(side):
                yield batch.sound().source

    def text_files(self, side: Side) -> Sequence[Path] | None:
        """Returns the file of a side, if it is in UTF-8."""
        if side not in self.files:
            return []
        return [self.files[side]] if self.corpus.encoding_of(side) == "utf-8" else None

    def _one_side(self) -> Iterator[PairBatch]:
        [side] = self.files
        for batch in self._batches("source" if side == "source" else "target"):
            other = pa.array(np.full(len(batch), self.corpus.placeholder, object), pa.large_string())
            sides = (batch.source, other) if side == "source" else (other, batch.source)
            yield PairBatch(*sides, batch.faults)

    def _batches(self, side: Side) -> Iterator[PairBatch]:
        """Yields the lines of a side as both sides of pairs, with the places of one side."""
        has_places = self.corpus.encoding_of(side) == "utf-8"
        for block in self.blocks(side):
            text = spans(block.data, block.starts, block.ends)
            yield PairBatch(text, text, block.faults, places=block.places() if has_places else None)


def _paired(source: PairBatch, target: PairBatch) -> PairBatch:
    """Returns pairs of the lines of both sides."""
    places = None
    if source.places is not None and target.places is not None:
        places = np.concatenate([source.places, target.places], axis=1)
    return PairBatch(source.source, target.source, merged_faults(source.faults, target.faults), places=places)


def unaligned(files: Mapping[str, Path], lines: Mapping[str, int]) -> AlignmentError:
    """Returns the error for two files with different numbers of lines."""
    return AlignmentError(
        f"{files['source']} has {lines['source']} lines, but {files['target']} has {lines['target']}; line i of both "
        "makes a pair: check that the files belong together and are complete"
    )


def _count(first: PairBatch | None, rest: Iterator[PairBatch]) -> int:
    """Returns the number of remaining lines of a side."""
    return sum(map(len, chain([first or ()], rest)))
