"""Finds the row of a record and the record of a row: inverts the shuffle and the division into shards."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import pyarrow as pa

from nmt_prep.corpora import iter_pairs, row_groups
from nmt_prep.corpora.parts import PairFile
from nmt_prep.errors import ArgumentError
from nmt_prep.pipeline.stage import Outputs
from nmt_prep.records import GlobalShuffle, ShardPlan, load_dataset_info
from nmt_prep.stages.corpus_rows import CorpusRows, FilePlace
from nmt_prep.stages.encode import Encode
from nmt_prep.stages.pair_files import pair_files


@dataclass(frozen=True)
class Traced:
    """A pair, from its files to its record.

    Attributes:
        split: the split.
        record: number of the pair in the shuffled split, from 0, through all shards.
        shard: file name of its shard.
        position: number of the pair in the shard, from 0. In layout ``packed``, before pairs are packed into rows.
        corpus: name of the corpus.
        row: number of the pair in the corpus, from 0, before any pair was dropped.
        files: where the row is in the files of the corpus.
        source: text of the source, as it was encoded.
        target: text of the target, as it was encoded.
    """

    split: str
    record: int
    shard: str
    position: int
    corpus: str
    row: int
    files: tuple[FilePlace, ...]
    source: str
    target: str


class Lineage:
    """The records of a split and the rows that they come from."""

    def __init__(self, outputs: Outputs, split: str) -> None:
        """Reads ``dataset.json``.

        Raises:
            ArgumentError: there is no such split.
            RecordsError: ``dataset.json`` is damaged.
        """
        info = load_dataset_info(outputs.directory_of(Encode))
        if split not in info.splits:
            raise ArgumentError(f"there is no split {split!r} in the records; the splits are {', '.join(info.splits)}")
        self._outputs = outputs
        self._split = split
        self._parts: list[PairFile] = pair_files(outputs)[split]
        self._shards = [shard.file for shard in info.splits[split].shards]
        self._plan = ShardPlan(GlobalShuffle(info.splits[split].pairs, info.seed, split), len(self._shards))

    @property
    def pairs(self) -> int:
        """Number of pairs of the split."""
        return self._plan.rows

    @cached_property
    def _ends(self) -> list[int]:
        """The number of pairs up to the end of each part."""
        return list(accumulate(part.pairs for part in self._parts))

    def record(self, where: str) -> int:
        """Returns the number of a record.

        Args:
            where: the number of the record in the split (``1017``), its shard and position (``3:17``, or with the file
                name of the shard), or the corpus and row that it comes from (``news:311``); all numbers are from 0.

        Raises:
            ArgumentError: there is no such record, shard, corpus or row, or the row was dropped.
            CorpusError: a part or corpus cannot be read.
        """
        place, colon, number = where.rpartition(":")
        if not number.isascii() or not number.isdecimal() or (colon and not place):
            raise ArgumentError(
                f"--trace {where}: expected a record such as 1017, SHARD:POSITION such as 3:17, or CORPUS:ROW such as "
                "news:311"
            )
        if not colon:
            return self._checked(int(number), self.pairs, f"records of {self._split}")
        if any(corpus.name == place for corpus in self._outputs.config.splits[self._split]):
            part, inside = CorpusRows(self._outputs, self._split, place).find(self._parts, int(number))
            first = self._ends[part] - self._parts[part].pairs
            return int(self._plan.shuffle.positions(first + inside, 1)[0])
        owned = self._plan.shard_range(self._shard(place))
        return owned[self._checked(int(number), len(owned), f"pairs in shard {place}")]

    def trace(self, record: int) -> Traced:
        """Returns a record with all that it comes from.

        Raises:
            ArgumentError: there is no such record.
            CorpusError: a part or corpus cannot be read.
        """
        self._checked(record, self.pairs, f"records of {self._split}")
        shard = next(number for number in range(len(self._shards)) if record in self._plan.shard_range(number))
        pair = int(self._plan.shuffle.rows_at([record])[0])
        part = bisect_right(self._ends, pair)
        inside = pair - (self._ends[part] - self._parts[part].pairs)
        found = read_row(self._parts[part], inside)
        rows = CorpusRows(self._outputs, self._split, found["corpus"])
        row = found.get("row")
        if row is None:
            before = sum(each.pairs for each in self._parts[:part] if each.corpus == found["corpus"])
            row = rows.row_of(before + inside)
        return Traced(
            split=self._split,
            record=record,
            shard=self._shards[shard],
            position=record - self._plan.shard_range(shard).start,
            corpus=found["corpus"],
            row=row,
            files=tuple(rows.files_of(row)),
            source=found["source"],
            target=found["target"],
        )

    def _shard(self, name: str) -> int:
        """Returns the number of a shard, which is given as a number or by its file name."""
        if name in self._shards:
            return self._shards.index(name)
        if not (name.isascii() and name.isdecimal()):
            corpora = ", ".join(corpus.name for corpus in self._outputs.config.splits[self._split])
            raise ArgumentError(f"{self._split} has no shard and no corpus {name!r} (corpora: {corpora})")
        return self._checked(int(name), len(self._shards), f"shards of {self._split}")

    @staticmethod
    def _checked(number: int, count: int, what: str) -> int:
        if not 0 <= number < count:
            raise ArgumentError(f"there is no number {number} among the {count:,} {what}, which are counted from 0")
        return number


def read_row(part: PairFile, number: int) -> dict[str, Any]:
    """Returns a pair of a part as its columns; reads one row group.

    Raises:
        CorpusError: the part cannot be read.
    """
    for group, pairs in enumerate(row_groups(part.path)):
        if number < pairs:
            table = pa.Table.from_batches(list(iter_pairs(part.path, [group])))
            (row,) = table.slice(number, 1).to_pylist()
            found: dict[str, Any] = row
            return found
        number -= pairs
    raise ArgumentError(f"{part.path} has no pair {number}")
