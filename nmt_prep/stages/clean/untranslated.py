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
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from nmt_prep.base.sides import OTHER, Side
from nmt_prep.cleaning.dedup.records import Comparison, Group
from nmt_prep.cleaning.dedup.spill import SpillFiles, SpillWriter
from nmt_prep.cleaning.presets import Cleaning, effective_dedup
from nmt_prep.cleaning.rejects import Verdict, dropped_counts
from nmt_prep.config import Config, Corpus
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
from nmt_prep.stages.clean.comparing import ComparedSplit, Ranges
from nmt_prep.stages.clean.duplicates import Decided, DecideTask, DropTask, decide, decide_tasks, drop_pairs
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
    labels = {work.name: f"{work.split}-{work.corpus.corpus.pair or 'all'}-{work.corpus.sides[0]}" for work in taking}
    by_label = {labels[work.name]: work for work in taking}
    compared = {label: _compare(job, label, of, corpora, keys[of.split].bits) for label, of in by_label.items()}
    yield from KEYS.run(task for each in compared.values() for task in each.keys.values())
    yield from DECIDE.run(task for each in compared.values() for task in each.decisions)

    def task_of(work: CorpusWork, task: PartTask) -> DropTask:
        found = compared[labels[work.name]]
        number, split = found.keys[task.part.path].spill.part, found.split
        return DropTask(**vars(task), number=number, dropped=split.dropped, corpora=split.corpora)

    yield from rewrite_parts(job, LINES, DROP, taking, task_of)
    yield from _limit(job, [work for work in corpora if DRAWN in work.passes])


class _LineComparison(NamedTuple):
    """The lines that a split's one-sided corpora in a language pair are compared with."""

    split: ComparedSplit
    keys: dict[Path, KeysTask]  # the task of each part
    decisions: list[DecideTask]


def _compare(job: Job, label: str, of: CorpusWork, corpora: Sequence[CorpusWork], bits: int) -> _LineComparison:
    """Returns the comparison for a corpus; of equal lines the first one stays: corpora that lose none come first."""
    pair, side = of.corpus.corpus.pair, of.corpus.sides[0]
    directory = spill_directory(job, of.split) / f"lines-{label}"
    comparison = Comparison(side, effective_dedup(section_of(job.config)).keys, (), 1)
    names, keys = list[str](), dict[Path, KeysTask]()
    for corpus, parts in _compared(job, of.split, corpora):
        own = corpus.corpus.pair
        read = side if own == pair else OTHER[side]  # from a corpus in the opposite direction
        related = own == pair or (pair is not None and own == pair.reverse and not corpus.untranslated)
        for part in parts if related and read in job.config.real_sides(corpus.corpus) else ():
            spill = SpillFiles(directory, len(keys), (comparison,), bits, Group(exchanged=read != side))
            keys[part.path] = KeysTask(f"{KEYS.name}-{label}-{len(keys):05d}", part.path, read, spill)
            names.append(corpus.name.removeprefix(f"splits.{of.split}."))
    split = ComparedSplit(label, directory, tuple(names), [], bits)
    decisions = decide_tasks(job, DECIDE, split, comparison, range(len(keys)))
    split.dropped[DUPLICATE_LINE] = tuple(task.output for task in decisions)
    return _LineComparison(split, keys, decisions)


def _compared(
    job: Job, split: str, corpora: Sequence[CorpusWork]
) -> Iterator[tuple[CleanedCorpus, Sequence[PairFile]]]:
    """Yields the corpora to compare, and their parts that still have lines: real pairs come first."""
    config, compiled, directory = job.config, job.read(Compile).parts, job.directory_of(Compile)
    left = {work.name: [part for part, _ in work.parts] for work in corpora}
    own = [work.corpus for work in corpora if work.split == split and is_deduplicated(config, work.corpus.corpus)]
    others = [
        CleanedCorpus(other, number, corpus, Cleaning(()))
        for other, each in config.own_splits.items()
        for number, corpus in enumerate(each if other != split else ())
        if corpus.role == "parallel" and len(corpus.read_sides) == 2
    ]
    # Lines without pairs come last.
    for corpus in sorted((*own, *others), key=lambda each: (each.untranslated, len(each.sides) == 1)):
        parts = [part for part in compiled[corpus.split] if part.corpus == corpus.corpus.name]
        yield corpus, left.get(corpus.name, [part.below(directory) for part in parts])


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
    draws = {task.where: found for task, found in zip(drawing, drawn, strict=True)}

    def task_of(work: CorpusWork, task: PartTask) -> LimitTask:
        return LimitTask(**vars(task), draw=draws[work.name], salt=salt_of(job.config, work.corpus.corpus))

    yield from rewrite_parts(job, DRAWN, KEEP, corpora, task_of)


def lines_needed(corpus: Corpus) -> float:
    """Returns how many lines ``limit`` and ``hold_out`` of a translated corpus need; infinity for all."""
    if corpus.translate is None or corpus.limit is None:
        return math.inf
    needed = corpus.limit + sum(each.pairs or 0 for each in corpus.hold_out)
    return needed + sum(needed // (each.every - 1) + 1 for each in corpus.hold_out if each.every is not None)
