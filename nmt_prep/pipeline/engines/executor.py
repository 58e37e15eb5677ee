"""Workers of a ``concurrent.futures.Executor``: other processes, on this machine or on others.

They share only the file system with this process. Tasks are idempotent, so a task may run again after its worker was
lost, or twice at the same time. Files that another machine wrote may not be visible yet, since NFS caches for up to a
minute, so a task whose file is missing is retried for a while.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeAlias

from nmt_prep.base.errors import EngineError, NmtPrepError, OutputError
from nmt_prep.base.progress import Progress
from nmt_prep.base.runtime import available_cores
from nmt_prep.pipeline.engines.engine import BASE_MEMORY, Done, R, T, Tick, Work

ATTEMPTS = 3  # Number of failures per task that ends the run

_SECONDS_BETWEEN_LOOKS = 1.0


@dataclass(frozen=True)
class TaskReport(Generic[R]):
    """A worker's report on a task: its result, or its failure (the error itself only for an NmtPrepError)."""

    worker: str
    seconds: float
    processor: float
    amount: int
    result: R | None
    message: str = ""
    traceback: str = ""
    error: NmtPrepError | None = None


_Running: TypeAlias = "dict[Future[TaskReport[R]], tuple[T, int]]"
"""The submitted tasks, each with the number of its attempt, from 1."""


class ExecutorEngine:
    """Runs tasks on an executor that the caller owns; submits a few tasks per worker ahead.

    A task that fails for a reason that may be transient (a full disk on one worker, a lost worker, an unexpected error)
    is run again, up to three times in all. A task that finds invalid data fails at once.
    """

    def __init__(
        self,
        executor: Executor | None,
        workers: int,
        progress: Progress | None = None,
        watch: Callable[[], int] | None = None,
    ) -> None:
        """Takes an executor.

        Args:
            executor: its workers must see the same files under the same paths as this process. None for an executor
                that is set later.
            watch: called about every second while tasks run; returns the current number of parallel tasks, and raises
                if there is no point in waiting any longer.
        """
        self.workers = workers
        self._executor: Any = executor
        self._progress = progress or Progress()
        self._watch = watch

    @property
    def threads_here(self) -> int:
        """Number of cores in this machine, because the workers run in other processes."""
        return available_cores()

    def worker_memory(self, memory: int) -> int:
        """Returns a worker's share of the memory limit, less its process's base memory."""
        return max(memory // self.workers - BASE_MEMORY, 0)

    def map(self, function: Work[T, R], tasks: Iterable[T], tick: Tick) -> Iterator[Done[T, R]]:
        """Yields tasks as they end. A failure cancels the rest and is raised once the running tasks have ended."""
        remaining = iter(tasks)
        running: _Running[R, T] = {}
        failure: Exception | None = None
        try:
            while True:
                if failure is None:
                    # At least one, also without workers, since the loop ends when no task is submitted.
                    ahead = max(3 * self.workers, 1)
                    for task in islice(remaining, max(ahead - len(running), 0)):
                        running[self._submit(function, task)] = task, 1
                if not running:
                    break
                for future in self._ended(running):
                    if future not in running:
                        continue  # cancelled meanwhile
                    task, number = running.pop(future)
                    report = _report(future)
                    if report.result is not None:
                        tick(report.amount)
                        elsewhere = 0.0 if _process(report.worker) == _process(worker_name()) else report.processor
                        yield Done(task, report.result, report.worker, report.seconds, elsewhere)
                    elif failure is None:
                        failure = self._failed(task, number, report)
                        if failure is None:
                            running[self._submit(function, task)] = task, number + 1
                        else:
                            running = _cancel(running)
        finally:
            _cancel(running)
        if failure is not None:
            raise failure

    def _ended(self, running: Iterable[Future[TaskReport[R]]]) -> set[Future[TaskReport[R]]]:
        """Waits for finished tasks; may return none, so that ``watch`` is called regularly."""
        if self._watch is None:
            return wait(running, return_when=FIRST_COMPLETED).done
        self.workers = self._watch()
        return wait(running, timeout=_SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED).done

    def _submit(self, function: Work[T, R], task: T) -> Future[TaskReport[R]]:
        try:
            submitted: Future[TaskReport[R]] = self._executor.submit(perform, function, task)
        except Exception as error:  # each executor library has its own errors
            raise EngineError(
                f"the workers are lost: {str(error) or type(error).__name__}; "
                "start them again and run the same command: finished tasks are kept"
            ) from error
        return submitted

    def _failed(self, task: T, number: int, report: TaskReport[Any]) -> Exception | None:
        """Returns the error that ends the run after a failure; None if the task is to be run again."""
        error = report.error
        final = number >= ATTEMPTS or not (error is None or isinstance(error, OutputError))
        self._progress.event(
            "task_failed" if final else "task_retried",
            task=task.key,
            attempt=number,
            worker=report.worker,
            message=report.message,
            traceback=report.traceback,
        )
        if not final:
            return None
        if isinstance(error, OutputError):
            return OutputError(f"{error} (worker {report.worker}, after {number} tries)")
        if error is not None:
            return error
        return EngineError(
            f"task {task.key} failed {number} times, the last time on worker {report.worker}: "
            f"{report.message}; the log has the traceback (--log-json); fix the cause and run again: "
            "results of the other tasks are kept"
        )


def perform(function: Work[T, R], task: T) -> TaskReport[R]:
    """Runs a task on a worker; returns its result or failure as plain data."""
    amount = 0

    def tick(done: int) -> None:
        nonlocal amount
        amount += done

    started, before, name = time.monotonic(), time.thread_time(), worker_name()

    def times() -> tuple[float, float]:
        return time.monotonic() - started, time.thread_time() - before

    try:
        result = look_again(function, task, tick)
    except Exception as error:  # noqa: BLE001 - the caller decides what to do
        # Errors of other libraries may not be picklable, so only their text is returned.
        ours = error if isinstance(error, NmtPrepError) else None
        return TaskReport(name, *times(), amount, None, _in_words(error), traceback.format_exc(), ours)
    return TaskReport(name, *times(), amount, result)


def worker_name() -> str:
    """Returns a name for this process (and for its thread if not the main one) that is unique across machines."""
    thread = threading.current_thread()
    suffix = "" if thread is threading.main_thread() else f"/{thread.name}"
    return f"{socket.gethostname()}:{os.getpid()}{suffix}"


def _process(worker: str) -> str:
    """Returns the part of a worker's name that stands for its process."""
    return worker.partition("/")[0]


def _cancel(running: _Running[R, T]) -> _Running[R, T]:
    """Cancels the tasks that have not started; returns the others."""
    return {future: tried for future, tried in running.items() if not future.cancel()}


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _report(future: Future[TaskReport[R]]) -> TaskReport[R]:
    """Returns the report on a task; makes one if its worker was lost."""
    if future.cancelled():
        raise EngineError(
            "a task was cancelled from outside, as happens if the connection to the workers is lost; "
            "run the same command again: finished tasks are kept"
        )
    error = future.exception()
    if error is None:
        return future.result()
    if not isinstance(error, Exception):
        raise error
    # Dask's KilledWorker has the worker's name.
    worker = getattr(error, "last_worker", None)
    name = getattr(worker, "address", None) or "unknown"
    return TaskReport(name, 0.0, 0.0, 0, None, _in_words(error), "".join(traceback.format_exception(error)))


PAUSES = (0.1, 0.4, 1.5, 3.0)
"""Seconds to wait before each retry; a file that is not there after the last one is missing."""

_UNSEEN = {errno.ENOENT, errno.ESTALE}
"""Error numbers for a file that does not exist, and for one that was replaced while it was read."""


def look_again(function: Work[T, R], task: T, tick: Tick) -> R:
    """Runs a task, and retries it a few times while a file that it needs is not there; raises what the task raises."""
    pauses = iter(PAUSES)
    while True:
        amounts: list[int] = []

        def count(amount: int, amounts: list[int] = amounts) -> None:
            amounts.append(amount)
            tick(amount)

        try:
            return function(task, count)
        except Exception as error:
            if not is_unseen(error) or (pause := next(pauses, None)) is None:
                raise
        tick(-sum(amounts))
        time.sleep(pause)


def is_unseen(error: BaseException) -> bool:
    """Returns True if a missing file caused an error; then also lists its directory, which refreshes NFS's cache."""
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.errno in _UNSEEN:
            if isinstance(cause.filename, str):
                with suppress(OSError):
                    any(Path(cause.filename).parent.iterdir())
            return True
    return False


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
