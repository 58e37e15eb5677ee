"""A stage's tasks: pure functions from input part to output part and counts, each kept once it has ended.

A task writes its files under their final names in one step each, then its result is noted. After a kill, tasks whose
result is noted are not run again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from nmt_prep.artefacts import publish_json
from nmt_prep.engines import Engine
from nmt_prep.progress import Progress


class Task(Protocol):
    """A piece of a stage's work."""

    @property
    def key(self) -> str:
        """Names the task within its stage; letters, digits, dots and dashes."""
        ...


T = TypeVar("T", bound=Task)


class TaskLog:
    """Runs tasks on an engine, and notes each result where the next run finds it if this one is cut short."""

    def __init__(self, notes: Path | None, engine: Engine, progress: Progress) -> None:
        """Takes up the notes of an interrupted run, where there are any.

        Args:
            notes: directory of the notes; None notes nothing.
            engine: where tasks run.
            progress: is told how many need not be run.
        """
        self._notes = notes
        self._engine = engine
        self._progress = progress

    def run(
        self, function: Callable[[T], dict[str, Any]], tasks: Sequence[T], *, engine: Engine | None = None
    ) -> list[dict[str, Any]]:
        """Results of all tasks, in the order of ``tasks``, whatever the order in which they ran.

        A result must be what JSON can hold, so that a result read back equals one just made.

        Args:
            function: from a task to its result.
            tasks: with keys that differ.
            engine: where to run these tasks, if not where all others do.

        Raises:
            OutputError: a result cannot be noted.
        """
        results: dict[str, dict[str, Any]] = {}
        waiting = []
        for task in tasks:
            note = self._note(task)
            if note is not None and note.exists():
                results[task.key] = json.loads(note.read_bytes())
            else:
                waiting.append(task)
        if results:
            self._progress.event("tasks_resumed", done=len(results), total=len(tasks))
        for task, result in (engine or self._engine).map(function, waiting):
            if (note := self._note(task)) is not None:
                publish_json(note, result)
            results[task.key] = json.loads(json.dumps(result))
        return [results[task.key] for task in tasks]

    def _note(self, task: Task) -> Path | None:
        return None if self._notes is None else self._notes / f"{task.key}.json"
