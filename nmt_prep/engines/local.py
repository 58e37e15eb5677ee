"""Threads of this process: the hot work releases the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from threading import Event
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Engine(Protocol):
    """What a stage needs: run a function over tasks, in any order, and hand back results as they come."""

    workers: int

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[tuple[T, R]]:
        """Yields (task, result) as tasks end. A failure ends the rest and is raised once those under way have ended."""
        ...


class HereEngine:
    """Runs tasks one after the other in the calling thread, where Ctrl-C reaches native code that looks for it."""

    workers = 1

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[tuple[T, R]]:
        """Yields (task, result) in order. A failure is raised at once."""
        return ((task, function(task)) for task in tasks)


class LocalEngine:
    """Runs tasks on threads, with at most two tasks a worker taken from the list ahead of time."""

    def __init__(self, workers: int | None = None, stopping: Event | None = None) -> None:
        """Starts no thread yet.

        Args:
            workers: threads; None is one a core.
            stopping: set when a task fails or the caller gives up, so that tasks under way can end early.
        """
        self.workers = workers or available_cores()
        self._stopping = stopping or Event()

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[tuple[T, R]]:
        """Yields (task, result) as tasks end. A failure ends the rest and is raised once those under way have ended."""
        remaining = iter(tasks)
        running: dict[Future[R], T] = {}
        failure: BaseException | None = None
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="nmt-prep")
        self._stopping.clear()
        try:
            while True:
                if failure is None:
                    for task in islice(remaining, 2 * self.workers - len(running)):
                        running[pool.submit(function, task)] = task
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    task = running.pop(future)
                    if future.cancelled():
                        continue
                    if (error := future.exception()) is None:
                        yield task, future.result()
                    else:
                        failure = failure or error
                        self._stopping.set()
                        for waiting in running:
                            waiting.cancel()
        except BaseException:
            self._stopping.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        if failure is not None:
            raise failure
