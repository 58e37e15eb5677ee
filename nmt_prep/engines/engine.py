"""The protocol of engines, which run the tasks of stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

BASE_MEMORY = 200_000_000
"""Base memory of a process in bytes: the interpreter, Arrow, the vocabularies."""


class Task(Protocol):
    """A unit of a stage's work: plain data that can be pickled."""

    @property
    def key(self) -> str:
        """Name of the task, unique within its stage; letters, digits, dots and dashes."""
        ...


T = TypeVar("T", bound=Task)
R = TypeVar("R")

Tick: TypeAlias = "Callable[[int], None]"
"""Progress callback: takes the amount done since the last call, in the unit of the round; may raise to end the task."""

Work: TypeAlias = "Callable[[T, Tick], R]"
"""A module-level function from a task to its result. Function, task and result must be picklable."""


@dataclass(frozen=True)
class Done(Generic[T, R]):
    """A finished task.

    Attributes:
        task: the task.
        result: its result.
        worker: the worker that ran it.
        seconds: duration.
        elsewhere: seconds of processor time that it took in another process; 0 if it ran in this process.
    """

    task: T
    result: R
    worker: str
    seconds: float
    elsewhere: float = 0.0


class Engine(Protocol):
    """Runs a function over tasks, in any order, and yields results as they come."""

    @property
    def workers(self) -> int:
        """Number of parallel tasks."""
        ...

    @property
    def threads_here(self) -> int:
        """Number of threads that work in this process itself may use."""
        ...

    def worker_memory(self, memory: int) -> int:
        """Returns the bytes that each task may use for its data, given ``memory`` for all processes together."""
        ...

    def map(self, function: Work[T, R], tasks: Iterable[T], tick: Tick) -> Iterator[Done[T, R]]:
        """Yields tasks as they end. A failure cancels the rest and is raised once the running tasks have ended."""
        ...
