"""What a stage asks of whatever runs its tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

BASE_MEMORY = 200_000_000
"""Bytes that a process holds before any task: the interpreter, Arrow, the vocabularies."""


class Task(Protocol):
    """A piece of a stage's work: plain data that pickle can carry to another process."""

    @property
    def key(self) -> str:
        """Names the task within its stage; letters, digits, dots and dashes."""
        ...


T = TypeVar("T", bound=Task)
R = TypeVar("R")

Tick: TypeAlias = "Callable[[int], None]"
"""A task calls it with what it did since the last call, in the unit of its round; it may end the task by raising."""

Work: TypeAlias = "Callable[[T, Tick], R]"
"""A module-level function from a task to its result. Pickle must be able to carry function, task and result."""


@dataclass(frozen=True)
class Done(Generic[T, R]):
    """A task that ended: its result, the worker that did it, and the seconds it took there."""

    task: T
    result: R
    worker: str
    seconds: float


class Engine(Protocol):
    """Runs a function over tasks, in any order, and hands back results as they come."""

    @property
    def workers(self) -> int:
        """Tasks that run at once."""
        ...

    @property
    def threads_here(self) -> int:
        """Threads that work of this process alone may use."""
        ...

    def worker_memory(self, memory: int) -> int:
        """Bytes that each task may use for its data, where all processes together may use ``memory``."""
        ...

    def map(self, function: Work[T, R], tasks: Iterable[T], tick: Tick) -> Iterator[Done[T, R]]:
        """Yields tasks as they end. A failure ends the rest and is raised once those under way have ended."""
        ...
