"""Workers behind a ``concurrent.futures.Executor``: other processes, on this machine or on others.

What they share with this process is the file system. A task is idempotent, so one that was lost with its worker, or
that two workers do at once, does no harm.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic

from nmt_prep.engines.engine import BASE_MEMORY, Done, R, T, Tick, Work
from nmt_prep.engines.local import available_cores
from nmt_prep.engines.unseen import look_again
from nmt_prep.errors import EngineError, NmtPrepError, OutputError
from nmt_prep.progress import Progress

ATTEMPTS = 3
"""How often a task may fail before the run ends."""

_SECONDS_BETWEEN_LOOKS = 1.0


@dataclass(frozen=True)
class Report(Generic[R]):
    """What a worker tells of a task: its result, or why there is none, as an error only where it is one of ours."""

    worker: str
    seconds: float
    amount: int
    result: R | None
    message: str = ""
    traceback: str = ""
    error: NmtPrepError | None = None


@dataclass(frozen=True)
class _Attempt(Generic[T]):
    task: T
    number: int


class ExecutorEngine:
    """Runs tasks on an executor that somebody else starts and stops, with a few tasks a worker handed over early.

    A task that fails for a reason that may pass (a full disk on one worker, a worker that is gone, an error that nobody
    foresaw) is run again, up to three times in all. One that finds fault with the data fails at once.
    """

    def __init__(
        self,
        executor: Executor,
        workers: int,
        progress: Progress | None = None,
        watch: Callable[[], int] | None = None,
    ) -> None:
        """Takes an executor.

        Args:
            executor: its workers must see the same files under the same paths as this process.
            workers: tasks that it runs at once; what the bound on memory is divided by.
            progress: is told of tasks that failed.
            watch: called every second or so while tasks run; returns how many can run at once now, and raises where
                there is no use in waiting any longer.
        """
        self.workers = workers
        self._executor = executor
        self._progress = progress or Progress()
        self._watch = watch

    @property
    def threads_here(self) -> int:
        """One a core: how many workers there are elsewhere says nothing of this machine."""
        return available_cores()

    def worker_memory(self, memory: int) -> int:
        """A worker's share of the bound, but for what its process holds anyway."""
        return max(memory // self.workers - BASE_MEMORY, 0)

    def map(self, function: Work[T, R], tasks: Iterable[T], tick: Tick) -> Iterator[Done[T, R]]:
        """Yields tasks as they end. A failure ends the rest and is raised once those under way have ended.

        Raises:
            NmtPrepError: as the task raised it.
            EngineError: the workers are gone, or a task failed three times.
        """
        remaining = iter(tasks)
        running: dict[Future[Report[R]], _Attempt[T]] = {}
        failure: Exception | None = None
        try:
            while True:
                if failure is None:
                    # One at least, also while there are no workers: no task under way means that all are done.
                    ahead = max(3 * self.workers, 1)
                    for task in islice(remaining, max(ahead - len(running), 0)):
                        running[self._submit(function, task)] = _Attempt(task, 1)
                if not running:
                    break
                for future in self._ended(running):
                    if future not in running:
                        continue  # taken back since
                    attempt = running.pop(future)
                    report = _report(future)
                    if report.result is not None:
                        tick(report.amount)
                        yield Done(attempt.task, report.result, report.worker, report.seconds)
                    elif failure is None:
                        failure = self._failed(attempt, report)
                        if failure is None:
                            again = _Attempt(attempt.task, attempt.number + 1)
                            running[self._submit(function, attempt.task)] = again
                        else:
                            running = _cancel(running)
        finally:
            _cancel(running)
        if failure is not None:
            raise failure

    def _ended(self, running: Iterable[Future[Report[R]]]) -> set[Future[Report[R]]]:
        """Waits for tasks that have ended; there may be none if there is somebody to watch for."""
        if self._watch is None:
            return wait(running, return_when=FIRST_COMPLETED).done
        self.workers = self._watch()
        return wait(running, timeout=_SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED).done

    def _submit(self, function: Work[T, R], task: T) -> Future[Report[R]]:
        try:
            return self._executor.submit(perform, function, task)
        except Exception as error:  # each library of executors has errors of its own
            raise EngineError(
                f"the workers are gone: {str(error) or type(error).__name__}; "
                "start them again and run the same command: what is done is kept"
            ) from error

    def _failed(self, attempt: _Attempt[T], report: Report[Any]) -> Exception | None:
        """What to end the run with after a failure; None where the task is to be run again."""
        error = report.error
        final = attempt.number >= ATTEMPTS or not (error is None or isinstance(error, OutputError))
        self._progress.event(
            "task_failed" if final else "task_retried",
            task=attempt.task.key,
            attempt=attempt.number,
            worker=report.worker,
            message=report.message,
            traceback=report.traceback,
        )
        if not final:
            return None
        if isinstance(error, OutputError):
            return OutputError(f"{error} (worker {report.worker}, after {attempt.number} tries)")
        if error is not None:
            return error
        return EngineError(
            f"task {attempt.task.key} failed {attempt.number} times, the last time on worker {report.worker}: "
            f"{report.message}; the log has the traceback (--log-json); mend the cause and run again: "
            "what the other tasks did is kept"
        )


def perform(function: Work[T, R], task: T) -> Report[R]:
    """Runs a task on a worker; whatever comes of it goes back as plain data."""
    amount = 0

    def tick(done: int) -> None:
        nonlocal amount
        amount += done

    started, name = time.monotonic(), worker_name()
    try:
        result = look_again(function, task, tick)
    except Exception as error:  # noqa: BLE001 - the other side decides what to do about it
        seconds = time.monotonic() - started
        # Errors of others do not all survive pickle; words do.
        ours = error if isinstance(error, NmtPrepError) else None
        return Report(name, seconds, amount, None, _in_words(error), traceback.format_exc(), ours)
    return Report(name, time.monotonic() - started, amount, result)


def worker_name() -> str:
    """Names this process, and its thread where it is not the main one, among those of all machines."""
    thread = threading.current_thread()
    suffix = "" if thread is threading.main_thread() else f"/{thread.name}"
    return f"{socket.gethostname()}:{os.getpid()}{suffix}"


def _cancel(running: dict[Future[Report[R]], _Attempt[T]]) -> dict[Future[Report[R]], _Attempt[T]]:
    """Takes back the tasks that no worker has begun; returns the others."""
    return {future: attempt for future, attempt in running.items() if not future.cancel()}


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _report(future: Future[Report[R]]) -> Report[R]:
    """What came of a task, also where its worker is gone and can tell nothing."""
    if future.cancelled():
        raise EngineError(
            "the workers are gone: somebody else took back a task, as happens where the connection to them is lost; "
            "run the same command again: what is done is kept"
        )
    error = future.exception()
    if error is None:
        return future.result()
    if not isinstance(error, Exception):
        raise error
    # Dask's KilledWorker knows.
    worker = getattr(error, "last_worker", None)
    name = getattr(worker, "address", None) or "unknown"
    return Report(name, 0.0, 0, None, _in_words(error), "".join(traceback.format_exception(error)))
