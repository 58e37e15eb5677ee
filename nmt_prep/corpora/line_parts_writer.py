"""Writes compiled parts without text, for files that are read in their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from nmt_prep.corpora import parts
from nmt_prep.corpora.line_parts import SUFFIX, LineGroup, LinePart, TextFile
from nmt_prep.corpora.parts import PairFile
from nmt_prep.corpora.reader import PairBatch
from nmt_prep.sides import Side

LARGEST_GROUP = 16 << 20
"""Most bytes of the lines of a row group in a file, lines that are no pairs included; a single pair may have more."""


def write_line_parts(
    batches: Iterable[PairBatch],
    corpus: str,
    directory: Path,
    prefix: str,
    files: Mapping[Side, TextFile],
    *,
    has_rows: bool,
    strip_returns: bool,
) -> list[PairFile]:
    """Writes ``<directory>/<prefix>-<number, 5 digits>.json``, with the row groups and parts of ``write_parts``.

    A row group also ends where lines that are no pairs would make it larger than 16 MiB in a file.

    Args:
        batches: pairs with their rows and places.
        corpus: name of the corpus.
        directory: directory of the parts.
        prefix: start of the names of the parts.
        files: the files of both sides.
        has_rows: true if the parts have a column ``row``.
        strip_returns: true if a carriage return before a newline is not part of a line.

    Raises:
        CorpusError: a line has 2 GiB or more.
        OutputError: a part cannot be written.
    """
    written: list[PairFile] = []
    groups: list[LineGroup] = []
    size = 0

    def publish() -> None:
        name = f"{prefix}-{len(written):05d}{SUFFIX}"
        part = LinePart.of(corpus, files, groups, has_rows=has_rows, strip_returns=strip_returns)
        pairs, digest = sum(group.pairs for group in groups), part.save(directory / name)
        written.append(PairFile(name, pairs, corpus, size, sha256=digest))

    for group, text_bytes in _groups(batches, corpus):
        groups.append(group)
        size += text_bytes
        if size >= parts.PART_BYTES:
            publish()
            groups, size = [], 0
    if groups:
        publish()
    return written


def _groups(batches: Iterable[PairBatch], corpus: str) -> Iterator[tuple[LineGroup, int]]:
    """Yields row groups and the UTF-8 bytes of both sides in them."""
    held = _Group(corpus)
    for batch in batches:
        assert batch.rows is not None
        assert batch.places is not None
        sizes = np.stack([_sizes(batch, "source"), _sizes(batch, "target")])
        ends = np.cumsum(sizes.sum(axis=0))
        first = taken = 0
        while first < len(batch):
            last = int(np.searchsorted(ends, taken + parts.ROW_GROUP_BYTES - held.size))
            here = slice(first, min(last + 1, len(batch)))
            fitting = held.fitting(batch.places[here])
            here = slice(first, first + fitting)
            held.add(batch.rows[here], batch.places[here], sizes[:, here])
            first += fitting
            if here.stop == last + 1 or first < len(batch):
                yield held.closed()
                held = _Group(corpus)
                taken = int(ends[first - 1]) if first else 0
    if held.pairs:
        yield held.closed()


class _Group:
    """A row group to which pairs are added."""

    def __init__(self, corpus: str) -> None:
        self.pairs = 0
        self.size = 0
        self._corpus = corpus
        self._sides = np.zeros(2, np.int64)  # bytes of each side
        self._row = self._next_row = 0
        self._begin = self._end = np.zeros(2, np.int64)
        self._left_out: list[int] = []

    def fitting(self, places: npt.NDArray[np.int64]) -> int:
        """Returns the number of pairs that can be added before the group becomes too large in a file.

        An empty group takes at least one pair.
        """
        begin = self._begin if self.pairs else places[0, [0, 2]]
        too_far = ((places[:, [1, 3]] - begin) > LARGEST_GROUP).any(axis=1)
        fitting = int(np.argmax(too_far)) if too_far.any() else len(places)
        return fitting or int(not self.pairs)

    def add(self, rows: npt.NDArray[np.int64], places: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> None:
        """Adds consecutive pairs.

        Args:
            rows: row of each pair, shape ``[pairs]``.
            places: as in :class:`~nmt_prep.corpora.reader.PairBatch`.
            sizes: UTF-8 bytes of each line, shape ``[2, pairs]``.

        Raises:
            CorpusError: the group has a line of 2 GiB or more.
        """
        if not len(rows):
            return
        if not self.pairs:
            self._row = self._next_row = int(rows[0])
            self._begin = places[0, [0, 2]]
        before = np.concatenate([[self._next_row - 1], rows[:-1]])
        for place in np.flatnonzero(rows - before > 1).tolist():
            first = int(before[place]) + 1
            self._left_out += [first - self._row, int(rows[place]) - first]
        self._next_row = int(rows[-1]) + 1
        self._end = places[-1, [1, 3]]
        self._sides = self._sides + sizes.sum(axis=1)
        if self._sides.max() > parts.LARGEST_COLUMN:
            raise parts.too_long(self._corpus)
        self.pairs += len(rows)
        self.size = int(self._sides.sum())

    def closed(self) -> tuple[LineGroup, int]:
        """Returns the group, and the UTF-8 bytes of both sides in it."""
        source, target = ((int(begin), int(end)) for begin, end in zip(self._begin, self._end, strict=True))
        return LineGroup(self.pairs, self._row, source, target, tuple(self._left_out)), self.size


def _sizes(batch: PairBatch, side: Side) -> npt.NDArray[np.int64]:
    """Returns the UTF-8 bytes of each line of a side: int64, shape ``[pairs]``."""
    return np.asarray(pc.binary_length(batch.side(side)).to_numpy(zero_copy_only=False), np.int64)
