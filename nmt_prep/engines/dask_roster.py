"""Tracks the workers of a Dask cluster, and checks that each sees the run's files."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TypeAlias

from nmt_prep import __version__
from nmt_prep.artefacts import write_json_once
from nmt_prep.errors import EngineError
from nmt_prep.progress import Progress

_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_BETWEEN_ORDERS = 15.0
_SECONDS_FOR_THE_OTHERS = 5.0
"""Seconds to wait, after the first worker has answered, for the other connected workers."""

_Question: TypeAlias = "Future[tuple[str, str | None]]"


class Roster:
    """The current workers of a cluster.

    Attributes:
        client: client of the cluster.
        threads: number of threads of all current workers.
        most_threads: maximum number of threads so far, or expected.
    """

    def __init__(
        self,
        client: Any,
        directory: Path,
        expected_workers: int,
        worker_seconds: float,
        progress: Progress,
        order: Callable[[], object] | None = None,
    ) -> None:
        """Contacts no worker yet.

        Args:
            client: a ``distributed.Client``.
            directory: directory of the run, which all workers must see under the same path.
            expected_workers: minimum number of workers that will join.
            worker_seconds: timeout while there is no worker.
            progress: receives events of workers that join or leave.
            order: requests replacements for lost workers; None if the cluster is not ours.
        """
        self.client = client
        self.threads = 0
        self.most_threads = expected_workers
        self._sign = directory.absolute() / ".nmt_prep" / f".dask.{time.time_ns():016x}.partial"
        self._expected = expected_workers
        self._seconds = worker_seconds
        self._progress = progress
        self._workers: Mapping[str, int] = {}
        self._asked: dict[str, _Question] = {}
        self._trusted: set[str] = set()
        self._order = order
        self._looked = self._seen = self._ordered = time.monotonic()

    def __enter__(self) -> Self:
        write_json_once(self._sign, lambda: __version__)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._sign.unlink()

    def gather(self) -> None:
        """Waits for a first worker that sees the run's files, and briefly for the other connected ones.

        Raises:
            EngineError: no worker joined in time, or one does not share the run's directory.
        """
        first: float | None = None
        while first is None or (self._asked and time.monotonic() - first < _SECONDS_FOR_THE_OTHERS):
            self._look()
            if self._trusted and first is None:
                first = time.monotonic()
            time.sleep(0.05)

    def look(self) -> int:
        """Returns the number of threads of all workers; at most a second old.

        Raises:
            EngineError: there was no worker for too long, one does not share the run's directory, or the connection to
                the scheduler is lost.
        """
        if time.monotonic() - self._looked >= _SECONDS_BETWEEN_LOOKS:
            self._look()
        return self.threads

    def _look(self) -> None:
        self._looked = time.monotonic()
        workers = self._workers_now()
        if workers:
            self._seen = self._looked
        elif self._looked - self._seen > self._seconds:
            raise EngineError(
                f"the Dask cluster has had no worker for {self._seconds:g} s; start some, check the batch system's "
                "queue, or raise engine.worker_seconds; run the same command again: finished tasks are kept"
            )
        if workers != self._workers:
            self._changed(workers)
        short = len(workers) < self._expected
        if self._order is not None and short and self._looked - self._ordered > _SECONDS_BETWEEN_ORDERS:
            self._ordered = self._looked
            self._order()
        for address, question in list(self._asked.items()):
            if question.done():
                del self._asked[address]
                self._check(address, question)

    def _workers_now(self) -> dict[str, int]:
        """Returns the number of threads of each worker, by address."""
        if self.client.status != "running":
            raise _lost(f"the client is {self.client.status}")
        try:
            return dict(self.client.nthreads())
        except (OSError, ValueError) as error:
            raise _lost(str(error)) from error

    def _changed(self, workers: dict[str, int]) -> None:
        joined, left = sorted(workers.keys() - self._workers.keys()), sorted(self._workers.keys() - workers.keys())
        self._workers = workers
        self.threads = sum(workers.values())
        per_worker = max(workers.values(), default=1)
        self.most_threads = max(self.most_threads, self.threads, self._expected * per_worker)
        self._progress.event("workers_changed", workers=len(workers), threads=self.threads, joined=joined, left=left)
        for address in left:
            if (question := self._asked.pop(address, None)) is not None:
                question.cancel()
            self._trusted.discard(address)
        for address in joined:
            # A Dask future is done before its result has arrived here. If the worker dies in between, result() waits
            # forever, since the question is bound to that worker.
            executor = self.client.get_executor(workers=[address], allow_other_workers=False, pure=False)
            self._asked[address] = executor.submit(read_sign, self._sign, priority=100)

    def _check(self, address: str, question: _Question) -> None:
        if question.cancelled() or address not in self._workers:
            return
        error = question.exception()
        if type(error).__name__ == "KilledWorker":
            return
        if error is not None:
            raise EngineError(
                f"the worker {address} cannot run tasks of nmt_prep {__version__}: {type(error).__name__}: {error}; "
                "install the same version there"
            )
        version, sign = question.result()
        if version != __version__:
            raise EngineError(
                f"the worker {address} has nmt_prep {version}, and this is {__version__}; install the same version "
                "there"
            )
        if sign is None:
            raise EngineError(
                f"the worker {address} does not see {self._sign.parent.parent}; set output_dir to a directory that all "
                "workers share under the same path"
            )
        self._trusted.add(address)


def _lost(why: str) -> EngineError:
    return EngineError(
        f"the connection to the Dask scheduler is lost ({why}); run the same command again when it is back: "
        "finished tasks are kept"
    )


def read_sign(sign: Path) -> tuple[str, str | None]:
    """Runs on a worker: returns its version of nmt_prep, and the content of the run's sign file."""
    try:
        return __version__, sign.read_text(encoding="utf-8")
    except OSError:
        return __version__, None
