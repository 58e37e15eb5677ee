"""Cleans tab-separated lines from standard input to standard output, one block of lines at a time."""

from __future__ import annotations

import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from functools import partial, reduce
from itertools import islice
from operator import add
from pathlib import Path
from queue import SimpleQueue

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.artefacts import output_file, writing
from nmt_prep.base.columns import TextColumn, concatenated, joined_lines
from nmt_prep.base.digests import DigestCache
from nmt_prep.base.errors import CleaningError, CorpusError
from nmt_prep.base.progress import Progress
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.cleaner import Cleaner
from nmt_prep.cleaning.evaluation_segments import FILE, Segments, id_corpora, read_segments, set_name
from nmt_prep.cleaning.leaks import (
    LARGE_SHARE,
    EvaluationSet,
    LeakFinder,
    gathered,
    total_leaks,
    verdict_of,
)
from nmt_prep.cleaning.rejects import CleanCounts, Verdict
from nmt_prep.cleaning.rule import Context, Values
from nmt_prep.cli.shared_options import STANDARD_INPUT, check_outputs
from nmt_prep.cli.text_stream import InputLines, carriage_return_hint, input_lines, write_lines
from nmt_prep.config import Corpus, DownloadSettings, ExtractSettings, Languages
from nmt_prep.corpora import PairBatch, open_corpus
from nmt_prep.corpora.archives.entry import Archive
from nmt_prep.corpora.archives.extraction import extract_members
from nmt_prep.corpora.scores import column_of
from nmt_prep.corpora.sources.downloads import Store
from nmt_prep.corpora.sources.lockfile import LockFile, lock_path
from nmt_prep.runs.checks.corpus_checks import StreamCleaning
from nmt_prep.stages.download import SACREBLEU, fetch_files
from nmt_prep.stages.extract import wanted_by
from nmt_prep.text.blocks import spans
from nmt_prep.text.computed import close_columns

_TAB = ord("\t")


@dataclass
class Worker:
    """Cleaner and finder of one thread; the finder is None if there are no evaluation sets."""

    cleaner: Cleaner
    finder: LeakFinder | None

    @property
    def counts(self) -> CleanCounts:
        """The counts of all blocks so far."""
        return self.cleaner.counts if self.finder is None else self.cleaner.counts + self.finder.counts


def make_workers(
    loaded: StreamCleaning,
    config: Path,
    threads: int,
    progress: Progress,
    scores: Mapping[str, int],
    outputs: Mapping[str, Path | int | None],
) -> tuple[list[Worker], list[EvaluationSet]]:
    """Returns a worker for each thread, and the evaluation sets that pairs are compared with.

    Args:
        scores: column of each score by its name; columns count from 0.
    """
    context = Context(loaded.languages, SIDES, config.parent, loaded.computed)
    cleaners = [Cleaner(loaded.cleaning, context, "standard input") for _ in range(threads)]
    _check_scores(cleaners[0], scores)
    sets_from = loaded.decontaminate.against or ()
    files = cleaners[0].files | {entry: config.parent / entry.removeprefix(FILE) for entry in sets_from}
    check_outputs(outputs, {**STANDARD_INPUT, **files})
    finders, sets = _finders(loaded, config, threads, progress)
    return list(map(Worker, cleaners, finders)), sets


def _check_scores(cleaner: Cleaner, scores: Mapping[str, int]) -> None:
    for rule in cleaner.rules:
        for name in rule.scores:
            if name not in scores:
                raise CleaningError(
                    f"the rule {rule.key} needs the score {name!r}; name its column, such as --score {name}=2"
                )


def clean_input(
    workers: Sequence[Worker], scores: Mapping[str, int], rejected: Path | None, progress: Progress
) -> None:
    """Cleans standard input to standard output, and writes the dropped lines to a file; None discards them."""
    idle: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        idle.put(worker)
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(sys.stderr))  # users' functions may print
        rejects = None if rejected is None else stack.enter_context(output_file(rejected))
        pool = stack.enter_context(ThreadPoolExecutor(len(workers), thread_name_prefix="clean"))
        meter = stack.enter_context(progress.meter("cleaning", unit="pairs"))
        work = (partial(_clean, idle, scores, lines) for lines in input_lines())
        for block in _in_order(pool, work, ahead=2 * len(workers)):
            write_lines(block.kept)
            if rejects is not None and rejected is not None:
                with writing(rejected):
                    rejects.write(joined_lines(block.rejected))
            meter.advance(block.size)
        close_columns()


@dataclass(frozen=True)
class _Block:
    size: int
    kept: pa.Array
    rejected: pa.Array  # the lines that are dropped, with their reasons


def _clean(idle: SimpleQueue[Worker], scores: Mapping[str, int], lines: InputLines) -> _Block:
    text, rest, values = _split(lines, scores)
    worker = idle.get()
    try:
        judged = worker.cleaner.clean(text, values, lambda pair: f"line {lines.first + pair}")
        rows = np.arange(lines.first, lines.first + len(lines.text))
        verdict = verdict_of(worker.finder, judged, rows)
    finally:
        idle.put(worker)
    written = concatenated(judged.text["source"], "\t", judged.text["target"], rest)
    dropped = written.filter(pa.array(~verdict.kept))
    return _Block(
        len(lines.text),
        written.filter(pa.array(verdict.kept)),
        _with_reasons(dropped, verdict, rows[~verdict.kept], pointers=worker.finder is not None),
    )


def _with_reasons(lines: pa.Array, verdict: Verdict, numbers: npt.NDArray[np.int64], *, pointers: bool) -> pa.Array:
    """Returns dropped lines with five more columns: rule, column, value, threshold, and line number.

    With ``pointers``, two more columns have the set and the row of the segment that a pair contains, or are empty.
    """
    values = (pa.array(column, from_pandas=True) for column in (verdict.values, verdict.thresholds))
    columns = [verdict.reasons, verdict.columns, *values, pa.array(numbers)]
    if pointers:
        columns += verdict.instead or (pa.nulls(len(lines), pa.string()), pa.nulls(len(lines), pa.int64()))
    return concatenated(lines, *(pc.fill_null(column.cast(pa.string()), "") for column in columns), between="\t")


def _split(lines: InputLines, scores: Mapping[str, int]) -> tuple[dict[Side, pa.Array], pa.Array, dict[str, Values]]:
    """Splits lines into columns at tabs.

    Returns:
        The two sides: ``large_string`` arrays. All further columns of a line, with the tab before them. The columns of
        scores by name: float64, shape ``[lines]``, NaN for an empty field.
    """
    column = TextColumn.from_arrow(lines.text)
    data, starts, ends = column.data, column.offsets[:-1], column.offsets[1:]
    cuts = np.flatnonzero(data[: ends[-1]] == _TAB)
    first = np.searchsorted(cuts, starts)
    tabs = np.searchsorted(cuts, ends) - first
    needed = max(1, *scores.values()) if scores else 1
    if (tabs < needed).any():
        number = int((tabs < needed).argmax())
        line = bytes(data[starts[number] : ends[number]])
        raise CorpusError(
            f"{lines.name}, line {lines.first + number}: it has {int(tabs[number]) + 1} of the "
            f"{needed + 1} columns needed, which are separated by tabs{carriage_return_hint(line)}"
        )
    bounds = np.append(cuts, data.size)

    def field(number: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        begin = starts if number == 0 else bounds[first + number - 1] + 1
        return begin, np.where(number < tabs, bounds[np.minimum(first + number, len(cuts))], ends)

    def numbers(name: str, number: int) -> Values:
        where = f"column {number} of {lines.name}, line"
        scored = column_of(spans(data, *field(number)), f"scores.{name}", lambda line: f"{where} {lines.first + line}")
        return np.asarray(scored.to_numpy(zero_copy_only=False), np.float64)

    text: dict[Side, pa.Array] = {side: spans(data, *field(number)) for number, side in enumerate(SIDES)}
    rest = spans(data, field(1)[1], ends)
    return text, rest, {name: numbers(name, number) for name, number in scores.items()}


def _in_order(pool: ThreadPoolExecutor, work: Iterator[Callable[[], _Block]], ahead: int) -> Iterator[_Block]:
    """Yields the results in the work's order, with at most ``ahead`` work items in progress."""
    running: deque[Future[_Block]] = deque(pool.submit(step) for step in islice(work, ahead))
    try:
        while running:
            yield running.popleft().result()
            running.extend(pool.submit(step) for step in islice(work, 1))
    finally:
        for future in running:
            future.cancel()


def _finders(
    loaded: StreamCleaning, config: Path, number: int, progress: Progress
) -> tuple[list[LeakFinder | None], list[EvaluationSet]]:
    """Returns segment finders for a config's evaluation sets (None without sets), and the sets."""
    settings, sets = loaded.decontaminate, list[EvaluationSet]()
    if not settings.against:
        return [None] * number, sets
    with tempfile.TemporaryDirectory(prefix="nmt-prep-") as directory:
        batches = [*gathered(_sources(settings.against, loaded.languages, config, Path(directory), progress), sets)]
    segments, drop = Segments.of(batches, settings.coverage), settings.action == "drop"
    return [LeakFinder(segments, tuple(sets), settings.coverage, drop=drop) for _ in range(number)], sets


def _sources(
    against: Sequence[str], languages: Languages, config: Path, directory: Path, progress: Progress
) -> Iterator[tuple[str, str, Iterator[PairBatch]]]:
    """Yields name, entry and segments of each set."""
    for entry in against:
        if entry.startswith(FILE):
            name = set_name(entry)
            path = config.parent / entry.removeprefix(FILE)
            yield name, name, read_segments(path, languages, directory / "unpacked")
    corpora = list(id_corpora(against, languages))
    files = _fetched([corpus for _, _, corpus in corpora], config, directory, progress)
    for (entry, name, corpus), parts in zip(corpora, files, strict=True):
        yield name, set_name(entry), (batch.sound() for batch in open_corpus(corpus, [parts], languages).pairs())


def _fetched(corpora: Sequence[Corpus], config: Path, directory: Path, progress: Progress) -> Iterator[dict[str, Path]]:
    """Fetches and extracts corpus files; yields a corpus's files by part."""
    if not corpora:
        return
    limits, lock = ExtractSettings(), LockFile(lock_path(config))
    store = Store(directory / "downloads", DigestCache(directory))
    store.directory.mkdir()
    wanted = [list(wanted_by(SACREBLEU, corpus)) for corpus in corpora]
    needed = {file.container.mirrors: file.container for files in wanted for file in files}
    stored = fetch_files([*needed.values()], store, DownloadSettings(), limits, config.parent, progress, lock)
    lock.finish()
    for number, files in enumerate(wanted):
        extracted = {file.key.rpartition("/")[2]: directory / f"{number}-{index}" for index, file in enumerate(files)}
        for file, path in zip(files, extracted.values(), strict=True):
            held = stored[needed[file.container.mirrors]]
            archive = Archive(store.directory / held.file, file.container.name, held.sha256)
            extract_members(archive, [file.member], lambda _, path=path: path, limits, lambda _: None)  # type: ignore[misc]
        yield extracted


def lines_of(workers: Sequence[Worker], sets: Sequence[EvaluationSet]) -> Iterator[str]:
    """Yields the filter's counts as text lines."""
    counts = reduce(add, (worker.counts for worker in workers))
    dropped = counts.pairs_in - counts.pairs_out
    share = 100 * dropped / max(counts.pairs_in, 1)
    yield f"{counts.pairs_in:,} pairs read, {counts.pairs_out:,} kept, {dropped:,} dropped ({share:.1f}%)"
    for title, numbers in (("dropped", counts.dropped), ("fixed lines", counts.altered)):
        some = [f"{name} {count:,}" for name, count in numbers.items() if count]
        if some:
            yield f"{title}: {', '.join(some)}"
    for number, leaks in total_leaks([worker.finder.leaks for worker in workers if worker.finder is not None]).items():
        found, segments = len(leaks.found), sets[number].segments
        warning = "warning: " if found / segments > LARGE_SHARE else ""
        part = f"{found:,} of {segments:,} segments ({found / segments:.1%})"
        yield f"{warning}{sets[number].name}: {part} found in {leaks.pairs:,} pairs"
