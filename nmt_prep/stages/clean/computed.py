"""Computed values in the stage clean: a pass for each value, which computes it, and applies the rules on it.

The tasks of the first round of a pass compute the values of slices of the parts, which members of a job array share.
They store them with all other values of the program (:mod:`nmt_prep.text.computed`), so a run that was killed, or that
has other limits, computes only new texts. The tasks of the second round write the parts with the values as scores,
without the pairs that the rules drop.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.artefacts import writing
from nmt_prep.base.errors import CleaningError, ComputedError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.computed_rules import SCORE, ComputedUse
from nmt_prep.cleaning.leaks import verdict_of
from nmt_prep.cleaning.presets import Cleaning
from nmt_prep.cleaning.rule import Context
from nmt_prep.config import Config
from nmt_prep.corpora import iter_pairs, row_groups
from nmt_prep.corpora.parts import PairFile, score_column
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.clean.cleaned_corpora import (
    CleanedCorpus,
    CorpusRule,
    CorpusWork,
    cleaned_corpora,
    pairs_in,
    rewrite_parts,
    section_of,
)
from nmt_prep.stages.clean.learned import save_array
from nmt_prep.stages.clean.parts import CorpusTask, PartOutput, PartResult, PartTask, part_round
from nmt_prep.stages.clean.untranslated import lines_needed
from nmt_prep.text.computed import Column, close_columns

SLICE_PAIRS = 1 << 16  # Pairs whose values a task computes
_BATCH_PAIRS = 1 << 15  # Pairs that are looked up at a time
_BINS = 40
VERSION = 2  # To be increased if a pass would write other bytes


@dataclass(frozen=True)
class SliceTask:
    """A slice of a part whose values are computed."""

    key: str
    of: CorpusTask
    part: Path
    first: int  # index of the slice's first pair in the part
    pairs: int
    output: Path  # file for the values
    rule: str  # name of the pass

    def batches(self, columns: Sequence[str] = SIDES) -> Iterator[pa.RecordBatch]:
        """Yields the pairs, by default their text."""
        sizes = np.array(row_groups(self.part), np.int64)
        ends, end = np.cumsum(sizes), self.first + self.pairs
        wanted = np.flatnonzero((ends > self.first) & (ends - sizes < end))
        at = int((ends - sizes)[wanted].min(initial=end))
        for batch in iter_pairs(self.part, wanted.tolist(), columns=columns):
            chosen = batch[max(self.first - at, 0) : max(end - at, 0)]
            at += len(batch)
            yield from (chosen[begin : begin + _BATCH_PAIRS] for begin in range(0, len(chosen), _BATCH_PAIRS))

    def given(self, sides: Sequence[Side]) -> Iterator[dict[Side, pa.Array]]:
        """Yields the texts that the program gets."""
        for batch in self.batches():
            yield {side: batch.column(side) for side in sides}


def slices_of(job: Job, rule: str, this: str, task: PartTask) -> Iterator[SliceTask]:
    """Yields the slices of a part, given the names of the pass and of the round that computes their values."""
    for number, first in enumerate(range(0, task.part.pairs, SLICE_PAIRS)):
        name, pairs = f"{task.stem}-{number:05d}", min(SLICE_PAIRS, task.part.pairs - first)
        output = job.scratch / this / f"{name}.values"
        yield SliceTask(f"{this}-{name}", task.of, task.part.path, first, pairs, output, rule)


def column_of(use: ComputedUse, context: Context, corpus: str) -> Column:
    """Returns a value for a corpus."""
    try:
        return Column(use.shown, use.value, context.languages, context.sides, context.base_dir)
    except ValueError as error:
        raise CleaningError(f"{use.key}: {error}, for the corpus {corpus}") from error


@dataclass(frozen=True)
class ValueRange:
    """The range of the finite values of a slice; None if there are none."""

    low: float | None
    high: float | None


def compute(task: SliceTask, tick: Tick) -> ValueRange:
    """Writes the values of a slice of a part. Reports progress per pair."""
    use = task.of.computed[task.rule]
    column, found = column_of(use, task.of.context, task.of.name), list[npt.NDArray[np.float64]]()
    try:
        with column.writing(task.output):
            for batch in task.batches():
                found.append(column.numbers({side: batch.column(side) for side in column.sides}, tick))
            values = np.concatenate([np.zeros(0), *found])
            save_array(task.output, values)
    except ComputedError as error:
        raise ComputedError(f"{use.key}, for the corpus {task.of.name}: {error}") from error
    finite = values[np.isfinite(values)]
    return ValueRange(float(finite.min()), float(finite.max())) if len(finite) else ValueRange(None, None)


def edges_for(ranges: Sequence[ValueRange]) -> tuple[float, ...]:
    """Returns the edges of a histogram of values without limits: from 0 to 1 if all values are there."""
    limits = [limit for each in ranges for limit in (each.low, each.high) if limit is not None]
    low, high = min(limits, default=0.0), max(limits, default=1.0)
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    return tuple(np.linspace(low, high if high > low else low + max(1.0, abs(low)), _BINS + 1).tolist())


@dataclass(frozen=True)
class TextsLeft:
    """The texts whose value a run needs."""

    name: str  # name of the value
    texts: int | None  # number of texts to compute; None if it is not known yet
    stored: int  # number of stored values that the run uses, or of all stored values if that is not known
    exact: bool  # false if the numbers are upper bounds


_MOST_KEYS = 1 << 24


def texts_left(
    config: Config,
    rules: Iterable[CorpusRule],
    missing: Sequence[object],
    compiled: Sequence[PairFile] | None,
    *,
    limited: bool,
) -> Iterator[TextsLeft]:
    """Yields the texts that are left to compute for each value.

    Args:
        missing: the tasks that have not ended, as far as they are known.
        compiled: the compiled pairs; None if they are not known.
        limited: true if translated corpora have only the lines that ``limit`` and ``hold_out`` need.
    """
    for rule in (rule for rule in rules if isinstance(rule, ColumnRule)):
        corpora = {corpus.name: corpus for corpus in cleaned_corpora(config) if rule.applies(corpus)}
        columns = {name: rule.columns(corpus, config)[0] for name, corpus in corpora.items()}
        tasks = [task for task in missing if isinstance(task, SliceTask) and task.rule == rule.name]
        for shown in dict.fromkeys(column.name for column in columns.values()):
            own = {name: column for name, column in columns.items() if column.name == shown}
            if slices := [(task, own[task.of.name]) for task in tasks if task.of.name in own]:
                yield _counted(shown, slices)
            else:
                limits = {corpora[name].corpus.name: lines_needed(corpora[name].corpus) for name in own}
                yield _at_most(shown, own.values(), limits if limited else dict.fromkeys(limits, math.inf), compiled)


def _at_most(
    shown: str, columns: Iterable[Column], limits: Mapping[str, float], compiled: Sequence[PairFile] | None
) -> TextsLeft:
    """Returns upper bounds, before the texts are known, given each corpus's limit."""
    stored = sum({column.directory: column.stored for column in columns}.values())
    if compiled is None:
        return TextsLeft(shown, None, stored, exact=False)
    pairs = Counter[str]()
    for part in compiled:
        pairs[part.corpus] += part.pairs
    texts = sum(int(min(pairs[name], limit)) for name, limit in limits.items())
    return TextsLeft(shown, texts, stored, exact=False)


def _counted(shown: str, tasks: Sequence[tuple[SliceTask, Column]]) -> TextsLeft:
    """Returns the exact numbers of texts; upper bounds if they are too many to compare."""
    keys, known = [np.zeros((0, 2), np.uint64)], 0
    for task, column in tasks:
        for text in task.given(column.sides):
            every, new = column.count(text)
            keys.append(new)
            known += len(every) - len(new)
    missing = sum(map(len, keys))
    exact = missing <= _MOST_KEYS
    return TextsLeft(shown, len(np.unique(np.concatenate(keys), axis=0)) if exact else missing, known, exact)


@dataclass(frozen=True)
class JudgeTask(PartTask):
    """A part to write with a value, without the pairs that the rules on it drop."""

    name: str  # name of the value
    values: tuple[Path, ...]  # files with the values of all pairs
    edges: tuple[float, ...]  # histogram edges for values without limits


def judge_part(task: JudgeTask, tick: Tick) -> PartResult:
    """Writes a part with a value, without the pairs that the rules on it drop. Reports progress per pair."""
    from nmt_prep.cleaning.cleaner import Cleaner  # noqa: PLC0415  (loads all rules)

    use, name, first = task.of.computed[task.name], task.name, 0
    rules = use.rules or {SCORE: {name: {"min": -math.inf}}}  # for the histogram
    cleaner = Cleaner(Cleaning((), dict(rules), keys=task.of.cleaning.keys), task.of.context, task.of.name)
    for rule in () if use.rules else cleaner.rules:
        rule.edges = task.edges
    with writing(task.kept):
        values = np.concatenate([np.load(path) for path in task.values])
    with PartOutput(task) as output:
        for batch in iter_pairs(task.part.path):
            own = values[first : first + len(batch)]
            first += len(batch)
            judged = cleaner.clean({side: batch.column(side) for side in task.of.context.sides}, {name: own})
            rows = np.asarray(batch.column("row").to_numpy(), np.int64)
            if not use.short:
                batch = batch.append_column(score_column(name), pa.array(own))  # noqa: PLW2901
            output.write(batch, verdict_of(None, judged, rows))
            tick(len(batch))
    counts = cleaner.counts
    return output.result(replace(counts, pairs_in=0, pairs_out=-sum(counts.dropped.values())))


class ColumnRule(CorpusRule):
    """A pass whose first round computes values of slices."""

    @abstractmethod
    def columns(self, corpus: CleanedCorpus, config: Config) -> list[Column]:
        """Returns the value of a corpus, and the other values that the pass needs."""

    def check(self, corpus: CleanedCorpus, config: Config) -> None:
        self.columns(corpus, config)

    def files(self, corpus: CleanedCorpus, config: Config) -> dict[str, Path]:
        return {name: path for column in self.columns(corpus, config) for name, path in column.files.items()}


class ComputedPass(ColumnRule):
    """The pass of a computed value."""

    def __init__(self, name: str) -> None:
        self.name = name
        label = name.replace(":", "+").replace("/", "+")  # no name of a value in a config has a plus
        self.this, shown = f"computed-{label}", name.removeprefix("rule:")
        self._compute = Round(self.this, compute, ValueRange, end=close_columns, words=f"computing {shown}")
        self._judge = part_round(f"judged-{label}", judge_part, f"applying the rules on {shown}")
        self.rounds = (self._compute, self._judge)

    def applies(self, corpus: CleanedCorpus) -> bool:
        return self.name in corpus.computed

    def columns(self, corpus: CleanedCorpus, config: Config) -> list[Column]:
        return [column_of(corpus.computed[self.name], corpus.context(config), corpus.name)]

    def apply(self, job: Job, corpora: Sequence[CorpusWork]) -> Rounds[None]:
        def slices(task: PartTask) -> Iterator[SliceTask]:
            return slices_of(job, self.name, self.this, task)

        every = [each for work in corpora for task in work.tasks(job, self.this) for each in slices(task)]
        edges = edges_for((yield from self._compute.run(every, pairs_in(corpora))))

        def task_of(_: CorpusWork, task: PartTask) -> JudgeTask:
            values = tuple(each.output for each in slices(task))
            return JudgeTask(**vars(task), name=self.name, values=values, edges=edges)

        yield from rewrite_parts(job, self.this, self._judge, corpora, task_of)


class ComputedPasses(NamedTuple):
    """The passes of computed values, in order."""

    lines: list[ComputedPass]  # of lines, before a program translates them
    ranking: list[ComputedPass]  # of values that rank duplicates
    others: list[ComputedPass]


def computed_passes(config: Config, corpora: Sequence[CleanedCorpus]) -> ComputedPasses:
    """Returns the passes of the values that corpora use."""
    used = {name for corpus in corpora for name in corpus.computed}
    names = dict.fromkeys([*config.computed, *(name for corpus in corpora for name in corpus.computed)])
    passes, ranking = ComputedPasses([], [], []), section_of(config).dedup.keep
    translated = [corpus for corpus in corpora if corpus.corpus.translate is not None]
    for name in (name for name in names if name in used):
        using = [each for each in translated if name in each.computed]
        from_real = {(each.computed[name].value.input,) == config.real_sides(each.corpus) for each in using}
        of_lines = from_real == {True}  # every corpus has the side before a program translates
        chosen = passes.lines if of_lines else passes.ranking if name in ranking else passes.others
        chosen.append(ComputedPass(name))
    return passes
