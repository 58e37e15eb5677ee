"""Rounds of tasks: the unit in which a stage's work is run, resumed, shared and listed.

A stage declares its rounds as class attributes, and yields the tasks of each from a generator. A driver
(:mod:`~nmt_prep.pipeline.drivers`) sends the results back. The generator uses only manifests and the results of earlier
rounds. It neither writes files nor contacts a network, so its tasks can be listed at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from nmt_prep.pipeline.engines.engine import R, T

P = TypeVar("P")
K = TypeVar("K", bound=Hashable)

Rounds: TypeAlias = "Generator[RoundTasks[Any, Any], list[Any], P]"
"""Type of :meth:`Stage.work`: a generator that yields the tasks of one round after another, and returns a ``P``."""


@dataclass(frozen=True)
class Round(Generic[T, R]):
    """Declares a round: its name, and the function that computes a task's result."""

    name: str  # name of the round: in `nmt-prep tasks`, and for `--round`
    # a module-level function from a task (plain data that can be pickled) to its result. Its second argument is a
    # callback for progress in `unit`; if `here` is set, it is the round's meter.
    work: Callable[[T, Any], R]
    result: type[R]  # the type of the results, a dataclass or a plain type that can be stored as JSON
    unit: str = "pairs"  # unit of the progress that tasks report
    # returns the files that a task wrote, by default its `output` if it has one. If one is missing, the task is run
    # again.
    made: Callable[[T, R], Iterable[Path]] | None = None
    # True if the tasks run one after another in the calling thread, with any engine, and cannot be shared
    here: bool = False
    # True if each process that needs the results runs the tasks itself unless their results are stored. Such tasks must
    # be quick and idempotent; without `valid`, their results must depend on the task alone. Of several results the
    # first stored one counts, so all processes use the same.
    by_all: bool = False
    end: Callable[[], None] | None = None  # called in this process once the tasks that it runs have ended
    words: str = ""  # description of its work in messages about progress; its name if empty

    def run(
        self, tasks: Iterable[T], total: int | None = None, valid: Callable[[R], bool] | None = None
    ) -> Generator[RoundTasks[T, R], list[R], list[R]]:
        """Yields the tasks to the driver and returns their results, in the order of the tasks.

        Use it as ``results = yield from ROUND.run(tasks)``.

        Args:
            total: summed progress of all tasks, in ``unit``, or None if unknown.
            valid: returns True if a result stored by an earlier run is still usable. It may contact a network, so it is
                not called for listing.
        """
        return (yield RoundTasks(self, tuple(tasks), total, valid))

    def run_groups(
        self, groups: Mapping[K, Sequence[T]], total: int | None = None
    ) -> Generator[RoundTasks[T, R], list[R], dict[K, list[R]]]:
        """Yields the tasks in several groups to the driver, and returns each group's results; see :meth:`run`."""
        results = iter((yield from self.run((task for tasks in groups.values() for task in tasks), total)))
        return {name: [next(results) for _ in tasks] for name, tasks in groups.items()}

    def files(self, task: T, result: R) -> Iterable[Path]:
        if self.made is not None:
            return self.made(task, result)
        return [task.output] if hasattr(task, "output") else []

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
