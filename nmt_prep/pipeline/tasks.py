"""A stage's tasks: pure functions from input part to output part and counts, each kept once it has ended.

A task writes its files under their final names in one step each, then its result is noted. After a kill, tasks whose
result is noted are not run again. A stage has one round of tasks or several, each of which needs all of those before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeAlias

from nmt_prep.artefacts import parse_json, publish_json, publish_json_once
from nmt_prep.engines import Engine
from nmt_prep.engines.engine import T, Work
from nmt_prep.progress import Progress

Results: TypeAlias = "dict[str, dict[str, Any]]"
"""Results by the keys of their tasks."""


@dataclass(frozen=True)
class Round(Generic[T]):
    """Tasks of a stage that may run in any order.

    Attributes:
        name: on the progress bar, and where tasks are listed and shared out.
        function: from a task to its result, which must be what JSON can hold.
        tasks: with keys that differ within the stage.
        total: what all tasks together do, in ``unit``; None where that is not known.
        unit: in which tasks say how far they are.
        engine: where to run these tasks, if not where all others do.
        valid: whether a result noted before is still of use; None where the draft sees to that.
        made: the files that a task made. Where somebody removed one, such as whoever tidies up a shared disk, the task
            is run again; None where ``valid`` sees to that, or there are none.
        by_all: quick, and harmless when repeated: whoever needs the results and does not find them runs the tasks.
    """

    name: str
    function: Work[T]
    tasks: Sequence[T]
    total: int | None = None
    unit: str = "pairs"
    engine: Engine | None = None
    valid: Callable[[dict[str, Any]], bool] | None = None
    made: Callable[[T, dict[str, Any]], Iterable[Path]] | None = None
    by_all: bool = False


class TaskLog:
    """Runs tasks on an engine, and notes each result where the next run finds it if this one is cut short."""

    def __init__(self, notes: Path, engine: Engine, progress: Progress) -> None:
        """Takes up the notes of an interrupted run, where there are any.

        Args:
            notes: directory of the notes.
            engine: where tasks run.
            progress: is told how the tasks get on.
        """
        self._notes = notes
        self._engine = engine
        self._progress = progress

    def run(self, round_: Round[T]) -> list[dict[str, Any]]:
        """Results of all tasks of a round, in the order of its tasks, whatever the order in which they ran.

        Raises:
            OutputError: a result cannot be noted.
        """
        results = self.noted(round_)
        missing = [task for task in round_.tasks if task.key not in results]
        if results:
            self._progress.event("tasks_resumed", round=round_.name, done=len(results), total=len(round_.tasks))
        results |= self.perform(round_, missing)
        return [results[task.key] for task in round_.tasks]

    def decide(self, key: str, value: Callable[[], Any]) -> Any:
        """A choice that all tasks of the draft must agree on, whenever and wherever they run: the first one stands.

        Args:
            key: names the choice, as keys name tasks.
            value: makes the choice, as JSON can hold it.

        Raises:
            OutputError: it cannot be noted.
        """
        return publish_json_once(self._note(key), value)

    def noted(self, round_: Round[T]) -> Results:
        """Results of the tasks that ended in an earlier run, or elsewhere; a task whose note is damaged runs again.

        The directory is listed, for which NFS asks the server; whether a single file is there it may answer from what
        this machine saw a minute ago, when other members of a job array were still at work.
        """
        there = {note.name for note in self._notes.iterdir()} if self._notes.is_dir() else set()
        results: Results = {}
        for task in round_.tasks:
            note = self._note(task.key)
            if note.name in there:
                with suppress(ValueError, LookupError, TypeError, AttributeError):
                    result = parse_json(note.read_bytes())
                    made = () if round_.made is None else round_.made(task, result)
                    if (round_.valid is None or round_.valid(result)) and all(path.exists() for path in made):
                        results[task.key] = dict(result)
        return results

    def perform(self, round_: Round[T], tasks: Sequence[T]) -> Results:
        """Runs some tasks of a round, and notes their results.

        Raises:
            OutputError: a result cannot be noted.
        """
        engine = round_.engine or self._engine
        results: Results = {}
        done, count = len(round_.tasks) - len(tasks), len(round_.tasks)
        with self._progress.meter(round_.name, round_.total, round_.unit) as meter:
            meter.count_tasks(done, count, min(engine.workers, len(tasks)))
            for ended in engine.map(round_.function, tasks, meter.advance):
                publish_json(self._note(ended.task.key), ended.result)
                results[ended.task.key] = json.loads(json.dumps(ended.result))
                done += 1
                meter.count_tasks(done, count, min(engine.workers, count - done))
                self._progress.event(
                    "task_finished",
                    round=round_.name,
                    task=ended.task.key,
                    worker=ended.worker,
                    seconds=round(ended.seconds, 3),
                    done=done,
                    total=count,
                )
        return results

    def _note(self, key: str) -> Path:
        return self._notes / f"{key}.json"
