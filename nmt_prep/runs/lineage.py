"""Traces a pair from its corpus's line to its record, and back.

:class:`Lineage` inverts the shuffle and the division into shards. :class:`CorpusRows` knows which rows of a corpus are
in the compiled or cleaned parts, and where they are in its files. Parts have a column with each pair's row if the
config cleans or the corpus has scores. Without this column, the corpus is read again, and pairs are dropped as compile
does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from nmt_prep.base.errors import ArgumentError, OutputError
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.rejects import unanswered_text
from nmt_prep.config import Config, Corpus
from nmt_prep.corpora import PairBatch, format_of, iter_pairs, open_corpus, reader_of, row_groups, rows_are_lines
from nmt_prep.corpora.parts import PairFile
from nmt_prep.corpora.reader import numbered
from nmt_prep.corpora.slices import whole_lines
from nmt_prep.pipeline.stage import Outputs
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.compile import corpus_files, file_steps
from nmt_prep.stages.compile.compile_tasks import drop_reason, kept_rows
from nmt_prep.stages.compile.slices import whole_steps
from nmt_prep.stages.divide import Divide, divided_files, reason_for
from nmt_prep.stages.encode.encode_stage import Encode
from nmt_prep.stages.limits import RULE, Limits, rejected_files
from nmt_prep.stages.pair_files import compiled_pairs, pair_files
from nmt_prep.training.records.dataset_json import load_dataset_info
from nmt_prep.training.records.document_index import shuffle_of
from nmt_prep.training.records.shuffle_plan import ShardPlan

_SHOWN = 400  # Characters of a side in a message


@dataclass(frozen=True)
class Traced:
    """A pair, from its files to its record."""

    split: str
    record: int  # index of the pair in the shuffled split, through all shards
    shard: str
    position: int  # index of the pair in the shard. In layout `packed`, before pairs are packed into rows.
    corpus: str
    row: int  # index of the pair in the corpus, before any pair was dropped
    files: tuple[FilePlace, ...]  # where the row is in the files of the corpus
    source: str  # text of the source, as it was encoded
    target: str  # text of the target, as it was encoded


class Lineage:
    """The records of a split and the rows that they come from."""

    def __init__(self, outputs: Outputs, split: str) -> None:
        """Reads ``dataset.json``."""
        records = outputs.directory_of(Encode)
        info = load_dataset_info(records)
        if split not in info.splits:
            raise ArgumentError(f"there is no split {split!r} in the records; the splits are {', '.join(info.splits)}")
        self._outputs = outputs
        self._split = split
        self._parts: list[PairFile] = pair_files(outputs)[split]
        self._shards = [shard.file for shard in info.splits[split].shards]
        documents = info.documents is not None
        shuffle = shuffle_of(info.splits[split].pairs, info.seed, split, records, documents=documents)
        self._plan = ShardPlan(shuffle, len(self._shards))

    @property
    def pairs(self) -> int:
        """Pair count of the split."""
        return self._plan.rows

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(part.pairs for part in self._parts))

    def record(self, where: str) -> int:
        """Returns the number of a record.

        Args:
            where: the number of the record in the split (``1017``), its shard and position (``3:17``, or with the file
                name of the shard), or the corpus and row that it comes from (``news:311``); all numbers are from 0.
        """
        place, colon, number = where.rpartition(":")
        if not number.isascii() or not number.isdecimal() or (colon and not place):
            raise ArgumentError(
                f"--trace {where}: expected a record such as 1017, SHARD:POSITION such as 3:17, or CORPUS:ROW such as "
                "news:311"
            )
        if not colon:
            return self._checked(int(number), self.pairs, f"records of {self._split}")
        if any(corpus.name == place for corpus in self._outputs.config.directed(self._split)):
            part, inside = CorpusRows(self._outputs, self._split, place).find(self._parts, int(number))
            first = self._ends[part] - self._parts[part].pairs
            return int(self._plan.shuffle.positions(first + inside, 1)[0])
        owned = self._plan.shard_range(self._shard(place))
        return owned[self._checked(int(number), len(owned), f"pairs in shard {place}")]

    def trace(self, record: int) -> Traced:
        """Returns a record with its origin."""
        # Records are the pairs of all parts, in the order of the parts, after a keyed permutation. It can be inverted
        # for one record alone, so a trace reads one row group and no shard.
        self._checked(record, self.pairs, f"records of {self._split}")
        shard = next(number for number in range(len(self._shards)) if record in self._plan.shard_range(number))
        pair = int(self._plan.shuffle.rows_at([record])[0])
        part = bisect_right(self._ends, pair)
        inside = pair - (self._ends[part] - self._parts[part].pairs)
        found = read_row(self._parts[part], inside)
        rows = CorpusRows(self._outputs, self._split, found["corpus"])
        row = found.get("row")
        if row is None:
            before = sum(earlier.pairs for earlier in self._parts[:part] if earlier.corpus == found["corpus"])
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
            corpora = ", ".join(corpus.name for corpus in self._outputs.config.directed(self._split))
            raise ArgumentError(f"{self._split} has no shard and no corpus {name!r} (corpora: {corpora})")
        return self._checked(int(name), len(self._shards), f"shards of {self._split}")

    @staticmethod
    def _checked(number: int, count: int, what: str) -> int:
        if not 0 <= number < count:
            raise ArgumentError(f"there is no number {number} among the {count:,} {what}, which are counted from 0")
        return number


def read_row(part: PairFile, number: int) -> dict[str, Any]:
    """Returns a pair of a part as its columns; reads one row group."""
    for group, pairs in enumerate(row_groups(part.path)):
        if number < pairs:
            table = pa.Table.from_batches(list(part.batches([group])))
            (row,) = table.slice(number, 1).to_pylist()
            found: dict[str, Any] = row
            return found
        number -= pairs
    raise ArgumentError(f"{part.path} has no pair {number}")


@dataclass(frozen=True)
class FilePlace:
    """A position in a file of a corpus."""

    part: str  # the sides that the file holds: `source`, `target` or `both`
    file: str  # the file, as the config names it
    unit: Literal["line", "pair"]  # `line`, or `pair` for formats whose pairs are not lines
    number: int  # number of that line or pair in the file, from 1

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.number:,}"


def corpus_of(config: Config, split: str, name: str) -> tuple[str, int, Corpus]:
    """Returns the split, number and corpus that a corpus, or one of its directions, was read as."""
    if split not in config.splits:
        raise ArgumentError(f"there is no split {split!r}; the splits are {', '.join(config.splits)}")
    for index, corpus in enumerate(config.splits[split]):
        if name in (corpus.name, corpus.reverse and corpus.reverse.name):
            return corpus_of(config, "train", name) if corpus.is_held_out else (split, index, corpus)
    known = ", ".join(corpus.name for corpus in config.directed(split))
    raise ArgumentError(f"there is no corpus {name!r} in {split}; its corpora are {known}")


class CorpusRows:
    """A corpus's rows."""

    def __init__(self, outputs: Outputs, split: str, name: str) -> None:
        """Finds the corpus; reads no file."""
        self._split, index, self._corpus = corpus_of(outputs.config, split, name)
        self._outputs, self._splits = outputs, {split, self._split}
        self._name = name
        self._source = corpus_files(outputs, self._split, index, self._corpus)

    def row_of(self, number: int) -> int:
        """Returns the row of the n-th compiled pair, counted from 0, in a corpus whose parts have no rows."""
        before = 0
        for batch in self._batches():
            rows = kept_rows(batch, self._corpus.read_sides)
            if number < before + len(rows):
                return int(rows[number - before])
            before += len(rows)
        raise OutputError(f"{self._source.where} has fewer pairs than were compiled; run again")

    def number_of(self, row: int) -> int:
        """Returns a row's index among the corpus's compiled pairs, counted from 0."""
        # Batches have ascending rows, with those that compile drops. So a row below the end of a batch that is not
        # among its kept rows was dropped, and a row above all ends does not exist.
        before = end = 0
        for batch in self._batches():
            assert batch.rows is not None
            end = int(batch.rows[-1]) + 1 if len(batch) else end
            rows = kept_rows(batch, self._corpus.read_sides)
            if row < end:
                place = int(np.searchsorted(rows, row))
                if place < len(rows) and rows[place] == row:
                    return before + place
                raise self._dropped(row, "compile", drop_reason(batch, row, self._corpus.read_sides))
            before += len(rows)
        raise ArgumentError(f"there is no row {row} in {self._corpus.name}; its rows are 0 to {end - 1}")

    def find(self, parts: list[PairFile], row: int) -> tuple[int, int]:
        """Returns the part index of a row, and its index in the part."""
        own = [number for number, part in enumerate(parts) if part.corpus == self._name]
        for number in own:
            before = 0
            for batch in iter_pairs(parts[number].path):
                if "row" not in batch.schema.names:
                    return self._counted(parts, own, self.number_of(row))  # parts without rows: nothing cleaned them
                places = np.flatnonzero(batch.column("row").to_numpy() == row)
                if len(places):
                    return number, before + int(places[0])
                before += len(batch)
        self.number_of(row)  # raises an error if it was not compiled
        raise self._dropped(row, *self._rejection(row))

    def files_of(self, row: int) -> list[FilePlace]:
        """Returns a row's positions in the corpus's files, or no positions if there is no such row."""
        if self._corpus.corpora is not None:
            return [FilePlace("both", f"{' and '.join(self._corpus.corpora)}, joined", "pair", row + 1)]
        reader = reader_of(format_of(self._corpus))
        unit: Literal["line", "pair"] = "line" if rows_are_lines(self._corpus) else "pair"
        for files in self._source.files:
            if len(self._source.files) > 1:  # rows are counted through all files
                rows = open_corpus(self._corpus, [files], self._outputs.config.languages).row_count()
                if row >= rows:
                    row -= rows
                    continue
            header = reader.header_lines(self._corpus) if unit == "line" else 0
            return [FilePlace(part, self._source.names[path], unit, row + header + 1) for part, path in files.items()]
        return []

    def _dropped(self, row: int, stage: str, reason: str) -> ArgumentError:
        """Returns the error for a row that a stage dropped, with its position in the files and its text."""
        lines = [f"row {row} of {self._corpus.name} was dropped by {stage}: {reason}", *map(str, self.files_of(row))]
        for batch in self._batches():
            assert batch.rows is not None
            for place in np.flatnonzero(batch.rows == row).tolist():
                for side in SIDES:
                    text = batch.side(side)[place].as_py()
                    lines.append(f"{side}: {text if len(text) <= _SHOWN else f'{text[:_SHOWN]}…'}")
                return ArgumentError("\n  ".join(lines))
        return ArgumentError("\n  ".join(lines))

    def _counted(self, parts: list[PairFile], own: list[int], number: int) -> tuple[int, int]:
        """Returns the part that contains the corpus's n-th pair, and the pair's index in that part."""
        for place in own:
            if number < parts[place].pairs:
                return place, number
            number -= parts[place].pairs
        raise OutputError(f"{self._source.where} has more pairs than were compiled; run again")

    def _batches(self) -> Iterator[PairBatch]:
        if self._corpus.pivot is not None:
            return compiled_pairs(self._outputs, self._split, self._corpus.name)
        steps = whole_steps(self._source.files[0], file_steps(self._outputs, self._split, self._corpus))
        lines = whole_lines(steps) if steps else None
        reader = open_corpus(self._corpus, self._source.files, self._outputs.config.languages, lines)
        return numbered(reader.pairs(), 0)

    def _rejection(self, row: int) -> tuple[str, str]:
        """Returns the stage after `compile` that dropped a row, and the reason as far as it is known."""
        for split, path in rejected_files(self._outputs):
            for batch in iter_pairs(path) if split in self._splits else ():
                for place in np.flatnonzero(batch.column("row").to_numpy() == row).tolist():
                    (found,) = batch.slice(place, 1).to_pylist()
                    if found["corpus"] == self._corpus.name:
                        return Limits.name if found["rule"] == RULE else Clean.name, _reason(found)
        if self._outputs.config.limits.pieces is not None:
            files = (part for split in self._splits for part in divided_files(self._outputs).get(split, ()))
            for part in files:
                own = part.corpus == self._corpus.name
                for batch in iter_pairs(part.path, columns=["row"]) if own else ():
                    if (batch.column("row").to_numpy() == row).any():
                        return Limits.name, RULE
        if reason := reason_for(self._outputs, self._split, self._corpus, row):
            return Divide.name, reason
        return Clean.name, "its rule is not recorded (set clean.rejects: all to record the rules of all pairs)"


def _reason(rejected: dict[str, Any]) -> str:
    if rejected["kept_corpus"] is not None:
        return f"{rejected['rule']}; row {rejected['kept_row']} of {rejected['kept_corpus']} was kept instead"
    if rejected["value"] is None:
        return ", ".join(filter(None, [rejected["rule"], rejected["column"]]))
    numbers = f"value {rejected['value']:.4g}, threshold {rejected['threshold']:.4g}"
    column, unanswered = rejected["column"], unanswered_text(rejected["column"], rejected["unanswered"])
    return ", ".join(filter(None, [rejected["rule"], column, numbers, unanswered]))
