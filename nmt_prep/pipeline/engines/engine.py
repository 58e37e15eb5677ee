"""The protocol for engines, which run the tasks in stages, and the usual engine: threads in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from threading import Event, current_thread
from typing import Generic, Protocol, TypeAlias, TypeVar

from nmt_prep.base.progress import StoppedError
from nmt_prep.base.runtime import available_cores, end_children

BASE_MEMORY = 200_000_000  # Base memory of a process in bytes: the interpreter, Arrow, the vocabularies


class Task(Protocol):
    """A unit of a stage's work: plain data that can be pickled."""

    @property
    def key(self) -> str:
        """Name of the task, unique within its stage; letters, digits, dots and dashes."""
        ...


T = TypeVar("T", bound=Task)
R = TypeVar("R")

Tick: TypeAlias = "Callable[[int], None]"
"""Progress callback: takes the amount done since the last call, in the round's unit; may raise to end the task."""

Work: TypeAlias = "Callable[[T, Tick], R]"
"""A module-level function from a task to its result. Function, task and result must be picklable."""


@dataclass(frozen=True)
class Done(Generic[T, R]):
    """A finished task, and the worker that ran it."""

    task: T
    result: R
    worker: str
    seconds: float
    elsewhere: float = 0.0  # seconds of processor time in another process; 0 if it ran in this process


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


class LocalEngine:
    """Runs tasks on threads, because the native code releases the GIL.

    It takes at most two tasks per worker from the iterable ahead of time.
    """

    def __init__(self, workers: int | None = None, stopping: Event | None = None) -> None:
        """Starts no thread yet; ``workers`` is one per core by default."""
        self.workers = workers or available_cores()
        # set when a task fails or the caller stops, so that running tasks can end early
        self._stopping = stopping or Event()

    @property
    def threads_here(self) -> int:
        """Number of workers, which are idle while this process works alone."""
        return self.workers

    def worker_memory(self, memory: int) -> int:
        """Returns a thread's share of the memory limit, less the process's base memory."""
        return max(memory - BASE_MEMORY, 0) // self.workers

    def map(self, function: Work[T, R], tasks: Iterable[T], tick: Tick) -> Iterator[Done[T, R]]:
        """Yields tasks as they end. A failure cancels the rest and is raised once the running tasks have ended."""
        remaining = iter(tasks)
        running: set[Future[Done[T, R]]] = set()
        failure: BaseException | None = None
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="thread")
        self._stopping.clear()
        try:
            while True:
                if failure is None:
                    for task in islice(remaining, 2 * self.workers - len(running)):
                        running.add(pool.submit(self._timed, function, task, tick))
                if not running:
                    break
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    if (error := future.exception()) is None:
                        yield future.result()
                    elif failure is None or isinstance(failure, StoppedError):
                        failure = error
        except BaseException:
            self._stopping.set()
            end_children()  # tasks wait for them
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        if failure is not None:
            raise failure

    def _timed(self, function: Work[T, R], task: T, tick: Tick) -> Done[T, R]:
        # The failing thread stops the others, also before their next tasks, which have been submitted.
        if self._stopping.is_set():
            raise StoppedError
        started = time.monotonic()
        try:
            result = function(task, tick)
        except BaseException:
            self._stopping.set()
            raise
        return Done(task, result, current_thread().name, time.monotonic() - started)
