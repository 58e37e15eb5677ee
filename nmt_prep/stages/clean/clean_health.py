"""The last rounds of clean, which look again at the corpora that gave warnings when they were compiled.

A warning of compile about a split may no longer hold for the cleaned pairs. So the cleaned parts of corpora with such
warnings are checked. For pairs that are in train and in another split, all cleaned parts of train are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path

from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.pair_observer import PairFacts, PairObserver
from nmt_prep.config import Corpus, Languages
from nmt_prep.corpora import PairBatch, iter_pairs
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import HealthWarning, Job
from nmt_prep.stages.clean.cleaned_corpora import CorpusWork
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.compile.compile_health import (
    IN_TRAIN,
    RECOUNT,
    CompileObserved,
    ObservedCorpus,
    is_judged_cleaned,
    key_file,
    look_at,
    observe,
)


@dataclass(frozen=True)
class LookTask:
    """A part to look at."""

    key: str
    part: Path
    languages: Languages  # of its corpus
    sides: tuple[Side, ...]  # the sides to look at
    keys: Path | None  # file for the keys of the pairs; None if there is none


def look(task: LookTask, tick: Tick) -> PairFacts:
    """Counts a part's pairs. Ticks are pairs."""
    observer = PairObserver(task.languages, task.sides)
    batches = (PairBatch(*(batch.column(side) for side in SIDES)) for batch in iter_pairs(task.part, columns=SIDES))
    with key_file(task.keys) as keys:
        for batch in observe(batches, observer, keys):
            tick(len(batch))
    return observer.result()


LOOK = Round(
    "clean-look", look, PairFacts, made=lambda task, _: filter(None, [task.keys]), words="looking at kept pairs"
)
CLEAN_RECOUNT = replace(RECOUNT, name="clean-recount")
CLEAN_IN_TRAIN = replace(IN_TRAIN, name="clean-in-train")

HEALTH_ROUNDS = (LOOK, CLEAN_RECOUNT, CLEAN_IN_TRAIN)


@dataclass(frozen=True)
class _Suspect:
    """A corpus to look at."""

    split: str
    corpus: Corpus
    parts: tuple[Path, ...]  # the parts that are left
    judged: bool  # true to warn about its pairs, false to compare it only with other splits


def look_again(job: Job, cleaned: Sequence[CorpusWork]) -> Rounds[tuple[HealthWarning, ...]]:
    """Yields the rounds that look at cleaned parts; returns the warnings that remain."""
    suspects = {(suspect.split, suspect.corpus.name): suspect for suspect in _suspects(job, cleaned)}
    compared = any(suspect.split != "train" and not suspect.judged for suspect in suspects.values())
    tasks = {
        place: [_task(job, suspect, part, keys=compared) for part in suspect.parts]
        for place, suspect in suspects.items()
    }
    looked = yield from LOOK.run_groups(tasks)
    corpora = []
    for place, suspect in suspects.items():
        facts = reduce(add, looked[place]) if looked[place] else PairFacts()
        corpora.append(
            ObservedCorpus(
                *place,
                suspect.corpus.spoken(job.config.languages),
                facts if suspect.judged else PairFacts(facts.pairs),
                suspect.parts,
                tuple(task.keys for task in tasks[place] if task.keys is not None),
            )
        )
    observed = yield from look_at(corpora, CLEAN_RECOUNT, CLEAN_IN_TRAIN)
    return tuple(warning for warning in observed.warnings if is_judged_cleaned(job.config, warning))


def mended(job: Job, remaining: Sequence[HealthWarning]) -> tuple[HealthWarning, ...]:
    """Returns the warnings of compile that no longer hold, because cleaning dropped the pairs in question."""
    return tuple(warning for warning in _open_warnings(job) if warning not in remaining)


def _open_warnings(job: Job) -> list[HealthWarning]:
    """Returns the warnings of compile about pairs that cleaning may have dropped."""
    compiled: CompileObserved = job.observed(Compile)
    return [warning for warning in compiled.warnings if is_judged_cleaned(job.config, warning)]


def _suspects(job: Job, cleaned: Sequence[CorpusWork]) -> Iterator[_Suspect]:
    """Yields the cleaned corpora with warnings. If a split shared pairs with train, yields it and all of train, too."""
    warned = _open_warnings(job)
    named = {(warning.split, warning.corpus) for warning in warned if warning.code != "eval_in_train"}
    leaked = {(warning.split, warning.corpus) for warning in warned if warning.code == "eval_in_train"}
    done = set()
    for work in cleaned:
        place = work.split, work.of.corpus
        done.add(place)
        if place in named or place in leaked or (leaked and work.split == "train"):
            files = (result.kept.file for result in work.results if result.kept is not None)
            parts = tuple(job.directory / file for file in files)
            yield _Suspect(work.split, work.corpus.corpus, parts, place not in leaked)
    directory = job.directory_of(Compile)
    for split, compiled in job.read(Compile).parts.items():
        for corpus in job.config.splits[split]:
            if (split, corpus.name) in leaked - done:
                parts = tuple(directory / part.file for part in compiled if part.corpus == corpus.name)
                yield _Suspect(split, corpus, parts, judged=False)


def _task(job: Job, suspect: _Suspect, part: Path, *, keys: bool) -> LookTask:
    key, corpus = f"look-{suspect.split}-{part.stem}", suspect.corpus
    written = job.scratch / "look" / key if keys and corpus.role == "parallel" else None
    return LookTask(key, part, corpus.spoken(job.config.languages), corpus.pair_sides, written)
