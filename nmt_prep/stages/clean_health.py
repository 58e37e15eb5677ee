"""The last rounds of clean, which look again at the corpora that gave warnings when they were compiled.

A warning of compile about a split that is cleaned says nothing about the pairs that remain. Its corpora, and those
alone, are looked at in the cleaned parts. For pairs that are in train and in another split, all cleaned parts of train
are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path

from nmt_prep.config import Config, Languages
from nmt_prep.corpora import PairBatch, iter_pairs
from nmt_prep.engines import Tick
from nmt_prep.health.pairs import PairFacts, PairObserver
from nmt_prep.health.warning import HealthWarning
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.sides import SIDES, Side
from nmt_prep.stages.clean_work import CorpusWork
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.compile_health import (
    IN_TRAIN,
    RECOUNT,
    CompileObserved,
    ObservedCorpus,
    is_judged_cleaned,
    key_file,
    look_at,
    observe,
    observed_sides,
)


@dataclass(frozen=True)
class LookTask:
    """A part to look at.

    Attributes:
        key: name of the task.
        part: the file.
        languages: of its corpus.
        sides: the sides to look at.
        keys: file for the keys of the pairs; None for none.
    """

    key: str
    part: Path
    languages: Languages
    sides: tuple[Side, ...]
    keys: Path | None


def look(task: LookTask, tick: Tick) -> PairFacts:
    """Counts the pairs of a part. Ticks are pairs.

    Raises:
        CorpusError: the part cannot be read.
        OutputError: the keys cannot be written.
    """
    observer = PairObserver(task.languages, task.sides)
    batches = (PairBatch(*(batch.column(side) for side in SIDES)) for batch in iter_pairs(task.part, columns=SIDES))
    with key_file(task.keys) as keys:
        for batch in observe(batches, observer, keys):
            tick(len(batch))
    return observer.result()


LOOK = Round("clean-look", look, PairFacts, made=lambda task, _: filter(None, [task.keys]))
CLEAN_RECOUNT = replace(RECOUNT, name="clean-recount")
CLEAN_IN_TRAIN = replace(IN_TRAIN, name="clean-in-train")

HEALTH_ROUNDS = (LOOK, CLEAN_RECOUNT, CLEAN_IN_TRAIN)


@dataclass(frozen=True)
class _Suspect:
    """A corpus to look at: its split, its parts, and whether it is judged (or only compared with others)."""

    split: str
    name: str
    parts: tuple[Path, ...]
    judged: bool


def look_again(job: Job, cleaned: list[CorpusWork]) -> Rounds[tuple[HealthWarning, ...]]:
    """Yields the rounds that look at cleaned parts; returns the warnings that remain.

    Args:
        job: of the stage clean.
        cleaned: the cleaned corpora.
    """
    suspects = list(_suspects(job, cleaned))
    compared = any(suspect.split != "train" and not suspect.judged for suspect in suspects)
    tasks = {
        (suspect.split, suspect.name): [_task(job, suspect, part, keys=compared) for part in suspect.parts]
        for suspect in suspects
    }
    every = [task for listed in tasks.values() for task in listed]
    counted = dict(zip([task.key for task in every], (yield from LOOK.run(every)), strict=True))
    corpora = []
    for suspect in suspects:
        own = tasks[suspect.split, suspect.name]
        facts = reduce(add, (counted[task.key] for task in own)) if own else PairFacts()
        corpora.append(
            ObservedCorpus(
                suspect.split,
                suspect.name,
                _languages(job.config, suspect),
                facts if suspect.judged else PairFacts(facts.pairs),
                suspect.parts,
                tuple(task.keys for task in own if task.keys is not None),
            )
        )
    found = yield from look_at(corpora, CLEAN_RECOUNT, CLEAN_IN_TRAIN)
    return found.warnings


def mended(job: Job, remaining: tuple[HealthWarning, ...]) -> tuple[HealthWarning, ...]:
    """Returns the warnings of compile that no longer hold as they are, because cleaning dropped such pairs."""
    compiled: CompileObserved = job.observed(Compile)
    before = (warning for warning in compiled.warnings if is_judged_cleaned(job.config, warning))
    return tuple(warning for warning in before if warning not in remaining)


def _suspects(job: Job, cleaned: list[CorpusWork]) -> Iterator[_Suspect]:
    """Yields the cleaned corpora with warnings; and if another split shared pairs with train, all of train and that."""
    compiled: CompileObserved = job.observed(Compile)
    open_warnings = [warning for warning in compiled.warnings if is_judged_cleaned(job.config, warning)]
    named = {(warning.split, warning.corpus) for warning in open_warnings if warning.code != "eval_in_train"}
    leaked = {(warning.split, warning.corpus) for warning in open_warnings if warning.code == "eval_in_train"}
    done = set()
    for each in cleaned:
        place = each.split, each.of.corpus
        done.add(place)
        if place in named or place in leaked or (leaked and each.split == "train"):
            files = (result.kept.file for result in each.results if result.kept is not None)
            yield _Suspect(*place, tuple(job.directory / file for file in files), place not in leaked)
    directory = job.directory_of(Compile)
    for split, parts in job.read(Compile).parts.items():
        for name in dict.fromkeys(part.corpus for part in parts):
            if (split, name) in leaked - done:
                own = tuple(directory / part.file for part in parts if part.corpus == name)
                yield _Suspect(split, name, own, judged=False)


def _task(job: Job, suspect: _Suspect, part: Path, *, keys: bool) -> LookTask:
    key = f"look-{suspect.split}-{part.stem}"
    (corpus,) = (each for each in job.config.splits[suspect.split] if each.name == suspect.name)
    own_keys = job.scratch / "look" / key if keys and corpus.role == "parallel" else None
    return LookTask(key, part, _languages(job.config, suspect), observed_sides(corpus), own_keys)


def _languages(config: Config, suspect: _Suspect) -> Languages:
    (corpus,) = (each for each in config.splits[suspect.split] if each.name == suspect.name)
    return corpus.languages or config.languages
