"""The passes over corpora that a program will translate, before it does.

Translating takes most of the time, so lines that would be dropped afterwards are dropped here: lines beyond ``limit``,
and lines that are on the same side of another corpus, whatever its split. The lines of parallel corpora come first,
so these corpora lose none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nmt_prep.base.sides import OTHER, Side
from nmt_prep.cleaning.dedup.records import Comparison, Group
from nmt_prep.cleaning.dedup.spill import Corpora, SpilledRange, SpillFiles, SpillWriter
from nmt_prep.cleaning.presets import Cleaning, effective_dedup
from nmt_prep.cleaning.rejects import Verdict, dropped_counts
from nmt_prep.config import Config, Corpus
from nmt_prep.config.language_pairs import LanguagePair
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import PairFile
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.clean.cleaned_corpora import (
    CleanedCorpus,
    CorpusWork,
    is_deduplicated,
    pairs_in,
    rewrite_parts,
    section_of,
    spill_directory,
)
from nmt_prep.stages.clean.comparing import Ranges
from nmt_prep.stages.clean.duplicates import Decided, DecideTask, DropTask, decide, drop_pairs
from nmt_prep.stages.clean.parts import PartOutput, PartResult, PartTask, part_round
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.drawing import LIMIT, STAYS, Draw, DrawTask, draw, salt_of

LINES, DRAWN = "lines", "drawn"  # The passes
DUPLICATE_LINE = "duplicate_line"


@dataclass(frozen=True)
class KeysTask:
    """A part and the side whose lines are compared."""

    key: str
    part: Path
    side: Side
    spill: SpillFiles


def write_keys(task: KeysTask, tick: Tick) -> int:
    """Writes the keys of a part's lines; returns the line count. Reports progress per line."""
    lines = 0
    with SpillWriter(task.spill) as output:
        for batch in iter_pairs(task.part, columns=[task.side, "row"]):
            output.add(batch)
            lines += len(batch)
            tick(len(batch))
    return lines


@dataclass(frozen=True)
class LimitTask(PartTask):
    """A part of which lines are drawn."""

    draw: Draw
    salt: int


def keep_drawn(task: LimitTask, tick: Tick) -> PartResult:
    """Writes the lines of a part that are drawn. Reports progress per line."""
    lost = 0
    with PartOutput(task) as output:
        for batch in task.batches():
            kept = task.draw.places(batch, task.salt, 0) == STAYS
            dropped = int(np.count_nonzero(~kept))
            nothing, none = np.full(dropped, np.nan), pa.nulls(dropped, pa.string())
            output.write(batch, Verdict(kept, pa.array([LIMIT] * dropped, pa.string()), none, nothing, nothing))
            lost += dropped
            tick(len(batch))
    return output.result(dropped_counts({LIMIT: lost}))


KEYS = Round("line-keys", write_keys, int, made=lambda task, _: task.spill.paths, words="reading lines to compare")
DECIDE = Round("line-compare", decide, Decided, words="comparing lines")
DROP = part_round("line-dedup", drop_pairs, "dropping known lines")
DRAW = Round("line-draw", draw, Draw, words="drawing lines")
KEEP = part_round("line-limit", keep_drawn, "keeping drawn lines")
LINE_ROUNDS: tuple[Round[Any, Any], ...] = (KEYS, DECIDE, DROP, DRAW, KEEP)


def line_passes(config: Config, corpus: Corpus) -> tuple[str, ...]:
    """Returns the passes of a corpus between the rules and its translation."""
    if corpus.translate is None:
        return ()
    compared = is_deduplicated(config, corpus) and len(corpus.read_sides) == 1
    return (*((LINES,) if compared else ()), *((DRAWN,) if corpus.limit is not None else ()))


def drop_lines(job: Job, corpora: Sequence[CorpusWork], keys: Mapping[str, Ranges]) -> Rounds[None]:
    """Yields the rounds, and adds the results to the corpora that are not translated yet."""
    if not any(work.corpus.untranslated for work in corpora):
        return
    taking = [work for work in corpora if LINES in work.passes]
    places = {work.name: (work.split, work.corpus.corpus.pair, work.corpus.sides[0]) for work in taking}
    compared = {place: _LineComparison.of(job, *place, corpora, keys) for place in places.values()}
    yield from KEYS.run(task for comparison in compared.values() for task in comparison.tasks)
    yield from DECIDE.run(task for comparison in compared.values() for task in comparison.decisions(job))
    yield from rewrite_parts(job, LINES, DROP, taking, lambda work, task: compared[places[work.name]].drop(work, task))
    yield from _limit(job, [work for work in corpora if DRAWN in work.passes])


@dataclass(frozen=True)
class _Lines:
    """A corpus's lines on one side."""

    name: str  # key of the corpus in the config
    side: Side
    parts: tuple[PairFile, ...]  # the parts that still have lines
    numbers: Mapping[str, int]  # the number of each part, by the start of its name


@dataclass(frozen=True)
class _LineComparison:
    """The lines that a split's one-sided corpora in a language pair are compared with."""

    label: str  # for names of tasks
    split: str
    side: Side
    directory: Path
    comparison: Comparison
    bits: int
    lines: list[_Lines]

    @classmethod
    def of(
        cls,
        job: Job,
        split: str,
        pair: LanguagePair | None,
        side: Side,
        corpora: Sequence[CorpusWork],
        keys: Mapping[str, Ranges],
    ) -> _LineComparison:
        """Makes a comparison; of equal lines the first one stays, so corpora that lose none come first."""
        lines, count = list[_Lines](), 0
        for corpus, compiled, left in _compared(job, split, corpora):
            own = corpus.corpus.pair
            read = side if own == pair else OTHER[side]  # from a corpus in the opposite direction
            if own not in (pair, pair and pair.reverse) or read not in job.config.real_sides(corpus.corpus):
                continue
            if own == pair or not corpus.untranslated:
                numbers = {part.path.stem: count + number for number, part in enumerate(compiled)}
                lines.append(_Lines(corpus.name, read, left, numbers))
                count += len(numbers)
        comparison = Comparison(side, effective_dedup(section_of(job.config)).keys, (), 1)
        label = f"{split}-{pair or 'all'}-{side}"
        directory = spill_directory(job, split) / f"lines-{label}"
        return cls(label, split, side, directory, comparison, keys[split].bits, lines)

    @property
    def tasks(self) -> Iterator[KeysTask]:
        for lines in self.lines:
            for part in lines.parts:
                number = lines.numbers[part.path.stem]
                group = Group(exchanged=lines.side != self.side)
                files = SpillFiles(self.directory, number, (self.comparison,), self.bits, group)
                yield KeysTask(f"{KEYS.name}-{self.label}-{number:05d}", part.path, lines.side, files)

    @property
    def corpora(self) -> tuple[str, ...]:
        """The corpus name of each part."""
        return tuple(lines.name.rpartition(f"splits.{self.split}.")[2] for lines in self.lines for _ in lines.numbers)

    def decisions(self, job: Job) -> Iterator[DecideTask]:
        names = [*dict.fromkeys(self.corpora)]
        corpora = Corpora(tuple(names.index(name) for name in self.corpora), len(names))
        parts = tuple(task.spill.part for task in self.tasks)
        for number, output in enumerate(self.dropped if parts else ()):
            records = SpilledRange(self.directory, self.comparison, parts, self.bits, number, None)
            key = f"{DECIDE.name}-{self.label}-{number:04d}"
            yield DecideTask(key, records, corpora, job.task_memory, output)

    @property
    def dropped(self) -> tuple[Path, ...]:
        """The files of dropped lines."""
        return tuple(self.directory / f"{number:04d}.drops" for number in range(1 << self.bits))

    def drop(self, work: CorpusWork, task: PartTask) -> DropTask:
        """Returns the task that drops lines of a part."""
        (lines,) = (lines for lines in self.lines if lines.name == work.name)
        number, dropped = lines.numbers[task.part.path.stem], {DUPLICATE_LINE: self.dropped}
        return DropTask(**vars(task), number=number, dropped=dropped, corpora=self.corpora, documents=False)


def _compared(
    job: Job, split: str, corpora: Sequence[CorpusWork]
) -> Iterator[tuple[CleanedCorpus, Sequence[PairFile], tuple[PairFile, ...]]]:
    """Yields the corpora to compare, their compiled parts, and those that still have lines: real pairs come first."""
    config, compiled, directory = job.config, job.read(Compile).parts, job.directory_of(Compile)
    left = {work.name: tuple(part for part, _ in work.parts) for work in corpora}
    works = [work for work in corpora if work.split == split and is_deduplicated(config, work.corpus.corpus)]
    for work in (work for work in works if not work.corpus.untranslated):
        yield work.corpus, work.compiled, left[work.name]
    for other, others in config.own_splits.items():
        for number, corpus in enumerate(others if other != split else ()):
            parts = tuple(part.below(directory) for part in compiled[other] if part.corpus == corpus.name)
            if corpus.translate is None and corpus.role == "parallel":
                made = CleanedCorpus(other, number, corpus, Cleaning(()))
                yield made, parts, left.get(made.name, parts)
    untranslated = (work for work in works if work.corpus.untranslated)
    for work in sorted(untranslated, key=lambda work: len(work.corpus.sides) == 1):  # those with one side come last
        yield work.corpus, work.compiled, left[work.name]


def _limit(job: Job, corpora: Sequence[CorpusWork]) -> Rounds[None]:
    """Yields the rounds that draw the lines that ``limit`` and ``hold_out`` need."""
    drawing = [
        DrawTask(
            f"{DRAW.name}-{work.key}",
            work.name,
            salt_of(job.config, work.corpus.corpus),
            tuple(part.path for part, _ in work.parts),
            limit=int(lines_needed(work.corpus.corpus)),
            documents=work.corpus.corpus.document is not None,
        )
        for work in corpora
        if work.pairs
    ]
    drawn = yield from DRAW.run(drawing, pairs_in(corpora))
    draws = {task.where: (found, task.salt) for task, found in zip(drawing, drawn, strict=True)}

    def task_of(work: CorpusWork, task: PartTask) -> LimitTask:
        found, salt = draws[work.name]
        return LimitTask(**vars(task), draw=found, salt=salt)

    yield from rewrite_parts(job, DRAWN, KEEP, corpora, task_of)


def lines_needed(corpus: Corpus) -> float:
    """Returns how many lines ``limit`` and ``hold_out`` of a translated corpus need; infinity for all."""
    if corpus.translate is None or corpus.limit is None:
        return math.inf
    needed = corpus.limit + sum(each.pairs or 0 for each in corpus.hold_out)
    return needed + sum(needed // (each.every - 1) + 1 for each in corpus.hold_out if each.every is not None)
