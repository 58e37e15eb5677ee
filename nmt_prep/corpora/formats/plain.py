"""Reader of plain text: two files, whose lines with the same number are a pair; or one file with one side."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import split_lines

from nmt_prep.base.artefacts import as_json, parse_json, parse_json_as, write_bytes
from nmt_prep.base.digests import CheckedFile, StepRange
from nmt_prep.base.errors import AlignmentError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.corpora.reader import TEXT_OPTIONS, PairBatch, Reader, merged_faults, no_text
from nmt_prep.corpora.slices import line_count
from nmt_prep.text.blocks import spans
from nmt_prep.text.chunks import checked


class PlainReader(Reader):
    """Reads one file per side. In a one-sided corpus, the other side of every pair is empty."""

    parts: ClassVar[tuple[str, ...]] = ("source", "target")
    lines_apart: ClassVar[bool] = True
    options: ClassVar[frozenset[str]] = TEXT_OPTIONS

    def pairs(self) -> Iterator[PairBatch]:
        """Yields the pairs; splits blocks on the two sides to equal line counts."""
        if len(self.files) == 1:
            yield from self._one_side()
            return
        # The blocks of two files end at different lines. The longer one is cut where the shorter one ends, and its rest
        # is paired with the other side's next block.
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
        """Returns the smaller file's line count."""
        side, path = min(self.files.items(), key=lambda file: file[1].stat().st_size)
        lines = line_count(path, self.corpus.encoding_of(side))
        return super().row_count() if lines is None else lines

    def lines(self, side: Side) -> Iterator[pa.Array]:
        """Yields the lines without fault of one file; does not read the other file."""
        if side in self.files:
            for batch in self._batches(side):
                yield batch.sound().source

    def text_files(self, side: Side) -> Sequence[Path] | None:
        """Returns a side's file, if it is in UTF-8."""
        if side not in self.files:
            return []
        return [self.files[side]] if self.corpus.encoding_of(side) == "utf-8" else None

    def _one_side(self) -> Iterator[PairBatch]:
        [side] = self.files
        for batch in self._batches("source" if side == "source" else "target"):
            other = no_text(len(batch))
            sides = (batch.source, other) if side == "source" else (other, batch.source)
            places = None if batch.places is None else np.tile(batch.places, 2)
            yield PairBatch(*sides, batch.faults, places=places)

    def _batches(self, side: Side) -> Iterator[PairBatch]:
        """Yields one side's lines as both sides of pairs, with the places of that side."""
        has_places = self.corpus.encoding_of(side) == "utf-8"
        for block in self.blocks(side):
            text = spans(block.data, block.starts, block.ends)
            yield PairBatch(text, text, block.faults, places=block.places() if has_places else None)


def _paired(source: PairBatch, target: PairBatch) -> PairBatch:
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
    return sum(map(len, chain([first or ()], rest)))


SUFFIX = ".json"

_FORMAT = 1


# Compiled parts without text: they name the lines of files that are read in place.
#
# Such a part is a JSON file. For each row group it has the byte ranges in the files of the two sides, and the lines
# in them that are not pairs. For each side it has hashes of the steps (stretches of equal size) of the file, against
# which readers check the bytes. Links beside the parts point to the files, so that the bytes of a part do not depend on
# where the files are.


@dataclass(frozen=True)
class LineGroup:
    """A row group."""

    pairs: int
    row: int  # the row of the first line: its position in the corpus before any pair was dropped
    source: tuple[int, int]  # the byte range of the source file, in whole lines
    target: tuple[int, int]  # the byte range of the target file
    # for each run of lines that are not pairs, the first line (counted from 0 in the group) and the number of lines,
    # one run after the other
    left_out: tuple[int, ...] = ()

    def rows(self) -> npt.NDArray[np.int64]:
        """Returns the rows of the pairs: int64, shape ``[pairs]``."""
        return np.flatnonzero(without(self.left_out, self.pairs)).astype(np.int64, copy=False) + self.row


def without(left_out: Sequence[int], pairs: int) -> npt.NDArray[np.bool_]:
    """Returns False for the members of runs, given as in :class:`LineGroup`, and True for ``pairs`` others."""
    kept = np.ones(pairs + sum(left_out[1::2]), np.bool_)
    for first, count in zip(left_out[::2], left_out[1::2], strict=True):
        kept[first : first + count] = False
    return kept


def runs_without(kept: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """Returns the runs of False, as in :class:`LineGroup`."""
    edges = np.flatnonzero(np.diff(kept, prepend=True, append=True))
    return tuple(np.stack([edges[::2], edges[1::2] - edges[::2]], axis=1).ravel().tolist())


@dataclass(frozen=True)
class TextFile:
    """The file with a side's lines."""

    file: str  # path relative to the directory of the part
    steps: StepRange  # the steps that contain the lines


def save_part(part: object, path: Path) -> str:
    """Writes a part's content as JSON; returns its SHA-256."""
    content = json.dumps(as_json(part), ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    write_bytes(path, content)
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class LinePart:
    """A part's content."""

    format: int  # version of the format
    corpus: str
    has_rows: bool  # true if the part has a column `row`
    strip_returns: bool  # true if a carriage return before a newline is not part of a line
    source: TextFile | None
    target: TextFile | None
    groups: tuple[LineGroup, ...]

    @classmethod
    def of(
        cls,
        corpus: str,
        files: Mapping[Side, TextFile],
        groups: Sequence[LineGroup],
        *,
        has_rows: bool,
        strip_returns: bool,
    ) -> Self:
        """Makes a part from row groups; the steps of ``files`` contain at least these groups."""
        # A part keeps the hashes of its own stretch only, so that its size, and the reads that check it, do not grow
        # with the file.
        used = {
            side: TextFile(file.file, file.steps.containing(getattr(groups[0], side)[0], getattr(groups[-1], side)[1]))
            for side, file in files.items()
        }
        return cls(_FORMAT, corpus, has_rows, strip_returns, used.get("source"), used.get("target"), tuple(groups))

    @classmethod
    def load(cls, path: Path) -> Self:
        part = parse_json_as(cls, parse_json(path.read_bytes()))
        if part.format != _FORMAT:
            raise ValueError(f"it has format {part.format}, and this version of nmt_prep reads {_FORMAT}")
        return part

    def read(
        self, path: Path, numbers: Iterable[int] | None, sides: Sequence[Side]
    ) -> Iterator[tuple[LineGroup, dict[Side, pa.Array]]]:
        """Yields row groups with the text of their sides, Arrow ``string`` arrays.

        Args:
            numbers: numbers of the row groups, in the order to read them; None for all.
        """
        named = {side: getattr(self, side) for side in sides if getattr(self, side) is not None}
        links = {side: path.parent / file.file for side, file in named.items()}
        files = {
            side: CheckedFile(link.readlink() if link.is_symlink() else link, named[side].steps)
            for side, link in links.items()
        }
        for number in range(len(self.groups)) if numbers is None else numbers:
            group = self.groups[number]
            left_out = np.array(group.left_out, np.int64)
            text = {side: no_text(group.pairs).cast(pa.string()) for side in sides if side not in files}
            for side, file in files.items():
                block = checked(file, *getattr(group, side))
                data, offsets = split_lines(block, group.pairs, left_out, self.strip_returns)
                buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
                text[side] = pa.Array.from_buffers(pa.string(), group.pairs, buffers)
            yield group, text


LARGEST_GROUP = 16 << 20
"""Maximum byte count per row group in a file, including lines that are not pairs; a single pair may have more."""


def groups_of(held: list[PairBatch]) -> Iterator[tuple[LineGroup, int]]:
    """Yields a row group without its text, and its size in UTF-8 bytes on both sides.

    A group is divided if it has more than :data:`LARGEST_GROUP` bytes of a file, including lines that are not pairs.
    """
    rows = np.concatenate([pairs.rows for pairs in held if pairs.rows is not None])
    places = np.concatenate([pairs.places for pairs in held if pairs.places is not None])
    sizes = np.concatenate([pairs.sizes() for pairs in held])
    # A reader gets a group as one range of bytes per file, so the lines between its pairs count too: if few pairs are
    # kept, 4 MiB of their text can be spread over gigabytes. A group ends before the pair that would exceed the limit.
    # Gaps in the rows are the lines to leave out, as runs.
    first = 0
    while first < len(rows):
        begin = places[first, [0, 2]]
        too_far = np.flatnonzero((places[first + 1 :, [1, 3]] - begin > LARGEST_GROUP).any(axis=1))
        last = first + 1 + int(too_far[0]) if len(too_far) else len(rows)
        here, end = rows[first:last], places[last - 1, [1, 3]]
        gaps = np.diff(here)
        before = np.flatnonzero(gaps > 1)
        left_out = np.stack([here[before] + 1 - here[0], gaps[before] - 1], axis=1).ravel()
        source, target = zip(begin.tolist(), end.tolist(), strict=True)
        yield (
            LineGroup(last - first, int(here[0]), source, target, tuple(left_out.tolist())),
            int(sizes[first:last].sum()),
        )
        first = last
