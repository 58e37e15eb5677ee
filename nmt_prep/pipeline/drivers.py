"""The three ways to drive a stage's rounds: run everything, run a share, list.

A task writes each of its files atomically; then its result is stored in the stage's draft. Tasks with a stored result
are not run again after a kill.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import current_thread
from typing import Any, cast

from nmt_prep.base.artefacts import as_json, parse_json, parse_json_as, write_json, write_json_once
from nmt_prep.base.errors import ArgumentError, ConfigError, OutputError
from nmt_prep.base.progress import Meter, Progress
from nmt_prep.base.runtime import processor_seconds
from nmt_prep.pipeline.engines import Engine
from nmt_prep.pipeline.engines.engine import Done, R, T
from nmt_prep.pipeline.engines.executor import look_again
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import P, Round, Rounds, RoundTasks
from nmt_prep.pipeline.stage import HealthWarning


@dataclass(frozen=True)
class Share:
    """A share of a round: every ``of``-th task, starting with task ``number`` (from 0)."""

    round: str
    number: int
    of: int

    def __post_init__(self) -> None:
        if self.of < 1:
            raise ConfigError(f"cannot divide a round into {self.of} shares; give at least 1")
        if not 0 <= self.number < self.of:
            raise ConfigError(
                f"there is no share {self.number} of {self.of}; shares are numbered from 0 to {self.of - 1} "
                f"(for Slurm: --array=0-{self.of - 1})"
            )


@dataclass(frozen=True)
class RoundState:
    """A round's progress."""

    round: str
    # key of each task in order, and whether it has ended; None if they depend on a round that has not ended
    tasks: tuple[tuple[str, bool], ...] | None
    missing: tuple[Any, ...] = field(default=(), repr=False, compare=False)  # the tasks that have not ended

    @property
    def done(self) -> int:
        """Number of tasks that have ended."""
        return sum(done for _, done in self.tasks or ())


class TaskNotes:
    """The stored results of finished tasks, one file each, in a stage's draft."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def results(self, pending: RoundTasks[T, R], *, check: bool = True) -> dict[str, R]:
        """Returns a round's usable results by task key.

        The directory is listed, which makes NFS ask the server. A cached lookup of a single file could be a minute old
        and miss results from other job-array members.
        """
        there = {note.name for note in self._directory.iterdir()} if self._directory.is_dir() else set()
        results: dict[str, R] = {}
        for task in pending.tasks:
            note = self._note(task.key)
            if note.name not in there:
                continue
            try:
                result = parse_json_as(pending.round.result, parse_json(note.read_bytes()))
            except ValueError:  # from an older version of this stage, or damaged: run the task again
                continue
            made = pending.round.files(task, result)
            if all(path.exists() for path in made) and not (check and pending.valid and not pending.valid(result)):
                results[task.key] = result
        return results

    def add(self, pending: RoundTasks[T, R], task: T, result: R) -> R:
        """Stores the result of a task; returns the result that counts, which another process may have stored first."""
        note, value = self._note(task.key), as_json(result)
        if pending.round.by_all and pending.valid is None:
            value = write_json_once(note, lambda: as_json(result))
        else:
            write_json(note, value, compact=True)
        try:
            # Read back from JSON, so that a result is the same whether its task ran now or in an earlier run.
            return parse_json_as(pending.round.result, json.loads(json.dumps(value)))
        except ValueError as error:
            raise OutputError(f"{note} is damaged ({error}); run its stage again with --force") from error

    def _note(self, key: str) -> Path:
        if "/" in key:
            raise ArgumentError(f"the key {key!r} of a task becomes a file name, so it must not contain a slash")
        return self._directory / f"{key}.json"


@dataclass(frozen=True)
class RoundTime:
    """The time that the tasks of a round took in this run."""

    round: str
    tasks: int
    seconds: float
    processor_seconds: float  # processor time of all processes
    elsewhere: float  # the processor time of other processes

    @property
    def numbers(self) -> dict[str, float]:
        """The rounded numbers, for messages and JSON."""
        return {
            "tasks": self.tasks,
            "seconds": round(self.seconds, 3),
            "processor_seconds": round(self.processor_seconds, 3),
        }


@dataclass(frozen=True)
class TaskRunner:
    """Runs tasks of a round, on an engine or in this thread, and stores their results."""

    notes: TaskNotes
    engine: Engine
    progress: Progress
    times: list[RoundTime] = field(default_factory=list)  # times of the rounds that have ended, in order

    def run(self, pending: RoundTasks[T, R]) -> list[R]:
        """Returns the results of all tasks in order; runs the tasks without a result."""
        results, missing = self.known(pending)
        if results and not pending.round.by_all:
            self.progress.event("tasks_resumed", round=pending.round.name, done=len(results), total=len(pending.tasks))
        results |= self.perform(pending, missing)
        return [results[task.key] for task in pending.tasks]

    def known(self, pending: RoundTasks[T, R]) -> tuple[dict[str, R], list[T]]:
        """Returns the stored results by task key, and the tasks without a result."""
        results = self.notes.results(pending)
        return results, [task for task in pending.tasks if task.key not in results]

    def perform(self, pending: RoundTasks[T, R], tasks: Sequence[T]) -> dict[str, R]:
        """Runs some tasks of a round; returns their results by key."""
        round_ = pending.round
        workers = 1 if round_.here or round_.by_all else self.engine.workers
        results: dict[str, R] = {}
        done, count = len(pending.tasks) - len(tasks), len(pending.tasks)
        started, before, elsewhere = time.monotonic(), processor_seconds(), 0.0
        # Finished tasks do not count again, so neither does their share of the work.
        total = pending.total and -(-pending.total * len(tasks) // max(count, 1))
        with self.progress.meter(round_.name, total, round_.unit) as meter:
            meter.count_tasks(done, count, min(workers, len(tasks)))
            for ended in self._ended(round_, tasks, meter):
                results[ended.task.key] = self.notes.add(pending, ended.task, ended.result)
                elsewhere += ended.elsewhere
                done += 1
                meter.count_tasks(done, count, min(workers, count - done))
                self.progress.event(
                    "task_finished",
                    round=round_.name,
                    task=ended.task.key,
                    worker=ended.worker,
                    seconds=round(ended.seconds, 3),
                    done=done,
                    total=count,
                )
            if tasks and round_.end is not None:
                round_.end()
        if tasks:
            processor = processor_seconds() - before + elsewhere
            self.times.append(RoundTime(round_.name, len(tasks), time.monotonic() - started, processor, elsewhere))
        return results

    def _ended(self, round_: Round[T, R], tasks: Sequence[T], meter: Meter) -> Iterator[Done[T, R]]:
        if not (round_.here or round_.by_all):
            yield from self.engine.map(round_.work, tasks, meter.advance)
            return
        for task in tasks:
            started = time.monotonic()
            result = round_.work(task, meter)
            yield Done(task, result, current_thread().name, time.monotonic() - started)


def run_rounds(rounds: Rounds[P], tasks: TaskRunner) -> P:
    """Runs all rounds of a stage; returns the value that :meth:`Stage.work` returns."""
    return cast("P", _drive(rounds, tasks.run))


# Members of a job array know nothing of each other. Each computes the tasks of all rounds from stored results, and
# takes every n-th task of its round. Work that all processes do themselves (`by_all`) is cheap and its first stored
# result counts, so all members see the same tasks.
def run_share(rounds: Rounds[P], tasks: TaskRunner, share: Share) -> tuple[int, RoundState]:
    """Runs one share of a round, once all earlier ones are finished; returns the number of tasks run, and the state."""
    ran, state = 0, RoundState(share.round, None)

    def step(pending: RoundTasks[T, R]) -> list[R] | None:
        nonlocal ran, state
        round_, (results, missing) = pending.round, tasks.known(pending)
        if round_.name == share.round:
            # `look_again`: a network file system may show files of other machines late.
            own = pending.tasks[share.number :: share.of]
            total = pending.total and -(-pending.total * len(own) // len(pending.tasks))
            mine = replace(
                pending, round=replace(round_, work=partial(look_again, round_.work)), tasks=own, total=total
            )
            missing = [task for task in own if task.key not in results]
            results |= tasks.perform(mine, missing)
            ran, state = len(missing), _state(pending, results)
            return None
        if missing and not round_.by_all:
            raise OutputError(
                f"{len(missing)} of {len(pending.tasks)} {round_.name} tasks are not finished, and {share.round} needs "
                f"all of them; run their shares again (--round {round_.name}), or see nmt-prep tasks"
            )
        results |= tasks.perform(pending, missing)
        return [results[task.key] for task in pending.tasks]

    _drive(rounds, step)
    return ran, state


def list_rounds(names: Sequence[Round[Any, Any]], rounds: Rounds[P], notes: TaskNotes) -> list[RoundState]:
    """Returns the state of each round in a stage. Runs no task, writes nothing and contacts no network."""
    known: dict[str, RoundState] = {}

    def step(pending: RoundTasks[T, R]) -> list[R] | None:
        results = notes.results(pending, check=False)
        if pending.round.by_all and pending.valid is None:
            return [results.get(task.key) or pending.round.work(task, None) for task in pending.tasks]
        known[pending.round.name] = _state(pending, results)
        last = pending.round.name == names[-1].name
        complete = len(results) == len(pending.tasks)
        return [results[task.key] for task in pending.tasks] if complete and not last else None

    _drive(rounds, step)
    return [known.get(round_.name, RoundState(round_.name, None)) for round_ in names if not round_.by_all]


def _drive(rounds: Rounds[P], step: Callable[[RoundTasks[Any, Any]], list[Any] | None]) -> P | None:
    """Runs a generator of rounds; returns None if ``step`` returns None, which ends the drive early."""
    results: list[Any] | None = None
    try:
        pending = next(rounds)
    except StopIteration as end:
        return cast("P", end.value)
    while (results := step(pending)) is not None:
        try:
            pending = rounds.send(results)
        except StopIteration as end:
            return cast("P", end.value)
    rounds.close()
    return None


def _state(pending: RoundTasks[Any, Any], results: dict[str, Any]) -> RoundState:
    missing = tuple(task for task in pending.tasks if task.key not in results)
    return RoundState(pending.round.name, tuple((task.key, task.key in results) for task in pending.tasks), missing)


@dataclass(frozen=True)
class Step:
    """A planned stage: whether it would run, and why."""

    stage: str
    fresh: bool
    reason: str


@dataclass(frozen=True, repr=False)
class Outcome:
    """Result of a stage in a run."""

    stage: str
    ran: bool  # true if it ran now, false if it was fresh
    reason: str  # why it ran
    seconds: float
    counts: Counts
    warnings: tuple[HealthWarning, ...] = ()  # its warnings, or the warnings of the earlier run that made its output
    processor_seconds: float = 0.0  # processor time of all processes
    rounds: tuple[RoundTime, ...] = ()  # the times of its rounds

    def __repr__(self) -> str:
        into, out = self.counts.pairs_in, self.counts.pairs_out
        pairs = "" if out is None else f" {out:,} pairs" + f" of {into:,}" * (into is not None and into != out)
        warned = f", {len(self.warnings)} warnings" * bool(self.warnings)
        return f"<{self.stage}:{pairs} in {self.seconds:.1f} s, {self.reason}{warned}>"

    @property
    def numbers(self) -> dict[str, Any]:
        """Stage, times and counts as JSON values, rounded."""
        return {
            "stage": self.stage,
            "seconds": round(self.seconds, 3),
            "processor_seconds": round(self.processor_seconds, 3),
            "rounds": {taken.round: taken.numbers for taken in self.rounds},
            **as_json(self.counts),
        }


@dataclass(frozen=True)
class ShareOutcome:
    """Result of running a share: how many tasks ran now, and the state of the round; None if the stage is complete."""

    share: Share
    ran: int
    state: RoundState | None


@dataclass(frozen=True)
class StageTasks:
    """Progress of a stage: whether it is complete, why not, and the rounds of tasks that are known so far."""

    stage: str
    complete: bool
    reason: str
    rounds: tuple[RoundState, ...]
