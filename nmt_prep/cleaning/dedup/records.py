"""Keys and records for pairs, from which duplicates are found, and files with records in groups.

Pairs with the same key are duplicates. A key is a hash of 128 bits, so different texts practically never have the same
key. There are two kinds:

- ``exact``: hash of the text's bytes.
- ``normalized``: hash of the letters, marks and numbers of the text, after compatibility decomposition (NFKD) and full
  case folding, with every decimal digit replaced by 0. Case, punctuation, digits, spaces and width do not matter. A
  line in which nothing but digits is left, such as ``2019`` or ``...``, has its exact key. Chinese characters are
  letters, so 世界冠军 and 时节冠军 have different keys.

A record is a row of uint64: the two halves of the pair's key, its scores, and its place. Of all pairs with the same
key, the one with the smallest record is the best, so scores are mapped to numbers in the opposite order. A place is a
part's index, times ``2**ROW_BITS``, plus the pair's row in its corpus. Parts are in the corpora's order, so places
are in the order of corpora and rows.

A file holds runs of records, from which each group can be read by itself. In a run, the records are ordered by group.
After the last run, a table holds for each run the index of each group's first record, and the index after the last
record. Then come the record and run counts. All numbers are uint64 in little-endian order.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import ROW_BITS, line_keys, pair_keys

from nmt_prep.base.artefacts import atomic_write, writing
from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import OutputError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.corpus_rules.top import sortable
from nmt_prep.cleaning.rule import Values
from nmt_prep.config import DedupSettings
from nmt_prep.corpora.parts import scores_of

KeyKind: TypeAlias = Literal["exact", "normalized"]
Compared: TypeAlias = Literal["pair", "source", "target"]  # The text that is hashed: both sides together, or one side

Keys: TypeAlias = "npt.NDArray[np.uint64]"


def keys_of(
    pairs: pa.RecordBatch, compared: Sequence[Compared], kind: KeyKind, lines: Mapping[Side, Keys] | None = None
) -> dict[Compared, Keys]:
    """Returns the upper and lower half of each compared text's key: uint64, shape ``[pairs, 2]``.

    Args:
        lines: the keys of both sides' lines; None to compute them.
    """
    if lines is None:
        columns = {side: TextColumn.from_arrow(pairs.column(side)) for side in SIDES if {side, "pair"} & {*compared}}
        sides = {side: line_keys_of(column, kind) for side, column in columns.items()}
    else:
        sides = {side: lines[side] for side in SIDES}
    return {what: pair_keys(*sides.values()) if what == "pair" else sides[what] for what in compared}


def keys_of_pairs(source: TextColumn, target: TextColumn, kind: KeyKind) -> Keys:
    """Returns the keys of pairs by the text on both sides; see :func:`keys_of`."""
    return pair_keys(line_keys_of(source, kind), line_keys_of(target, kind))


def line_keys_of(lines: TextColumn, kind: KeyKind) -> Keys:
    """Returns the keys of lines: uint64, shape ``[lines, 2]``."""
    return line_keys(lines.data, lines.offsets, kind == "normalized")


Records: TypeAlias = "npt.NDArray[np.uint64]"


@dataclass(frozen=True)
class Comparison:
    """One comparison of pairs: their keys, how pairs with the same key are ranked, and how many of them are kept."""

    compared: Compared
    kind: KeyKind
    scores: tuple[str, ...]  # names of the scores that rank the pairs, the most important first; higher is better
    kept: int  # number of pairs to keep for each key

    @property
    def width(self) -> int:
        """Column count of a record."""
        return 3 + len(self.scores)

    @property
    def record_bytes(self) -> int:
        return 8 * self.width


def comparisons_of(settings: DedupSettings) -> tuple[Comparison, ...]:
    """Returns the comparisons of some settings, in order."""
    kept: dict[Compared, int | None] = {
        "pair": None if settings.pair == "off" else 1,
        "source": settings.max_targets_per_source,
        "target": settings.max_sources_per_target,
    }
    return tuple(
        Comparison(what, settings.keys, settings.keep[:-1], number)
        for what, number in kept.items()
        if number is not None
    )


@dataclass(frozen=True)
class Group:
    """The pairs that a corpus's pairs are compared with."""

    salt: int = 0  # number that keys are mixed with; pairs with different salts are never equal
    exchanged: bool = False  # true if the sides are exchanged before keys are computed
    # true if the pairs of the corpus rank behind the pairs of other corpora of the group, whatever their scores; false
    # if they rank before them; None if only scores and places count
    behind: bool | None = None

    def sides(self, pairs: pa.RecordBatch) -> pa.RecordBatch:
        """Returns pairs with the sides as they are compared."""
        names = {"source": "target", "target": "source"} if self.exchanged else {}
        return pairs.rename_columns([names.get(name, name) for name in pairs.schema.names])

    def line_keys(self, lines: Mapping[Side, Keys] | None) -> Mapping[Side, Keys] | None:
        """Returns the keys of lines by the side as it is compared, if they are known."""
        return {"source": lines["target"], "target": lines["source"]} if lines and self.exchanged else lines

    def ranks(self, pairs: pa.RecordBatch, scores: Sequence[str]) -> list[Records]:
        """Returns a column for each score, with smaller numbers for better pairs: uint64, shape ``[pairs]``."""
        given = scores_of(pairs) if scores else {}
        unknown = np.full(len(pairs), np.nan)  # a computed value may not apply to a corpus
        ranks = [descending(given.get(name, unknown)) for name in scores]
        if ranks and self.behind is not None:
            # The highest bit decides first; the lowest bit of a score's 64 gives way to it.
            ranks[0] = ranks[0] >> np.uint64(1) | np.uint64(self.behind << 63)
        return ranks


ALL = Group()  # The group with all pairs in a split, in a config with one language pair


def records_of(
    pairs: pa.RecordBatch,
    part: int,
    comparisons: Sequence[Comparison],
    group: Group = ALL,
    lines: Mapping[Side, Keys] | None = None,
) -> list[Records]:
    """Returns a batch's records for each comparison: uint64, shape ``[pairs, width]``."""
    if not comparisons:
        return []
    compared = [each.compared for each in comparisons]
    keys = keys_of(group.sides(pairs), compared, comparisons[0].kind, group.line_keys(lines))
    ranks, places, salt = group.ranks(pairs, comparisons[0].scores), places_of(pairs, part), np.uint64(group.salt)
    return [np.column_stack([keys[each.compared] ^ salt, *ranks, places]) for each in comparisons]


def places_of(pairs: pa.RecordBatch, part: int) -> Records:
    """Returns the places of a batch's pairs; uint64, ascending."""
    rows = np.asarray(pairs.column("row").to_numpy(zero_copy_only=False), np.uint64)
    return rows | np.uint64(part << ROW_BITS)


def parts_of(places: Records) -> npt.NDArray[np.int64]:
    """Returns the part of each place."""
    return (places >> np.uint64(ROW_BITS)).astype(np.int64)


def rows_of(places: Records) -> npt.NDArray[np.int64]:
    """Returns each place's row in its corpus."""
    return (places & np.uint64((1 << ROW_BITS) - 1)).astype(np.int64)


def descending(scores: Values) -> Records:
    """Returns numbers in the opposite order of scores: uint64; NaN comes last."""
    return ~sortable(np.where(np.isnan(scores), -np.inf, scores))


class GroupedWriter(ExitStack):
    """Writes a file of records in groups."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._starts: list[Records] = []
        self._rows = 0

    def __enter__(self) -> Self:
        beside = self.enter_context(atomic_write(self._path))
        with writing(self._path):
            self._file = self.enter_context(beside.open("wb"))
        self.push(self._end)
        return self

    def write(self, records: Records, starts: Records) -> None:
        """Adds a run.

        Args:
            records: ordered by group: uint64, shape ``[records, width]``.
            starts: index of each group's first record, and the record count: uint64, shape ``[groups + 1]``.
        """
        if len(records):
            with writing(self._path):
                self._file.write(np.ascontiguousarray(records, "<u8").data)
            self._starts.append(starts + np.uint64(self._rows))
            self._rows += len(records)

    def _end(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None:
            table = np.concatenate([*self._starts, np.array([self._rows, len(self._starts)], np.uint64)])
            self._file.write(table.astype("<u8").data)


@dataclass(frozen=True)
class Slice:
    """A group's records in one run: their file, the first record's index, and the record count."""

    path: Path
    first: int
    rows: int

    def read(self, width: int, first: int = 0, rows: int | None = None) -> Records:
        """Returns records, by default all: uint64, shape ``[rows, width]``."""
        count = self.rows - first if rows is None else min(rows, self.rows - first)
        with writing(self.path):
            values = np.fromfile(self.path, "<u8", count * width, offset=8 * width * (self.first + first))
        if len(values) < count * width:
            raise cut_off(self.path)
        return values.reshape(-1, width)

    def mapped(self, width: int) -> Records:
        """Returns all records as a view of the file: uint64, shape ``[rows, width]``."""
        with writing(self.path):
            return np.memmap(self.path, "<u8", "r", offset=8 * width * self.first, shape=(self.rows, width))


def slices_of(path: Path, group: int, groups: int, width: int) -> list[Slice]:
    """Returns a group's slices in a file, in order, without empty ones."""
    # The sizes at the end must account for every byte of the file, so a file that was cut off anywhere is noticed.
    with writing(path), path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        rows, runs = _numbers(file, path, size - 16)
        table = 8 * width * rows
        if size != table + 8 * runs * (groups + 1) + 16:
            raise cut_off(path)
        bounds = [_numbers(file, path, table + 8 * (run * (groups + 1) + group)) for run in range(runs)]
    return [Slice(path, first, end - first) for first, end in bounds if end > first]


def cut_off(path: Path) -> OutputError:
    """Returns the error for a file that is shorter than its table says."""
    return OutputError(f"{path} is cut off; run the stage again with --force clean")


def _numbers(file: BinaryIO, path: Path, place: int) -> tuple[int, int]:
    content = os.pread(file.fileno(), 16, place) if place >= 0 else b""
    if len(content) < 16:
        raise cut_off(path)
    return int.from_bytes(content[:8], "little"), int.from_bytes(content[8:], "little")
