"""Three compile rounds that join two corpora on equal lines in a pivot language.

One task per part of the two corpora divides its pairs by the key of the pivot's line. One task per key range joins the
range's pairs, and divides the joined pairs by the first corpus's part. A task per part of the first corpus brings its
pairs into the order of both corpora and writes them. So neither the memory nor the bytes depend on the number of
ranges, which follows from the amount of text.

In each corpus, a line of the pivot is joined only with its first different translations. Otherwise, a line such as
"Thank you." would give as many pairs as the product of its counts in both corpora.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import line_keys, pair_keys

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import OutputError
from nmt_prep.base.sides import OTHER, SIDES, Side
from nmt_prep.config import Config, Corpus
from nmt_prep.corpora import PairBatch, iter_pairs
from nmt_prep.corpora.parts import SCORE, PairFile, score_column
from nmt_prep.corpora.reader import PAIRS_PER_BATCH
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.compile.compile_tasks import CompiledSlice, PartsTask, made_by, write_sound
from nmt_prep.stages.compile.slices import CorpusFiles

RANGE_BYTES = 32 << 20  # Approximate bytes of text in a key range

MOST_BITS = 12

_PIVOT = ("pivot_high", "pivot_low")
_OTHER = ("other_high", "other_low")
_PLACE = ("part", "number")

Int64s: TypeAlias = "npt.NDArray[np.int64]"


@dataclass(frozen=True)
class DivideTask:
    """A part whose pairs are divided by the key of the pivot's line."""

    key: str
    part: Path
    number: int  # number of the part in its corpus
    pivot: Side  # the side with the pivot language
    scores: tuple[str, ...]  # the score columns to keep
    bits: int  # how many leading key bits give the range index
    output: Path  # the file to write, with a batch for each range


@dataclass(frozen=True)
class JoinTask:
    """A range of keys."""

    key: str
    number: int  # number of the range
    files: tuple[tuple[Path, ...], tuple[Path, ...]]  # the divided parts of both corpora
    output: Path  # the file to write, with a batch for each part of the first corpus


@dataclass(frozen=True)
class WriteTask(PartsTask):
    """The joined pairs of one part of the first corpus."""

    files: tuple[Path, ...]
    first_row: int  # how many joined pairs the previous parts have


Rows: TypeAlias = tuple[int, ...]  # The numbers of rows that a task wrote, by range or part


def divide_part(task: DivideTask, tick: Tick) -> Rows:
    """Divides a part's pairs by the key of the pivot's line. Ticks are pairs."""
    other = OTHER[task.pivot]
    found: list[pa.Table] = []
    row = 0
    for batch in iter_pairs(task.part, columns=[*SIDES, *task.scores]):
        keys = {side: _keys(batch.column(side)) for side in SIDES}
        columns = dict(zip((*_PIVOT, *_OTHER), [*keys[task.pivot].T, *keys[other].T], strict=True))
        places = {"part": np.full(len(batch), task.number), "number": np.arange(row, row + len(batch))}
        text = {"text": batch.column(other).cast(pa.large_string())}
        scores = {name: batch.column(name) for name in task.scores}
        found.append(_first_translations(pa.table({**columns, **places, **text, **scores})))
        row += len(batch)
        tick(len(batch))
    lines = _first_translations(pa.concat_tables(found))
    ranges = (
        lines["pivot_high"].to_numpy() >> np.uint64(64 - task.bits) if task.bits else np.zeros(len(lines), np.uint64)
    )
    return _write_groups(task.output, lines, ranges.astype(np.int64), 1 << task.bits)


def _keys(lines: pa.Array) -> npt.NDArray[np.uint64]:
    """Returns keys that are equal for lines that differ only in case, punctuation and spaces: uint64, ``[lines, 2]``.

    Normalized keys are also equal if digits differ, but lines with other numbers are not translations.
    """
    digits = pc.ascii_trim_whitespace(pc.replace_substring_regex(lines, r"[^\p{Nd}]+", " "))
    text, numbers = TextColumn.from_arrow(lines), TextColumn.from_arrow(digits)
    return pair_keys(
        line_keys(text.data, text.offsets, normalized=True), line_keys(numbers.data, numbers.offsets, normalized=False)
    )


_TRANSLATIONS = 3  # of a line that are joined, per corpus


# The first three of a set are among the first three of its subsets. So batches, parts and ranges are each reduced in
# turn, which bounds the memory, and the result is the same as of reducing the whole corpus at once.
def _first_translations(lines: pa.Table) -> pa.Table:
    """Returns the first different translations of each pivot line, in the order of keys, then of rows."""
    keys = lines.select((*_PIVOT, *_OTHER, *_PLACE)).append_column("row", pa.array(np.arange(len(lines))))
    keys = _sorted(keys, (*_PIVOT, *_OTHER, *_PLACE))
    keys = _sorted(keys.filter(pa.array(_begins(keys, (*_PIVOT, *_OTHER)))), (*_PIVOT, *_PLACE))
    begins = np.flatnonzero(_begins(keys, _PIVOT))
    ranks = np.arange(len(keys)) - np.repeat(begins, np.diff([*begins, len(keys)]))
    return lines.take(keys["row"].filter(pa.array(ranks < _TRANSLATIONS)))


def _sorted(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    return rows.take(pc.sort_indices(rows, [(name, "ascending") for name in names]))


def _begins(rows: pa.Table, names: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Returns true for each row that differs from the previous row in any of some columns."""
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = np.any([np.diff(rows[name].to_numpy()) != 0 for name in names], axis=0)
    return begins


def join_range(task: JoinTask, tick: Tick) -> Rows:
    """Joins the pairs in a key range. Ticks are pairs."""
    first, second = (
        _first_translations(pa.concat_tables(_group(path, task.number) for path in files)) for files in task.files
    )
    numbered = (
        table.select(_PIVOT).append_column(name, pa.array(np.arange(len(table))))
        for name, table in (("first", first), ("second", second))
    )
    # Arrow joins in any order, so the joined rows are sorted afterwards. A line gives at most three times three pairs.
    rows = next(numbered).join(next(numbered), [*_PIVOT], join_type="inner", use_threads=False)
    one, two = first.take(rows["first"]), second.take(rows["second"])
    places = {name: one[name] for name in _PLACE} | {f"second_{name}": two[name] for name in _PLACE}
    scores = {name: pc.min_element_wise(one[name], two[name]) for name in first.column_names if name.startswith(SCORE)}
    joined = pa.table({**places, "source": one["text"], "target": two["text"], **scores})
    tick(len(first) + len(second))
    joined = _in_order(joined)
    return _write_groups(task.output, joined, joined["part"].to_numpy(), len(task.files[0]))


def _in_order(joined: pa.Table) -> pa.Table:
    return _sorted(joined, (*_PLACE, *(f"second_{name}" for name in _PLACE)))


def write_joined(task: WriteTask, tick: Tick) -> CompiledSlice:
    """Writes the joined pairs of one part of the first corpus. Ticks are bytes of text."""
    pairs = pa.concat_tables(_group(path, task.number) for path in task.files)
    return write_sound(task, _pair_batches(task, _in_order(pairs).combine_chunks()), tick)


def _pair_batches(task: WriteTask, pairs: pa.Table) -> Iterator[PairBatch]:
    row = task.first_row
    for batch in pairs.to_batches(max_chunksize=PAIRS_PER_BATCH):
        columns = {f"scores.{name}": batch.column(score_column(name)) for name in task.source.corpus.scores}
        rows = np.arange(row, row + len(batch))
        yield PairBatch(batch.column("source"), batch.column("target"), rows=rows, columns=columns)
        row += len(batch)


def _write_groups(path: Path, rows: pa.Table, groups: Int64s, count: int) -> Rows:
    """Writes rows in the order of their groups to a file with a batch for each group."""
    bounds = np.searchsorted(groups, np.arange(count + 1)).tolist()
    rows = rows.combine_chunks()
    with (
        atomic_write(path) as beside,
        pa.OSFile(str(beside), "wb") as file,
        pa.ipc.new_file(file, rows.schema) as writer,
    ):
        for begin, end in pairwise(bounds):
            batches = rows[begin:end].to_batches()
            writer.write_batch(batches[0] if batches else pa.RecordBatch.from_pylist([], rows.schema))
    return tuple(np.diff(bounds).tolist())


def _group(path: Path, number: int) -> pa.Table:
    try:
        with pa.memory_map(str(path)) as file:
            return pa.Table.from_batches([pa.ipc.open_file(file).get_batch(number)])
    except (OSError, pa.ArrowException) as error:
        raise OutputError(f"cannot read {path}: {error}; run again with --force compile") from error


DIVIDE = Round("divide", divide_part, Rows, words="reading lines of a pivot language")
JOIN = Round("join", join_range, Rows, words="joining corpora by a pivot language")
WRITE = Round("joined", write_joined, CompiledSlice, unit="bytes", made=made_by, words="writing joined pairs")
JOIN_ROUNDS = (DIVIDE, JOIN, WRITE)


def has_pivots(config: Config) -> bool:
    """Returns true if a corpus joins others."""
    return any(corpus.pivot is not None for _, corpus in config.corpora)


@dataclass(frozen=True)
class Joined:
    """A corpus that joins two others."""

    source: CorpusFiles
    corpora: tuple[Corpus, ...]  # the two others
    parts: tuple[Sequence[PairFile], ...]  # their compiled parts

    @classmethod
    def of(cls, source: CorpusFiles, compiled: Mapping[tuple[str, str], tuple[Corpus, Sequence[PairFile]]]) -> Joined:
        """Returns a corpus with the parts of the corpora that it joins, given all parts by split and name."""
        found = [compiled[source.split, name] for name in source.corpus.corpora or ()]
        return cls(source, tuple(corpus for corpus, _ in found), tuple(parts for _, parts in found))

    @property
    def stem(self) -> str:
        """Prefix of its task and file names."""
        return f"{self.source.split}-{self.source.index:03d}"

    @property
    def bits(self) -> int:
        """How many leading key bits give the range index."""
        size = sum(part.bytes or 0 for parts in self.parts for part in parts)
        return min((max(-(-size // RANGE_BYTES), 1) - 1).bit_length(), MOST_BITS)

    def divisions(self, job: Job) -> list[DivideTask]:
        """Returns the tasks that divide the parts of both corpora."""
        pivot, settings = self.source.corpus.pivot, self.source.corpus
        return [
            DivideTask(
                f"divide-{self.stem}-{which}-{number:05d}",
                job.directory / part.file,
                number,
                "source" if corpus.pair is not None and corpus.pair.source == pivot else "target",
                tuple(map(score_column, sorted(settings.scores))),
                self.bits,
                job.scratch / f"divide-{self.stem}-{which}-{number:05d}",
            )
            for which, (corpus, parts) in enumerate(zip(self.corpora, self.parts, strict=True))
            for number, part in enumerate(parts)
        ]

    def joins(self, job: Job, divisions: Sequence[DivideTask]) -> list[JoinTask]:
        """Returns the tasks that join the ranges of keys."""
        files = tuple(task.output for task in divisions)
        both = files[: len(self.parts[0])], files[len(self.parts[0]) :]
        names = [f"join-{self.stem}-{number:04d}" for number in range(1 << self.bits)]
        return [JoinTask(name, number, both, job.scratch / name) for number, name in enumerate(names)]

    def writes(
        self, job: Job, joins: Sequence[JoinTask], joined: Sequence[Rows], keys: Callable[[int], Path | None]
    ) -> list[WriteTask]:
        """Returns the tasks that write the pairs; ``keys`` returns a slice's key file, given the slice's index."""
        sizes = np.sum(joined, axis=0)
        return [
            WriteTask(
                f"joined-{self.stem}-{number:05d}",
                self.source,
                number,
                job.config.languages,
                job.directory / self.source.split,
                keys(number),
                tuple(task.output for task in joins),
                first,
            )
            for number, first in enumerate((np.cumsum(sizes) - sizes).tolist())
        ]


def join_corpora(
    job: Job, corpora: Sequence[Joined], keys: Callable[[CorpusFiles, int], Path | None]
) -> Rounds[list[tuple[CorpusFiles, list[CompiledSlice]]]]:
    """Yields the rounds that join corpora; returns the results."""
    divisions = {corpus.stem: corpus.divisions(job) for corpus in corpora}
    pairs = sum(part.pairs for corpus in corpora for parts in corpus.parts for part in parts)
    yield from DIVIDE.run_groups(divisions, pairs)
    joins = {corpus.stem: corpus.joins(job, divisions[corpus.stem]) for corpus in corpora}
    joined = yield from JOIN.run_groups(joins)
    writes = {
        corpus.stem: corpus.writes(job, joins[corpus.stem], joined[corpus.stem], partial(keys, corpus.source))
        for corpus in corpora
    }
    results = yield from WRITE.run_groups(writes)
    return [(corpus.source, results[corpus.stem]) for corpus in corpora]
