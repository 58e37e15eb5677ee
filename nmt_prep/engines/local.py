"""Threads of this process; the native code releases the GIL."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from threading import Event, current_thread

from nmt_prep.engines.engine import BASE_MEMORY, Done, R, T, Tick, Work
from nmt_prep.progress import StoppedError
from nmt_prep.runtime import available_cores, end_children


class LocalEngine:
    """Runs tasks on threads; takes at most two tasks per worker from the iterable ahead of time."""

    def __init__(self, workers: int | None = None, stopping: Event | None = None) -> None:
        """Starts no thread yet.

        Args:
            workers: number of threads; None is one per core.
            stopping: set when a task fails or the caller stops, so that running tasks can end early.
        """
        self.workers = workers or available_cores()
        self._stopping = stopping or Event()

    @property
    def threads_here(self) -> int:
        """Number of workers, which are idle while this process works alone."""
        return self.workers

    def worker_memory(self, memory: int) -> int:
        """Returns a thread's share of the memory limit, less the base memory of the process."""
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
                    if future.cancelled():
                        continue
                    if (error := future.exception()) is None:
                        yield future.result()
                    else:
                        failure = error if failure is None or isinstance(failure, StoppedError) else failure
                        for waiting in running:
                            waiting.cancel()
        except BaseException:
            self._stopping.set()
            end_children()  # tasks wait for them
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        if failure is not None:
            raise failure

    def _timed(self, function: Work[T, R], task: T, tick: Tick) -> Done[T, R]:
        # The failing thread stops the others, which would take their next tasks before the caller cancels them.
        if self._stopping.is_set():
            raise StoppedError
        started = time.monotonic()
        try:
            result = function(task, tick)
        except BaseException:
            self._stopping.set()
            raise
        return Done(task, result, current_thread().name, time.monotonic() - started)
