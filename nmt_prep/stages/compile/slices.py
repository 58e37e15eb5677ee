"""The first two rounds of compile, which divide large corpora into slices.

The first counts the lines of large files. The second counts the rows in the other files that come before their corpus's
last slice, so that every slice knows its first row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nmt_prep.base.digests import FileSteps, StepRange
from nmt_prep.base.errors import CorpusError
from nmt_prep.base.file_kinds import mismatch
from nmt_prep.config import Corpus
from nmt_prep.config.section import Languages
from nmt_prep.corpora import LineSlice, format_of, open_corpus, reader_of
from nmt_prep.corpora import slices as limits
from nmt_prep.corpora.formats.plain import unaligned
from nmt_prep.corpora.registry import parts_of
from nmt_prep.corpora.scores import unequal_lines
from nmt_prep.corpora.slices import (
    Bounds,
    LineIndex,
    LineStart,
    RangeCounts,
    count_range,
    cut,
    line_slice,
    whole_lines,
)
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.text.chunks import one_byte_newlines

Files = Mapping[str, Path]


@dataclass(frozen=True)
class CorpusFiles:
    """A corpus of a split."""

    split: str
    index: int  # corpus index in the split
    corpus: Corpus  # the corpus in the config
    files: Sequence[Files]  # groups of files that are read together, by the names that the reader has for them
    sizes: Mapping[Path, int]  # sizes of the files in bytes
    names: Mapping[Path, str]  # names of the files in the config, for messages
    # the files of columns by their keys in the config; one file for the whole corpus
    columns: Mapping[str, Path] = field(default_factory=dict)
    rows: bool = True  # true if the parts need the rows of the pairs
    digests: Mapping[Path, str] = field(default_factory=dict)  # SHA-256 of the files

    @property
    def where(self) -> str:
        """Key of the corpus in the config."""
        return f"splits.{self.split}.{self.corpus.name}"

    def explained(self, error: CorpusError) -> CorpusError:
        """Returns a reader's error in terms of the config.

        The message begins with the corpus's key and names files as the config does. If a file seems to have another
        format, the message names this format.
        """
        message = str(error)
        named = [path for path in self.names if str(path) in message]
        hints: list[str] = []
        for path in named:
            part = next((part for files in self.files for part, file in files.items() if file == path), "")
            if part and (hint := mismatch(path, format_of(self.corpus), self.corpus.encoding_of(part), part)):
                hints.append(f"; {self.names[path]}: {hint}")
            message = message.replace(str(path), self.names[path])
        return type(error)(f"{self.where}: {message}{''.join(hints)}")

    def size(self, files: Files) -> int:
        """Returns the largest file's size in bytes."""
        return max(self.sizes[path] for path in files.values())


@dataclass(frozen=True)
class CorpusSlice:
    """The part of a corpus that one task compiles."""

    files: Sequence[Files]  # some files of the corpus, read one after another
    # the lines to read of each file, if a file is cut; empty if files are read whole
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    first_row: int = 0  # how many rows the corpus has before the slice
    last: bool = True  # true if no slice of the corpus follows
    # the line of the first row in each file of a column; empty for the first slice
    columns: Mapping[str, LineStart] = field(default_factory=dict)
    # the steps of each file to read, to check that they have not changed; empty for files that were extracted
    steps: Mapping[str, StepRange] = field(default_factory=dict)

    def lines(self) -> dict[str, LineSlice] | None:
        """Returns the lines to read from each file, or None for all lines in files that are not checked."""
        if self.bounds:
            [files] = self.files
            return {part: line_slice(path, self.bounds[part], self.steps.get(part)) for part, path in files.items()}
        return whole_lines(self.steps) if self.steps else None


@dataclass(frozen=True)
class LinesTask:
    """A range of a file whose lines are to be counted."""

    key: str
    source: CorpusFiles
    path: Path
    start: int
    end: int
    encoding: str
    quote: bytes


def count_lines(task: LinesTask, tick: Tick) -> RangeCounts:
    """Counts the lines in a range of a file. Ticks are bytes."""
    try:
        return count_range(task.path, task.start, task.end, task.encoding, task.quote, tick)
    except CorpusError as error:
        raise task.source.explained(error) from error


LINES = Round("lines", count_lines, RangeCounts, unit="bytes", words="counting lines")


@dataclass(frozen=True)
class RowsTask:
    """A slice of a corpus whose rows are to be counted."""

    key: str
    source: CorpusFiles
    slice: CorpusSlice
    languages: Languages


def count_rows(task: RowsTask, tick: Tick) -> int:
    """Counts the rows of a slice. Ticks are bytes."""
    try:
        rows, lines = 0, task.slice.lines()
        for files in task.slice.files:
            rows += open_corpus(task.source.corpus, [files], task.languages, lines).row_count()
            tick(task.source.size(files))
    except CorpusError as error:
        raise task.source.explained(error) from error
    return rows


ROWS = Round("rows", count_rows, int, unit="bytes", words="counting rows")


def slice_corpora(
    corpora: Sequence[CorpusFiles], languages: Languages, steps: Mapping[Path, FileSteps]
) -> Rounds[list[list[CorpusSlice]]]:
    """Yields the rounds that count lines and rows; returns each corpus's slices, in order.

    A small corpus is one slice, and so is a large one that cannot be cut.
    """
    # A slice must know the row of its first pair: error messages, columns and cleaning name pairs by it. The line index
    # of a large file gives both the cuts and the rows. Files read in place have an index already, from their digests.
    counting = {
        (place, number, part): list(_lines_tasks(corpus, number, part, path))
        for place, corpus in enumerate(corpora)
        for number, files in _counted_files(corpus)
        for part, path in files.items()
        if path not in steps
    }
    size = sum(task.end - task.start for tasks in counting.values() for task in tasks)
    counted = yield from LINES.run_groups(counting, size)
    indices: list[dict[int, dict[str, LineIndex]]] = [
        {
            number: {
                part: LineIndex.of_steps(steps[path])
                if path in steps
                else LineIndex.of(corpus.sizes[path], counted[place, number, part])
                for part, path in files.items()
            }
            for number, files in _counted_files(corpus)
        }
        for place, corpus in enumerate(corpora)
    ]
    sliced = [
        list(_slices(corpus, [index.get(number, {}) for number in range(len(corpus.files))]))
        for corpus, index in zip(corpora, indices, strict=True)
    ]
    # Smaller files, and formats that cannot be cut, are counted by reading them; nothing follows the last slice.
    tasks = [
        RowsTask(_rows_key(corpus, number), corpus, slice_, languages)
        for corpus, slices in zip(corpora, sliced, strict=True)
        for number, slice_ in enumerate(slices[:-1])
        if corpus.rows and not _has_rows_by_lines(corpus, slice_)
    ]
    sizes = yield from ROWS.run(tasks, sum(task.source.size(files) for task in tasks for files in task.slice.files))
    rows = dict(zip([task.key for task in tasks], sizes, strict=True))
    placed = (
        _placed(corpus, slices, _first_rows(corpus, slices, rows), index.get(len(corpus.files), {}))
        for corpus, slices, index in zip(corpora, sliced, indices, strict=True)
    )
    return [[replace(slice_, steps=_steps_of(slice_, steps)) for slice_ in slices] for slices in placed]


def whole_steps(files: Files, steps: Mapping[Path, FileSteps]) -> dict[str, StepRange]:
    """Returns all steps of the files that are read in place, by part."""
    return {part: steps[path].of_range(0, steps[path].size) for part, path in files.items() if path in steps}


def _steps_of(slice_: CorpusSlice, steps: Mapping[Path, FileSteps]) -> dict[str, StepRange]:
    """Returns a slice's steps; a file that is read in place is the only one in its part."""
    files = slice_.files[0]
    if not slice_.bounds:
        return whole_steps(files, steps)
    return {
        part: steps[files[part]].of_range(begin.seek, end.seek + (steps[files[part]].step if end.newlines else 0))
        for part, (begin, end) in slice_.bounds.items()
        if files[part] in steps
    }


def _counted_files(corpus: CorpusFiles) -> Iterator[tuple[int, Files]]:
    """Yields the files whose lines are counted: the large ones, by their number, and then the columns of all files."""
    for number, files in enumerate(corpus.files):
        if _is_line_by_line(corpus.corpus) and corpus.size(files) > limits.SLICE_BYTES:
            yield number, files
    if corpus.columns and sum(map(corpus.size, corpus.files)) >= limits.SLICE_BYTES:
        yield len(corpus.files), corpus.columns


def _first_rows(corpus: CorpusFiles, slices: Sequence[CorpusSlice], rows: Mapping[str, int]) -> list[int]:
    """Returns each slice's first row, then the number of known rows."""
    header = reader_of(format_of(corpus.corpus)).header_lines(corpus.corpus)
    firsts = [0]
    for number, slice_ in enumerate(slices):
        if _has_rows_by_lines(corpus, slice_):
            begin, end = next(iter(slice_.bounds.values()))
            firsts.append(firsts[-1] + end.line - max(begin.line, header))
        else:
            firsts.append(firsts[-1] + rows.get(_rows_key(corpus, number), 0))
    return firsts


def _placed(
    corpus: CorpusFiles, slices: Sequence[CorpusSlice], rows: Sequence[int], columns: Mapping[str, LineIndex]
) -> list[CorpusSlice]:
    """Returns a corpus's slices with their first rows, and these rows' lines in the column files."""
    if len(slices) < 2:
        return [*slices]
    # The last slice has unknown rows unless it was cut by lines, so a longer column can only be reported by its task.
    for key, lines in columns.items():
        exact = _has_rows_by_lines(corpus, slices[-1])
        if lines.lines < rows[-1] or (exact and lines.lines > rows[-1]):
            count = f"{'' if exact else 'at least '}{rows[-1]}"
            raise corpus.explained(unequal_lines(key, corpus.columns[key], lines.lines, count))
    return [
        replace(
            slice_,
            first_row=row,
            last=number == len(slices) - 1,
            columns={key: lines.start_of(row) if row < lines.lines else lines.end for key, lines in columns.items()},
        )
        for number, (slice_, row) in enumerate(zip(slices, rows, strict=False))
    ]


def _has_rows_by_lines(corpus: CorpusFiles, slice_: CorpusSlice) -> bool:
    """Returns True if the bounds of a slice tell its rows."""
    return bool(slice_.bounds) and not reader_of(format_of(corpus.corpus)).divides(corpus.corpus)


def _rows_key(corpus: CorpusFiles, number: int) -> str:
    return f"rows-{corpus.split}-{corpus.index:03d}-{number:05d}"


def _lines_tasks(corpus: CorpusFiles, number: int, part: str, path: Path) -> Iterator[LinesTask]:
    size, is_text = corpus.sizes[path], path not in corpus.columns.values()
    for start in range(0, size, limits.COUNT_BYTES):
        yield LinesTask(
            key=f"lines-{corpus.split}-{corpus.index:03d}-{number:05d}-{part}-{start // limits.COUNT_BYTES:05d}",
            source=corpus,
            path=path,
            start=start,
            end=min(start + limits.COUNT_BYTES, size),
            encoding=corpus.corpus.encoding_of(part) if is_text else "utf-8",
            quote=reader_of(format_of(corpus.corpus)).quote if is_text else b"",
        )


def _slices(corpus: CorpusFiles, indices: Sequence[Mapping[str, LineIndex]]) -> Iterator[CorpusSlice]:
    """Cuts large files; joins smaller ones until they are as large as a slice."""
    held: list[Files] = []
    for files, index in zip(corpus.files, indices, strict=True):
        lines = {part: counted.lines for part, counted in index.items()}
        if len(set(lines.values())) > 1:
            raise corpus.explained(unaligned(files, lines))
        if index and all(counted.apart for counted in index.values()):
            if held:
                yield CorpusSlice(held)
                held = []
            yield from (CorpusSlice([files], bounds) for bounds in cut(index))
        else:
            held.append(files)
            if sum(map(corpus.size, held)) >= limits.SLICE_BYTES:
                yield CorpusSlice(held)
                held = []
    if held:
        yield CorpusSlice(held)


def _is_line_by_line(corpus: Corpus) -> bool:
    encodings = map(corpus.encoding_of, parts_of(corpus))
    return reader_of(format_of(corpus)).lines_apart and all(map(one_byte_newlines, encodings))
