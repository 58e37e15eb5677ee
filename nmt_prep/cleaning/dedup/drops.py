"""Files with the pairs that deduplication drops.

A comparison writes files with a record of two numbers for each dropped pair, in groups by part: its place, and the
place of the pair that is kept instead. Later comparisons need to know of each pair whether it was dropped. So, between
comparisons, the dropped rows of each part are marked in a file of bits: the first marked row, as uint64, then a bit for
it and for each later row, up to the last marked one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.artefacts import atomic_write, writing
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.dedup.records import GroupedWriter, Records, Slice, parts_of, rows_of, slices_of
from nmt_prep.corpora.parts import BEFORE
from nmt_prep.corpora.reader import DOCUMENT
from nmt_prep.corpora.scores import document_starts

Dropped: TypeAlias = Mapping[str, Sequence[Path]]  # The files with the pairs to drop, by reason

ClusterSizes: TypeAlias = tuple[tuple[int, int], ...]  # Cluster sizes, and how many clusters have each size


class DropWriter(GroupedWriter):
    """Writes a file with dropped pairs."""

    def __init__(self, path: Path, parts: int) -> None:
        super().__init__(path)
        self._groups = np.arange(parts + 1)
        self._survivors = [np.zeros((0, 2), np.uint64)]

    def add(self, drops: Records) -> None:
        """Adds dropped pairs: the place of each, ascending, and the place of the pair that is kept instead."""
        self.write(drops, np.searchsorted(parts_of(drops[:, 0]), self._groups).astype(np.uint64))
        self._survivors.append(np.column_stack(np.unique(drops[:, 1], return_counts=True)).astype(np.uint64))

    def clusters(self) -> ClusterSizes:
        """Returns cluster counts by size, if the file has all pairs that are dropped in favor of one pair."""
        # `add` counts the drops of each survivor in a batch; a survivor of several batches has several counts to sum.
        survivors, counts = np.concatenate(self._survivors).T
        return cluster_sizes(np.bincount(np.unique(survivors, return_inverse=True)[1], counts).astype(np.int64))


def read_survivors(path: Path, part: int, parts: int) -> Records:
    """Returns the pairs that are kept instead of a part's dropped pairs."""
    return np.concatenate([np.zeros(0, np.uint64), *(each.read(2)[:, 1] for each in _slices([path], part, parts))])


def cluster_sizes(dropped: npt.NDArray[np.int64]) -> ClusterSizes:
    """Returns the number of clusters by size.

    A cluster is a pair together with the pairs that are dropped in favor of it. Sizes up to 8 have a bin each; further
    bins end at 16, 32 and so on.

    Returns:
        The smallest size of each bin, and the number of clusters in it; empty bins are left out.
    """
    # frexp gives the exponent e with 2^(e - 1) <= dropped < 2^e, so the bin begins at 2^(e - 1) + 1.
    sizes = dropped + 1
    bins = np.where(sizes <= 8, sizes, (1 << np.frexp(dropped)[1] - 1) + 1)
    names, counts = np.unique(bins, return_counts=True)
    return tuple(zip(names.tolist(), counts.tolist(), strict=True))


def merged_clusters(counts: Iterable[ClusterSizes]) -> ClusterSizes:
    """Adds up cluster counts by size."""
    return tuple(sorted(sum((Counter(dict(each)) for each in counts), Counter[int]()).items()))


class PartDrops:
    """The pairs of one part that deduplication drops. They are read from the files on demand."""

    def __init__(self, dropped: Dropped, part: int, parts: int) -> None:
        self.reasons = tuple(dropped)
        self._pieces = [
            (reason, piece.mapped(2))
            for reason, paths in enumerate(dropped.values())
            for piece in _slices(paths, part, parts)
        ]

    def __len__(self) -> int:
        return sum(len(piece) for _, piece in self._pieces)

    def among(self, places: Records) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64], Records]:
        """Divides pairs, given by ascending places, into kept and dropped ones.

        Returns:
            True for each pair that is kept; for each dropped pair its reason's index, and the place of the pair
            that is kept instead.
        """
        # The pieces are mapped files, ordered by place: a binary search touches a few pages of each, so the batches of
        # a part together read each piece once, and memory holds the drops of one batch.
        held, reasons = [np.zeros((0, 2), np.uint64)], [np.zeros(0, np.int64)]
        for reason, piece in self._pieces if len(places) else ():
            first, end = bisect_left(piece[:, 0], places[0]), bisect_right(piece[:, 0], places[-1])
            held.append(piece[first:end])
            reasons.append(np.full(end - first, reason))
        drops = np.concatenate(held)
        order = np.argsort(drops[:, 0])
        kept = np.ones(len(places), np.bool_)
        kept[np.searchsorted(places, drops[:, 0])] = False
        return kept, np.concatenate(reasons)[order], drops[order, 1]


def mark_path(directory: Path, comparison: str, part: int) -> Path:
    """Returns the path of the file with a part's pairs that are dropped up to and including a comparison."""
    return directory / f"{comparison}-{part:05d}.dropped"


def write_marks(path: Path, dropped: Dropped, part: int, parts: int) -> int:
    """Marks the pairs of a part that are dropped; returns their number."""
    pieces = [piece.read(2)[:, 0] for paths in dropped.values() for piece in _slices(paths, part, parts)]
    rows = rows_of(np.concatenate([np.zeros(0, np.uint64), *pieces]))
    first, end = (int(rows.min()), int(rows.max()) + 1) if len(rows) else (0, 0)
    marks = np.zeros(end - first, np.bool_)
    marks[rows - first] = True
    with atomic_write(path) as beside:
        beside.write_bytes(np.uint64(first).astype("<u8").tobytes() + np.packbits(marks, bitorder="little").tobytes())
    return len(rows)


class Marks:
    """The marked rows of one part."""

    def __init__(self, first: int, bits: npt.NDArray[np.uint8]) -> None:
        self._first, self._bits = first, bits

    @classmethod
    def read(cls, directory: Path, comparison: str, part: int) -> Marks:
        """Reads the pairs of a part that are dropped up to and including a comparison."""
        path = mark_path(directory, comparison, part)
        with writing(path):
            content = path.read_bytes()
        return cls(int.from_bytes(content[:8], "little"), np.frombuffer(content, np.uint8, offset=8))

    def among(self, places: Records) -> npt.NDArray[np.bool_]:
        """Returns true for each dropped pair, given the positions of pairs in the part."""
        dropped = np.zeros(len(places), np.bool_)
        if len(self._bits):
            rows = rows_of(places) - self._first
            (known,) = np.nonzero((rows >= 0) & (rows < 8 * len(self._bits)))
            rows = rows[known]
            dropped[known] = self._bits[rows >> 3] >> (rows & 7).astype(np.uint8) & 1
        return dropped


def _slices(paths: Sequence[Path], part: int, parts: int) -> list[Slice]:
    """Returns the file slices with a part's dropped pairs; each slice is ordered by place."""
    return [piece for path in paths for piece in slices_of(path, part, parts, 2)]


MOST = 255  # Maximum number of repeated segments before a pair; of more segments, the first are left out


# Duplicates in documents: a dropped pair stays beside the pair after it in its document, as a repeated segment.


def with_repeated(batch: pa.RecordBatch, kept: npt.NDArray[np.bool_]) -> pa.RecordBatch:
    """Returns a batch of a part with the columns :data:`BEFORE`, to which the duplicates are added.

    They are added to the next kept pair of their document, unless a row is missing between them. Duplicates at the end
    of the batch are left out.
    """
    # A row's segments are the ones before it since the last beginning: of a document, after a gap in the rows, or after
    # a kept pair. `first` is the row of this beginning. All segments lie in one list in the row order, so those of
    # a kept pair are a stretch of it that ends before the pair, and `offsets` and `places` cut out its last `MOST`.
    count, rows = len(batch), batch.column("row").to_numpy()
    nothing = pa.array([[]] * (count + 1), pa.list_(pa.string()))
    lists = [batch.column(name) if name in batch.schema.names else nothing[:count] for name in BEFORE.values()]
    held = np.asarray(lists[0].value_lengths(), np.int64)
    begins = np.append(True, rows[1:] - held[1:] != rows[:-1] + 1)
    begins[document_starts(batch.column(DOCUMENT))] = True
    begins[1:] |= kept[:-1]
    begins |= batch.column(DOCUMENT).is_null().to_numpy(zero_copy_only=False)
    first = np.maximum.accumulate(np.where(begins, np.arange(count), 0))
    # Each row contributes the segments from an earlier comparison, and its own if it is dropped.
    sizes = held + ~kept
    ends = np.cumsum(sizes)
    segments = np.insert(np.arange(held.sum()), np.cumsum(held)[~kept], np.flatnonzero(~kept) + held.sum())
    most = np.minimum(ends - (ends - sizes)[first], MOST)[kept]
    places = np.repeat(ends[kept] - np.cumsum(most), most) + np.arange(most.sum())
    offsets = pa.array(np.append(0, np.cumsum(most)).astype(np.int32))
    # ``added`` has a list for each kept pair only; dropped rows may get any list, since they are left out later.
    others = pa.array(np.cumsum(kept) - kept)
    fields = {field.name: field for field in batch.schema}
    columns = dict(zip(fields, batch.columns, strict=True))
    for side, values in zip(SIDES, lists, strict=True):
        texts = pa.concat_arrays([values.flatten(), batch.column(side)]).take(pa.array(segments[places]))
        added = pa.ListArray.from_arrays(offsets, texts)
        columns[BEFORE[side]] = pa.concat_arrays([added, nothing[:1]]).take(others)
        fields[BEFORE[side]] = pa.field(BEFORE[side], nothing.type)
    return pa.record_batch([*columns.values()], schema=pa.schema(fields.values()))
