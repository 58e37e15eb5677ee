"""Part of a stage's tasks: what one member of a job array does, and what ``nmt-prep tasks`` shows.

Members know nothing of each other but the notes of tasks that have ended. Each runs the stage's own code up to the
round that it has a share of, and stops there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from nmt_prep.artefacts import read_decision
from nmt_prep.engines import Engine
from nmt_prep.engines.engine import T
from nmt_prep.engines.unseen import look_again
from nmt_prep.errors import ConfigError, OutputError
from nmt_prep.pipeline.tasks import Round, TaskLog
from nmt_prep.progress import Progress


@dataclass(frozen=True)
class Share:
    """Every ``of``-th task of a round, the first of them number ``number``, from 0.

    Raises:
        ConfigError: there is no such share.
    """

    round: str
    number: int
    of: int

    def __post_init__(self) -> None:
        if self.of < 1:
            raise ConfigError(f"{self.of} shares make no sense; give at least 1")
        if not 0 <= self.number < self.of:
            raise ConfigError(
                f"there is no share {self.number} of {self.of}: shares are numbered from 0 to {self.of - 1} "
                f"(for Slurm: --array=0-{self.of - 1})"
            )


@dataclass(frozen=True)
class RoundState:
    """How far a round has come: its tasks in order, and whether each has ended."""

    round: str
    tasks: tuple[tuple[str, bool], ...]

    @property
    def done(self) -> int:
        """Tasks that have ended."""
        return sum(done for _, done in self.tasks)


class RoundReachedError(Exception):
    """Ends a stage's run at the round of a share; no caller ever sees it."""


class SharedTasks(TaskLog):
    """Does a share of one round; the rounds before it must be complete.

    Attributes:
        ran: tasks of the share that were run now.
        state: of the round, once it was reached.
    """

    def __init__(self, notes: Path, engine: Engine, progress: Progress, share: Share) -> None:
        super().__init__(notes, engine, progress)
        self._share = share
        self.ran = 0
        self.state: RoundState | None = None

    def run(self, round_: Round[T]) -> list[dict[str, Any]]:
        """Does the share, and stops there.

        Raises:
            RoundReachedError: the share is done.
            OutputError: a round before it is not complete, or a result cannot be noted.
        """
        results = self.noted(round_)
        if round_.name != self._share.round:
            missing = [task for task in round_.tasks if task.key not in results]
            if missing and not round_.by_all:
                raise OutputError(
                    f"{len(missing)} of {len(round_.tasks)} {round_.name} tasks are not done, which must be before any "
                    f"of {self._share.round}; run their shares again (--stage {round_.name}), or see nmt-prep tasks"
                )
            results |= self.perform(round_, missing)
            return [results[task.key] for task in round_.tasks]
        # What the whole round does says nothing of how far the share is.
        tasks = round_.tasks[self._share.number :: self._share.of]
        share = replace(round_, function=partial(look_again, round_.function), tasks=tasks, total=None)
        mine = [task for task in share.tasks if task.key not in results]
        results |= self.perform(share, mine)
        self.ran = len(mine)
        self.state = RoundState(round_.name, tuple((task.key, task.key in results) for task in round_.tasks))
        raise RoundReachedError


class ListedTasks(TaskLog):
    """Runs nothing; says how far each round has come, up to the first that is not complete, or the last.

    Attributes:
        states: of the rounds that were reached.
    """

    def __init__(self, notes: Path, engine: Engine, progress: Progress, last: str) -> None:
        super().__init__(notes, engine, progress)
        self._last = last
        self.states: list[RoundState] = []

    def run(self, round_: Round[T]) -> list[dict[str, Any]]:
        """Notes how far the round has come.

        Raises:
            RoundReachedError: it is not complete, or the stage's last.
        """
        results = self.noted(round_)
        if not round_.by_all:
            self.states.append(RoundState(round_.name, tuple((task.key, task.key in results) for task in round_.tasks)))
        if len(results) < len(round_.tasks) or round_.name == self._last:
            raise RoundReachedError
        return [results[task.key] for task in round_.tasks]

    def decide(self, key: str, value: Callable[[], Any]) -> Any:
        """The choice that stands, or that would be made now; notes nothing."""
        note = self._note(key)
        return read_decision(note) if note.exists() else value()
