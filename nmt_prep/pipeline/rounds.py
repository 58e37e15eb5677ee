"""Rounds of tasks: the unit in which a stage's work is run, resumed, shared out and listed.

A stage declares its rounds once, as class attributes, and yields the tasks of each from a generator. A driver
(:mod:`~nmt_prep.pipeline.drivers`) sends the results back. Between two rounds a generator computes only from manifests
and from the results of earlier rounds. It neither writes files nor contacts a network, so it can be listed at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from nmt_prep.engines.engine import R, T

P = TypeVar("P")

Rounds: TypeAlias = "Generator[RoundTasks[Any, Any], list[Any], P]"
"""What :meth:`Stage.rounds_of` returns: a generator that yields the tasks of one round after another."""


@dataclass(frozen=True)
class Round(Generic[T, R]):
    """The declaration of a round: its name, and the function that turns a task into a result.

    Attributes:
        name: shown on the progress bar, listed by ``nmt-prep tasks``, taken by ``--round``.
        work: a module-level function from a task (plain data that pickle can carry) to its result. Its second argument
            is a callback for progress in ``unit``; where ``here`` is set it is the round's meter.
        result: the type of the results, a dataclass that JSON can hold.
        unit: of the progress that tasks report.
        made: returns the files that a task made. If one is gone, the task is run again.
        here: the tasks run one after another in the calling thread, whatever the engine, and are not shared out.
        by_all: each process that needs the results and finds none runs the tasks, which are quick and harmless to
            repeat. Without ``valid`` they are decisions, pure functions of the task: the first result noted stands, so
            that all processes agree on it.
    """

    name: str
    work: Callable[[T, Any], R]
    result: type[R]
    unit: str = "pairs"
    made: Callable[[T, R], Iterable[Path]] | None = None
    here: bool = False
    by_all: bool = False

    def run(
        self, tasks: Iterable[T], total: int | None = None, valid: Callable[[R], bool] | None = None
    ) -> Generator[RoundTasks[T, R], list[R], list[R]]:
        """Yields the tasks to the driver and returns their results, in the order of the tasks.

        Use it as ``results = yield from ROUND.run(tasks)``.

        Args:
            tasks: with keys that differ within the stage.
            total: what all tasks together report as progress, in ``unit``; None if unknown.
            valid: returns whether a result noted by an earlier run is still usable. It may contact a network, so it is
                not called for listing.
        """
        return (yield RoundTasks(self, tuple(tasks), total, valid))

    @property
    def shareable(self) -> bool:
        """True if members of a job array can share the tasks."""
        return not (self.here or self.by_all)


@dataclass(frozen=True)
class RoundTasks(Generic[T, R]):
    """The tasks of one round, as a stage yields them to a driver. See :meth:`Round.run`."""

    round: Round[T, R]
    tasks: Sequence[T]
    total: int | None = None
    valid: Callable[[R], bool] | None = field(default=None, compare=False)
