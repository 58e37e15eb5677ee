"""A stage's tasks: pure functions from input part to output part and counts, each kept once it has ended.

A task writes its files under their final names in one step each, then its result is noted. After a kill, tasks whose
result is noted for the same fingerprint are not run again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from nmt_prep.artefacts import publish_json, writing
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
    """Runs tasks on an engine and notes the results beside the stage's growing output.

    With ``resume`` the directory belongs to this stage's fingerprint alone: what was made for another one is removed.
    """

    def __init__(self, directory: Path, fingerprint: str, engine: Engine, progress: Progress, *, resume: bool) -> None:
        self._directory = directory
        self._notes = directory / ".tasks"
        self._engine = engine
        self._progress = progress
        self._resume = resume
        if resume:
            owner = self._notes / "fingerprint.json"
            if not owner.exists() or json.loads(owner.read_bytes()) != fingerprint:
                with writing(directory):
                    shutil.rmtree(directory, ignore_errors=True)
                    self._notes.mkdir(parents=True)
                publish_json(owner, fingerprint)

    def run(self, function: Callable[[T], dict[str, Any]], tasks: Sequence[T]) -> list[dict[str, Any]]:
        """Results of all tasks, in the order of ``tasks``, whatever the order in which they ran.

        A result must be what JSON can hold, so that a result read back equals one just made.
        """
        results: dict[str, dict[str, Any]] = {}
        waiting = []
        for task in tasks:
            note = self._notes / f"{task.key}.json"
            if self._resume and note.exists():
                results[task.key] = json.loads(note.read_bytes())
            else:
                waiting.append(task)
        if results:
            self._progress.event("tasks_resumed", done=len(results), total=len(tasks))
        for task, result in self._engine.map(function, waiting):
            if self._resume:
                publish_json(self._notes / f"{task.key}.json", result)
            results[task.key] = json.loads(json.dumps(result))
        return [results[task.key] for task in tasks]

    def clear(self) -> None:
        """Forgets the notes, before the output is published."""
        shutil.rmtree(self._notes, ignore_errors=True)
