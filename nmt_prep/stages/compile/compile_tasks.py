"""The tasks of the round ``compile``: they read, check and count pairs, and write them to parts.

Parts of large plain files that are read in place name lines in these files, which are linked beside the parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from types import MappingProxyType

import numpy as np

from nmt_prep.base.artefacts import point_to
from nmt_prep.base.digests import StepRange
from nmt_prep.base.errors import CorpusError
from nmt_prep.base.sides import OTHER, SIDES, Side
from nmt_prep.cleaning.pair_observer import PairFacts, PairObserver
from nmt_prep.config import Corpus
from nmt_prep.config.section import Languages
from nmt_prep.corpora import Fault, PairBatch, format_of, open_corpus, reader_of, rows_are_lines
from nmt_prep.corpora.formats.plain import PlainReader, TextFile
from nmt_prep.corpora.parts import PairFile, write_line_parts, write_parts
from nmt_prep.corpora.reader import DOCUMENT, Rows, numbered
from nmt_prep.corpora.scores import ColumnLines, RowPlace, checked_weights, in_order, with_columns
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round
from nmt_prep.stages.compile.compile_health import key_file, observe
from nmt_prep.stages.compile.slices import CorpusFiles, CorpusSlice
from nmt_prep.text.blocks import blank_lines, text_bytes

_FAULTS = {fault: fault.name.lower() for fault in Fault if fault != Fault.BLANK}

FAULTS = tuple(_FAULTS.values())  # Drop reasons that come from readers

DROP_REASONS = ("empty_source", "empty_target", "empty_both", *FAULTS, "vocab_only")


@dataclass(frozen=True)
class PartsTask:
    """A slice of one split's corpus, whose pairs are written to parts."""

    key: str
    source: CorpusFiles
    number: int  # number of the slice
    languages: Languages
    directory: Path  # directory for the parts
    keys: Path | None  # file for the keys of the pairs, to find pairs that are in two splits; None to write no keys


@dataclass(frozen=True)
class CompileTask(PartsTask):
    """One split's corpus to compile, or a slice of it."""

    slice: CorpusSlice  # the part of the corpus to compile
    whole: bool  # true if the slice is the whole corpus
    # true if the pairs are written to parts, including a corpus of role vocab whose lines are cleaned
    written: bool = True
    weight: str | None = None  # key of the score that is the weight of pairs; None if there is none


@dataclass(frozen=True)
class CorpusCounts:
    """Pair and byte counts of a corpus or a slice."""

    pairs_in: int  # number of pairs read
    pairs_out: int  # number of compiled pairs
    dropped: dict[str, int]  # number of dropped pairs by reason, for all reasons
    altered: dict[str, int]  # number of altered lines by alteration, such as `carriage_returns` for removed ones
    source_bytes: int  # UTF-8 bytes of all source lines, with one byte for the end of each line
    target_bytes: int  # UTF-8 bytes of all target lines, with one byte for the end of each line

    def __add__(self, other: CorpusCounts) -> CorpusCounts:
        return CorpusCounts(
            self.pairs_in + other.pairs_in,
            self.pairs_out + other.pairs_out,
            {reason: count + other.dropped[reason] for reason, count in self.dropped.items()},
            {what: count + other.altered[what] for what, count in self.altered.items()},
            self.source_bytes + other.source_bytes,
            self.target_bytes + other.target_bytes,
        )


@dataclass(frozen=True)
class CompiledSlice:
    """The result of a task."""

    parts: tuple[PairFile, ...]  # the files of pairs
    digests: dict[str, str]  # SHA-256 of these files and the files that they name
    counts: CorpusCounts  # counts of pairs and bytes
    scored: dict[str, int]  # number of compiled pairs with a value in a column, by key of the column
    facts: PairFacts = field(default_factory=PairFacts)  # counts of the compiled pairs for warnings


def compile_slice(task: CompileTask, tick: Tick) -> CompiledSlice:
    """Compiles one corpus or a slice of it. Ticks are bytes of text."""
    try:
        result = _compile(task, tick)
    except CorpusError as error:
        raise task.source.explained(error) from error
    if task.whole:
        check_result(task.source, [result])
    return result


def made_by(task: PartsTask, result: CompiledSlice) -> list[Path]:
    """Returns the files that a task wrote."""
    return [*(task.directory.parent / file for file in result.digests), *filter(None, [task.keys])]


COMPILE = Round("compile", compile_slice, CompiledSlice, unit="bytes", words="reading pairs", made=made_by)


def check_result(source: CorpusFiles, slices: Sequence[CompiledSlice]) -> CorpusCounts:
    """Checks the results of all slices of a corpus; returns the counts."""
    counts = reduce(add, (compiled.counts for compiled in slices))
    if source.corpus.role == "vocab":
        return counts
    if not counts.pairs_out:
        raise _no_pairs(source, counts)
    for key in source.corpus.places:
        if not sum(compiled.scored[key] for compiled in slices):
            what = "no pair has a document" if key == DOCUMENT else "no pair has this score"
            raise CorpusError(f"{source.where}.{key}: {what}; correct it in the config")
    return counts


def _no_pairs(source: CorpusFiles, counts: CorpusCounts) -> CorpusError:
    """Returns the error to raise if no pair of a corpus is left."""
    if source.corpus.corpora is not None:
        first, second = source.corpus.corpora
        what = f"{first} and {second} have no equal lines of {source.corpus.pivot}"
        return CorpusError(f"{source.where}: {what}; name other corpora, or remove it")
    names = " and ".join(str(path) for files in source.files for path in files.values())
    reasons = ", ".join(f"{reason} {count}" for reason, count in counts.dropped.items() if count)
    error = CorpusError(
        f"{source.corpus.lacks_text} ({counts.pairs_in} pairs in {names}"
        f"{'; dropped: ' * bool(reasons)}{reasons}); check its format and options in the config, or remove it"
    )
    return source.explained(error)


def _compile(task: CompileTask, tick: Tick) -> CompiledSlice:
    corpus = task.source.corpus
    counts = _Counting(corpus.places)
    reader = open_corpus(corpus, task.slice.files, task.languages, task.slice.lines())
    columns = [ColumnLines(key, path, task.slice.columns.get(key)) for key, path in task.source.columns.items()]
    rows = with_columns(reader.pairs(), columns, last=task.slice.last)
    if task.weight is not None:
        rows = checked_weights(rows, task.weight, _place_of(task, task.weight))
    if corpus.document is not None and corpus.document.at != (reader_of(format_of(corpus)).own_documents or None):
        rows = in_order(rows, _place_of(task, DOCUMENT))
    # The text of small corpora is copied, which costs little time, so that other programs can read it.
    names_lines = task.written and not task.whole
    files = linked_files(task.source, task.slice, task.directory.parent) if names_lines else {}
    numbers = task.source.rows or files
    batches = _sound(numbered(rows, task.slice.first_row) if numbers else rows, counts, tick, corpus.read_sides)
    if task.written:
        return _written(task, batches, counts, files, reader.counts)
    counts.dropped["vocab_only"] = sum(len(batch) for batch in batches)
    return CompiledSlice((), {}, counts.result(reader.counts), counts.scored)


def _place_of(task: CompileTask, key: str) -> RowPlace:
    """Returns the position of a column's first value."""
    source, row = task.source, task.slice.first_row
    if key in source.columns:
        return RowPlace(source.columns[key], "line", row + 1)
    reader, path = reader_of(format_of(source.corpus)), next(iter(task.slice.files[0].values()))
    if rows_are_lines(source.corpus) and len(source.files) == 1:
        return RowPlace(path, "line", row + 1 + reader.header_lines(source.corpus))
    return RowPlace(path, "row", row)


def write_sound(task: PartsTask, batches: Iterator[PairBatch], tick: Tick) -> CompiledSlice:
    """Writes pairs with their rows to parts, without pairs that have an empty side. Ticks are bytes of text."""
    counts = _Counting(task.source.corpus.places)
    return _written(task, _sound(batches, counts, tick), counts)


def _written(
    task: PartsTask,
    batches: Iterator[PairBatch],
    counts: _Counting,
    files: Mapping[Side, LinkedFile] = MappingProxyType({}),
    altered: Mapping[str, int] = MappingProxyType({}),
) -> CompiledSlice:
    observer = PairObserver(task.source.corpus.spoken(task.languages), task.source.corpus.read_sides)
    with key_file(task.keys) as keys:
        parts = _write(task, observe(batches, observer, keys), files)
    written = [replace(part, file=f"{task.source.split}/{part.file}") for part in parts]
    return CompiledSlice(
        tuple(replace(part, sha256=None) for part in written),
        {part.file: part.sha256 for part in written if part.sha256 is not None}
        | {file.link: file.sha256 for file in files.values() if written},
        counts.result(altered),
        counts.scored,
        observer.result(),
    )


def _write(task: PartsTask, batches: Iterator[PairBatch], files: Mapping[Side, LinkedFile]) -> list[PairFile]:
    """Writes the parts of a slice: with line indexes into ``files``, or with the text if there are none."""
    corpus = task.source.corpus
    prefix = f"part-{task.source.index:03d}-{task.number:05d}"
    if not files:
        return write_parts(batches, corpus.name, task.directory, prefix, len(corpus.read_sides))
    return write_line_parts(
        batches,
        corpus.name,
        task.directory,
        prefix,
        {side: TextFile(f"../{file.link}", file.steps) for side, file in files.items()},
        has_rows=task.source.rows,
        strip_returns=corpus.crlf == "strip",
    )


class _Counting:
    """Counts of a corpus while it is read."""

    def __init__(self, columns: Iterable[str]) -> None:
        self.scored = dict.fromkeys(columns, 0)
        self.pairs_in = 0
        self.bytes = {"source": 0, "target": 0}
        self.dropped = dict.fromkeys(DROP_REASONS, 0)

    def result(self, altered: Mapping[str, int]) -> CorpusCounts:
        return CorpusCounts(
            pairs_in=self.pairs_in,
            pairs_out=self.pairs_in - sum(self.dropped.values()),
            dropped=self.dropped,
            altered={what: altered.get(what, 0) for what in ("byte_order_marks", "carriage_returns")},
            source_bytes=self.bytes["source"],
            target_bytes=self.bytes["target"],
        )


def _sound(
    batches: Iterator[PairBatch], counts: _Counting, tick: Tick, sides: Sequence[Side] = SIDES
) -> Iterator[PairBatch]:
    """Drops pairs that have a fault or, once stripped, an empty line on one of their sides; counts them."""
    for batch in map(without_blanks, batches):
        sizes = {side: text_bytes(batch.side(side)) + len(batch) for side in sides}
        counts.pairs_in += len(batch)
        for side, size in sizes.items():
            counts.bytes[side] += size
        if batch.faults is not None:
            for fault, reason in _FAULTS.items():
                counts.dropped[reason] += int(np.count_nonzero(batch.faults == fault))
        pairs = batch.sound()
        source_empty, target_empty = (
            blank_lines(pairs.side(side)) if side in sides else np.zeros(len(pairs), np.bool_) for side in SIDES
        )
        either, both = source_empty | target_empty, source_empty & target_empty
        empty = int(np.count_nonzero(both))
        counts.dropped["empty_both"] += empty
        counts.dropped["empty_source"] += int(np.count_nonzero(source_empty)) - empty
        counts.dropped["empty_target"] += int(np.count_nonzero(target_empty)) - empty
        if either.any():
            pairs = pairs.filter(~either)
        for key, values in pairs.columns.items():
            counts.scored[key] += len(values) - values.null_count
        yield pairs
        tick(sum(sizes.values()))


def kept_rows(batch: PairBatch, sides: Sequence[Side]) -> Rows:
    """Returns the rows of a batch's pairs that are compiled: int64, ascending. The batch must have its rows."""
    (kept,) = _sound(iter([batch]), _Counting(batch.columns), lambda _: None, sides)
    assert kept.rows is not None
    return kept.rows


def drop_reason(batch: PairBatch, row: int, sides: Sequence[Side]) -> str:
    """Returns why a row in a batch is not compiled, one of :data:`DROP_REASONS` or ``blank``."""
    assert batch.rows is not None
    counts = _Counting(batch.columns)
    for _ in _sound(iter([batch.filter(batch.rows == row)]), counts, lambda _: None, sides):
        pass
    return next((reason for reason, count in counts.dropped.items() if count), "blank")


def without_blanks(batch: PairBatch) -> PairBatch:
    """Returns the pairs without the rows that are blank lines."""
    if batch.faults is None or not (blank := batch.faults == Fault.BLANK).any():
        return batch
    return batch.filter(~blank)


DIRECTORY = "inputs"  # Directory of the links, below the directory of the stage


@dataclass(frozen=True)
class LinkedFile:
    """A file whose lines a part can name."""

    link: str  # path of the link to it, relative to the directory of the stage
    sha256: str  # SHA-256 of its bytes
    steps: StepRange  # the steps that contain the lines of a slice


def linked_files(source: CorpusFiles, slice_: CorpusSlice, directory: Path) -> Mapping[Side, LinkedFile]:
    """Links the files whose lines a slice's parts can name; returns them by the pairs' side.

    There are none if the parts must hold the text, because it is not a line of a file read in place, or has columns, or
    because the file system has no links.
    """
    if set(slice_.steps) != set(source.corpus.sides) or not has_lines_as_they_are(source.corpus):
        return {}
    [files] = slice_.files
    found: dict[Side, LinkedFile] = {}
    for part in source.corpus.sides:
        side = OTHER[part] if source.corpus.swap else part
        sha256 = source.digests[files[part]]
        found[side] = LinkedFile(f"{DIRECTORY}/{sha256}", sha256, slice_.steps[part])
        if not point_to(files[part].absolute(), directory / found[side].link):
            return {}
    return found


def has_lines_as_they_are(corpus: Corpus) -> bool:
    """Returns true if a corpus's pairs are lines of its files, except for carriage returns at their ends."""
    # A reader of another package that is derived from this one may change the text.
    is_plain = reader_of(format_of(corpus)) is PlainReader
    return is_plain and {*map(corpus.encoding_of, corpus.sides)} == {"utf-8"} and not corpus.places
