"""Records of pairs, and the files that deduplication keeps them in.

A record is a row of uint64: the two halves of the pair's key, its scores, and its place. Of all pairs with the same
key, the one with the smallest record is the best, so scores are mapped to numbers in the opposite order. A place is the
number of a part, times ``2**ROW_BITS``, plus the row of the pair in its corpus. Parts are numbered in the order of the
corpora, so places have the order of corpora and rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import ROW_BITS

from nmt_prep.artefacts import atomic_write, writing
from nmt_prep.cleaning.dedup.keys import Compared, KeyKind, keys_of
from nmt_prep.cleaning.rule import Values
from nmt_prep.cleaning.top import sortable
from nmt_prep.corpora.parts import scores_of
from nmt_prep.errors import OutputError

Records: TypeAlias = "npt.NDArray[np.uint64]"

SMALLEST_SHARE = 4 << 20
LARGEST_SHARE = 64 << 20
LARGEST_BITS = 12


@dataclass(frozen=True)
class Comparison:
    """The keys that pairs are compared by, and the scores that rank pairs with the same key.

    Attributes:
        compared: both sides, or one.
        kind: of the keys.
        scores: names of the scores that rank the pairs, the most important first; a higher score is better.
    """

    compared: Compared
    kind: KeyKind
    scores: tuple[str, ...]

    @property
    def width(self) -> int:
        """Number of columns of a record."""
        return 3 + len(self.scores)

    def records(self, pairs: pa.RecordBatch, part: int) -> Records:
        """Returns the records of the pairs of a batch of a part: uint64, shape ``[pairs, width]``.

        Raises:
            InvalidTextError: a line is not UTF-8.
        """
        scores = scores_of(pairs) if self.scores else {}
        ranks = [_descending(scores[name]) for name in self.scores]
        return np.column_stack([keys_of(pairs, self.compared, self.kind), *ranks, places_of(pairs, part)])


def partition_bits(rows: int, width: int, memory: int) -> int:
    """Returns the number of key bits that divide records into partitions that fit into memory.

    Args:
        rows: number of records.
        width: of a record.
        memory: bytes that a task may use.
    """
    share = min(max(memory // 4, SMALLEST_SHARE), LARGEST_SHARE)
    partitions = max(-(-rows * width * 8 // share), 1)
    return min((partitions - 1).bit_length(), LARGEST_BITS)


def places_of(pairs: pa.RecordBatch, part: int) -> Records:
    """Returns the places of the pairs of a batch; uint64, ascending."""
    rows = np.asarray(pairs.column("row").to_numpy(zero_copy_only=False), np.uint64)
    return rows | np.uint64(part << ROW_BITS)


def parts_and_rows(places: Records) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns the part and the row of each place."""
    rows = places & np.uint64((1 << ROW_BITS) - 1)
    return (places >> np.uint64(ROW_BITS)).astype(np.int64), rows.astype(np.int64)


def write_spill(path: Path, records: Sequence[Records], width: int, bits: int) -> None:
    """Writes the records of a part by partition: the end of each partition in rows, then the records.

    Raises:
        OutputError: the file cannot be written.
    """
    held = np.concatenate([np.zeros((0, width), np.uint64), *records])
    partitions = (held[:, 0] >> np.uint64(64 - bits)).astype(np.int64) if bits else np.zeros(len(held), np.int64)
    ends = np.cumsum(np.bincount(partitions, minlength=1 << bits))
    with atomic_write(path) as beside, beside.open("wb") as file:
        file.write(ends.astype("<u8").tobytes())
        file.write(held[np.argsort(partitions, kind="stable")].tobytes())


def read_partition(paths: Iterable[Path], partition: int, width: int, bits: int) -> Records:
    """Returns the records of one partition from all spill files: uint64, shape ``[rows, width]``.

    Raises:
        OutputError: a spill file cannot be read.
    """
    found = [np.zeros((0, width), np.uint64)]
    for path in paths:
        with writing(path), path.open("rb") as file:
            ends = np.fromfile(file, "<u8", 1 << bits)
            if len(ends) < 1 << bits:
                raise _cut_off(path)
            first, last = (int(ends[partition - 1]) if partition else 0), int(ends[partition])
            file.seek(8 * width * first, os.SEEK_CUR)
            values = np.fromfile(file, np.uint64, (last - first) * width)
        if len(values) < (last - first) * width:
            raise _cut_off(path)
        found.append(values.reshape(-1, width))
    return np.concatenate(found)


def _cut_off(path: Path) -> OutputError:
    return OutputError(f"{path} is cut off; run the stage again with --force clean")


def write_drops(path: Path, drops: Records) -> None:
    """Writes the places of the pairs that a partition drops, then for each the place of the pair that is kept instead.

    Raises:
        OutputError: the file cannot be written.
    """
    with atomic_write(path) as beside:
        beside.write_bytes(np.ascontiguousarray(drops.T).tobytes())


class PartDrops:
    """The pairs of one part that deduplication drops, from the files with drops."""

    def __init__(self, paths: Mapping[str, Sequence[Path]], part: int) -> None:
        """Reads the files.

        Args:
            paths: files by the reason for which they drop pairs.
            part: number of the part.

        Raises:
            OutputError: a file cannot be read.
        """
        self.reasons = tuple(paths)
        first, last = part << ROW_BITS, (part + 1) << ROW_BITS
        named = [(reason, path) for reason, each in enumerate(paths.values()) for path in each]
        found = [(reason, *_between(path, first, last)) for reason, path in named]
        empty = np.zeros(0, np.uint64)
        places = np.concatenate([empty, *(own for _, own, _ in found)])
        order = np.argsort(places)
        self._places = places[order]
        self._survivors = np.concatenate([empty, *(survivors for _, _, survivors in found)])[order]
        self._reasons = np.concatenate(
            [np.zeros(0, np.int64), *(np.full(len(own), reason) for reason, own, _ in found)]
        )[order]

    def __len__(self) -> int:
        return len(self._places)

    def among(self, places: Records) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64], Records]:
        """Divides pairs into those that are kept and those that are dropped.

        Args:
            places: places of the pairs, ascending.

        Returns:
            True for each pair that is kept; for each dropped pair the number of its reason, and the place of the pair
            that is kept instead.
        """
        kept = np.ones(len(places), np.bool_)
        if not len(places):
            return kept, self._reasons[:0], self._survivors[:0]
        first, last = np.searchsorted(self._places, [places[0], places[-1] + np.uint64(1)])
        kept[np.searchsorted(places, self._places[first:last])] = False
        return kept, self._reasons[first:last], self._survivors[first:last]


def _between(path: Path, first: int, last: int) -> tuple[Records, Records]:
    """Returns the dropped places in a file from ``first`` up to, but not including, ``last``, and their survivors."""
    with writing(path):
        size = path.stat().st_size // 16
        if not size:
            return np.zeros(0, np.uint64), np.zeros(0, np.uint64)
        drops = np.memmap(path, np.uint64, "r", shape=(2, size))
    begin, end = np.searchsorted(drops[0], np.array([first, last], np.uint64))
    return np.array(drops[0, begin:end]), np.array(drops[1, begin:end])


def _descending(scores: Values) -> Records:
    """Maps scores to numbers in the opposite order; NaN comes last."""
    return ~sortable(np.where(np.isnan(scores), -np.inf, scores))
