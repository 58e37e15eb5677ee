"""Compiled parts without text: they name the lines of files that are read in their places.

Such a part is a JSON file. For each row group it has the ranges of bytes in the files of the two sides, and the lines
in them that are no pairs. For each side it has the hashes of the steps of the file, against which readers check the
bytes. Links beside the parts point to the files, so that the bytes of a part do not depend on the places of the files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import block_hash, split_lines

from nmt_prep.artefacts import atomic_write, parse_json
from nmt_prep.digests import StepRange
from nmt_prep.errors import CorpusError
from nmt_prep.lines.chunks import unreadable_in_place
from nmt_prep.sides import Side
from nmt_prep.typed_json import as_json, parse_json_as

SUFFIX = ".json"

_FORMAT = 1


@dataclass(frozen=True)
class LineGroup:
    """A row group.

    Attributes:
        pairs: number of pairs.
        row: the row of the first line: its position in the corpus before any pair was dropped.
        source: the range of bytes in the file of the source, in whole lines.
        target: the range of bytes in the file of the target.
        left_out: for each run of lines that are no pairs, the first line (counted from 0 in the group) and the number
            of lines, one run after the other.
    """

    pairs: int
    row: int
    source: tuple[int, int]
    target: tuple[int, int]
    left_out: tuple[int, ...] = ()

    def rows(self) -> npt.NDArray[np.int64]:
        """Returns the rows of the pairs: int64, shape ``[pairs]``."""
        kept = np.ones(self.pairs + sum(self.left_out[1::2]), np.bool_)
        for first, count in zip(self.left_out[::2], self.left_out[1::2], strict=True):
            kept[first : first + count] = False
        return np.flatnonzero(kept).astype(np.int64, copy=False) + self.row


@dataclass(frozen=True)
class TextFile:
    """The file with the lines of a side.

    Attributes:
        file: path of the file, relative to the directory of the part.
        steps: the steps that contain the lines.
    """

    file: str
    steps: StepRange


@dataclass(frozen=True)
class LinePart:
    """The content of a part.

    Attributes:
        format: version of the format.
        corpus: name of the corpus.
        has_rows: true if the part has a column ``row``.
        strip_returns: true if a carriage return before a newline is not part of a line.
        source: the file with the lines of the source.
        target: the file with the lines of the target.
        groups: the row groups.
    """

    format: int
    corpus: str
    has_rows: bool
    strip_returns: bool
    source: TextFile
    target: TextFile
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
        """Makes a part of row groups; the steps of ``files`` contain at least these groups."""
        used = {
            side: TextFile(file.file, file.steps.containing(getattr(groups[0], side)[0], getattr(groups[-1], side)[1]))
            for side, file in files.items()
        }
        return cls(_FORMAT, corpus, has_rows, strip_returns, used["source"], used["target"], tuple(groups))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a part.

        Raises:
            OSError: the file cannot be read.
            ValueError: the file is not a part, or has the format of another version of nmt_prep.
        """
        part = parse_json_as(cls, parse_json(path.read_bytes()))
        if part.format != _FORMAT:
            raise ValueError(f"it has format {part.format}, and this version of nmt_prep reads {_FORMAT}")
        return part

    def save(self, path: Path) -> str:
        """Writes the part; returns its SHA-256.

        Raises:
            OutputError: the part cannot be written.
        """
        content = json.dumps(as_json(self), ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        with atomic_write(path) as beside:
            beside.write_bytes(content)
        return hashlib.sha256(content).hexdigest()

    def read(
        self, path: Path, numbers: Iterable[int] | None, sides: Sequence[Side]
    ) -> Iterator[tuple[LineGroup, dict[Side, pa.Array]]]:
        """Yields row groups with the text of their sides, Arrow ``string`` arrays.

        Args:
            path: path of the part.
            numbers: numbers of the row groups, in the order to read them; None for all.
            sides: the sides to read.

        Raises:
            CorpusError: a file with lines cannot be read, or has changed since it was compiled.
        """
        with ExitStack() as stack:
            files = {
                side: stack.enter_context(
                    _CheckedFile(path.parent / getattr(self, side).file, getattr(self, side).steps)
                )
                for side in sides
            }
            for number in range(len(self.groups)) if numbers is None else numbers:
                group = self.groups[number]
                left_out = np.array(group.left_out, np.int64)
                text = {}
                for side, file in files.items():
                    block = file.read(*getattr(group, side))
                    data, offsets = split_lines(block, group.pairs, left_out, self.strip_returns)
                    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
                    text[side] = pa.Array.from_buffers(pa.string(), group.pairs, buffers)
                yield group, text


class _CheckedFile:
    """Reads ranges of bytes of a file, and checks each step by its hash."""

    def __init__(self, link: Path, steps: StepRange) -> None:
        """Stores the arguments; opens no file."""
        self._path = link.readlink() if link.is_symlink() else link
        self._steps = steps
        self._buffer = np.empty(0, np.uint8)
        self._held = (0, 0)  # numbers of the first step in the buffer, and of the step after the last
        self._size = 0  # bytes in the buffer

    def __enter__(self) -> Self:
        try:
            self._file = self._path.open("rb", buffering=0)
        except OSError as error:
            raise unreadable_in_place(self._path, error) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, begin: int, end: int) -> npt.NDArray[np.uint8]:
        """Returns a range of bytes, as a view that the next call overwrites.

        Raises:
            CorpusError: the file cannot be read, or has changed.
        """
        step = self._steps.step
        first, after = begin // step, -(-end // step)
        self._make_room((after - first) * step, first)
        try:
            for number in range(self._held[1], after):
                self._add(number)
        except OSError as error:
            raise unreadable_in_place(self._path, error) from error
        if first * step + self._size < end:
            raise self._changed()
        return self._buffer[begin - first * step : end - first * step]

    def _make_room(self, size: int, first: int) -> None:
        """Makes room for ``size`` bytes from step ``first`` on; keeps the bytes of these steps in the buffer."""
        step = self._steps.step
        kept = self._buffer[:0]
        if self._held[0] <= first < self._held[1]:
            kept = self._buffer[(first - self._held[0]) * step : self._size]
        buffer = self._buffer if len(self._buffer) >= size else np.empty(size, np.uint8)
        buffer[: len(kept)] = kept
        self._buffer, self._size = buffer, len(kept)
        self._held = first, first + -(-len(kept) // step)

    def _add(self, number: int) -> None:
        """Reads a step to the end of the buffer, and checks it."""
        step, steps = self._steps.step, self._steps
        view = self._buffer.data[self._size : self._size + step]
        filled = 0
        self._file.seek(number * step)
        while count := self._file.readinto(view[filled:]):
            filled += count
        place = number - steps.first
        if not 0 <= place < len(steps.hashes) or not filled or block_hash(view[:filled]) != steps.hashes[place]:
            raise self._changed()
        self._size += filled
        self._held = self._held[0], number + 1

    def _changed(self) -> CorpusError:
        return CorpusError(
            f"{self._path} has changed since it was compiled, and it is read in its place; run again with --verify"
        )
