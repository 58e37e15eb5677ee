"""Repeated segments: pairs that cleaning dropped as duplicates, kept as context of the pair after them in its document.

The tasks that encode parts write the segments of their rows; the tasks that write shards collect them in the order of
the shuffle, in the files that :mod:`nmt_prep.training.records.record_columns` describes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.columns import Ragged
from nmt_prep.training.records.dataset_json import IndexInfo
from nmt_prep.training.records.record_columns import (
    REPEATED,
    column_file,
    column_path,
    mapped,
    note_path,
    rows_by_part,
)
from nmt_prep.training.records.shuffle_plan import ShardPlan

Int64s: TypeAlias = "npt.NDArray[np.int64]"


class Repeated(NamedTuple):
    """Repeated segments in order."""

    pairs: Int64s  # int64, number of the pair after each segment
    source: Ragged  # ids of their sources, with the frames of rows
    target: Ragged  # ids of their targets, likewise

    @classmethod
    def joined(cls, parts: Sequence[Repeated]) -> Repeated:
        """Concatenates segments."""
        pairs = np.concatenate([np.empty(0, np.int64), *(part.pairs for part in parts)])
        sources, targets = [Ragged.from_lists([])], [Ragged.from_lists([])]
        for part in parts:
            sources.append(part.source)
            targets.append(part.target)
        return cls(pairs, Ragged.joined(sources), Ragged.joined(targets))

    def ordered(self, before: int) -> Repeated:
        """Returns the segments in the order of their pairs, with ``before`` added to the numbers of the pairs."""
        order = np.argsort(self.pairs, kind="stable")
        return Repeated(self.pairs[order] + before, self.source.taken(order), self.target.taken(order))

    def among(self, source: Ragged, target: Ragged) -> tuple[Ragged, Ragged]:
        """Returns the ids of pairs and of the segments before each pair, in order, for both sides."""
        order = np.argsort(np.concatenate([self.pairs, np.arange(len(source))]), kind="stable")
        merged = (Ragged.joined(sides) for sides in ((self.source, source), (self.target, target)))
        first, second = (side.taken(order) for side in merged)
        return first, second

    def columns(self, source_ids: int = 0, target_ids: int = 0) -> dict[str, npt.NDArray[Any]]:
        """Returns the columns, given the number of ids of earlier segments on each side."""
        ends = self.source.offsets[1:] + source_ids, self.target.offsets[1:] + target_ids
        values = np.column_stack([self.pairs, *ends]), self.source.values, self.target.values
        return dict(zip(REPEATED, values, strict=True))

    def note(self, spill: Path) -> None:
        """Writes the segments of a part, whose ``pairs`` are rows of the part."""
        for column, values in self.columns().items():
            with atomic_write(note_path(spill, column)) as beside:
                values.tofile(beside)

    @classmethod
    def read(cls, path_of: Callable[[str], Path], chosen: Callable[[Int64s], Int64s]) -> Repeated:
        """Reads some of the segments in the files of the columns."""
        table, source, target = (mapped(path_of(column), column) for column in REPEATED)
        pairs, *ends = table.reshape(-1, 3).T
        numbers = chosen(pairs)
        sides = (_rows(ids, end, numbers) for ids, end in zip((source, target), ends, strict=True))
        return cls(pairs[numbers], *sides)


def repeated_of_shard(
    path: Path, plan: ShardPlan, number: int, spills: Sequence[Path], first_rows: Sequence[int]
) -> dict[str, IndexInfo]:
    """Writes the repeated segments of a shard; returns sizes and digests by column."""
    before = source_ids = target_ids = 0
    with ExitStack() as stack:
        files = [stack.enter_context(column_file(path, column)) for column in REPEATED]
        for count, parts in rows_by_part(plan, number, first_rows):
            found = Repeated.joined([_of_rows(spills[part], places, rows) for part, places, rows in parts])
            found = found.ordered(before)
            for file, values in zip(files, found.columns(source_ids, target_ids).values(), strict=True):
                file.write(values.tobytes())
            before += count
            source_ids, target_ids = source_ids + len(found.source.values), target_ids + len(found.target.values)
    return {column: IndexInfo.of(file) for column, file in zip(REPEATED, files, strict=True)}


def _of_rows(spill: Path, places: Int64s, rows: Int64s) -> Repeated:
    """Returns the segments before some rows of a part; their ``pairs`` are ``places[i]`` for ``rows[i]``."""
    counts = np.empty(0, np.int64)

    def chosen(pairs: Int64s) -> Int64s:
        nonlocal counts
        first, end = (np.searchsorted(pairs, rows, side=side) for side in ("left", "right"))
        counts = end - first
        return np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())

    found = Repeated.read(lambda column: note_path(spill, column), chosen)
    return found._replace(pairs=np.repeat(places, counts))


def repeated_before(shard: Path, first: int, pairs: int) -> Repeated:
    """Returns the segments before some pairs of a shard, numbered from the first of these pairs."""

    def chosen(numbers: Int64s) -> Int64s:
        return np.arange(bisect_left(numbers, first), bisect_left(numbers, first + pairs))

    found = Repeated.read(lambda column: column_path(shard, column), chosen)
    return found._replace(pairs=found.pairs - first)


def _rows(ids: npt.NDArray[np.int32], ends: Int64s, numbers: Int64s) -> Ragged:
    """Returns the rows of ids with the given numbers, ascending; ``ends`` are the ends of all rows."""
    if not len(numbers):
        return Ragged.from_lists([])
    starts = np.where(numbers > 0, ends[numbers - 1], 0)
    first, last = int(starts[0]), int(ends[numbers[-1]])
    # Odd rows are the wanted ones, even rows the gaps between them.
    offsets = np.concatenate([[0], np.column_stack([starts, ends[numbers]]).ravel() - first])
    return Ragged(ids[first:last], offsets).taken(2 * np.arange(len(numbers)) + 1)
