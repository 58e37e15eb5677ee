"""Workers of a Dask cluster, either an existing one or one that is started here from the config.

A run can start worker processes on this machine. Dask itself moves tasks from dead workers to others, and replaces dead
workers that it started.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

from nmt_prep import __version__
from nmt_prep.base.artefacts import write_json_once
from nmt_prep.base.errors import ConfigError, EngineError
from nmt_prep.base.progress import Progress
from nmt_prep.base.runtime import needed_extra
from nmt_prep.config import ClusterSettings, DaskSettings
from nmt_prep.pipeline.engines.engine import BASE_MEMORY, Done, R, T, Tick, Work
from nmt_prep.pipeline.engines.executor import ExecutorEngine, worker_name

_ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": "67108864", "MALLOC_MMAP_THRESHOLD_": "33554432"}
"""The threshold that glibc adapts to by default.

Dask sets a low threshold (in ``pre-spawn-environ``), which returns memory to the system often; allocating it again
costs a sixth of the tasks' time."""

_CONNECT_SECONDS = 30.0
_FROZEN_SECONDS = 30.0  # after which a silent worker is replaced
_CLOSING_SECONDS = 10.0
_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_BETWEEN_ORDERS = 15.0


@contextmanager
def open_cluster(settings: DaskSettings) -> Iterator[Any]:
    """Starts the workers that a config describes; stops them at the end of the ``with`` block."""
    assert settings.cluster is not None
    dask = needed_extra("dask", "dask", "engine.kind dask")
    create = needed_extra("distributed", "dask", "engine.cluster").LocalCluster
    try:
        with dask.config.set(_dask_settings(dask.config)):
            cluster = create(**cluster_options(settings.cluster))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"engine.cluster: {create.__name__} rejects its options: {error}") from error
    except (OSError, RuntimeError) as error:
        raise EngineError(f"cannot start the workers of engine.cluster: {error.__cause__ or error}") from error
    with cluster:
        cluster.scale(settings.cluster.workers)
        yield cluster


def cluster_options(cluster: ClusterSettings) -> dict[str, Any]:
    """Returns the arguments of ``LocalCluster``: from the section, and its ``options``, which override them."""
    given = json.loads(json.dumps(cluster.options))  # lists, as in the file, not tuples
    # Tasks keep within their share; Dask's own limits would kill a worker slightly above it.
    quiet = {"threads_per_worker": 1, "memory_limit": None, "dashboard_address": ":0", "silence_logs": logging.ERROR}
    return {"n_workers": cluster.workers, **quiet, **given}


def _dask_settings(current: Any) -> dict[str, Any]:
    """Returns Dask's configuration for schedulers and workers that this process starts."""
    environment = "distributed.nanny.pre-spawn-environ"
    return {
        "distributed.scheduler.worker-ttl": f"{_FROZEN_SECONDS:g}s",
        environment: {**current.get(environment), **_ALLOCATOR},
        # Profiling is not used here and costs a few percent of a core.
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "500ms",
    }


class DaskEngine(ExecutorEngine):
    """Runs tasks on the workers of a Dask cluster.

    An existing scheduler is contacted at once. A new cluster is started with the first tasks, so that a run with
    nothing to do starts none.
    """

    def __init__(self, settings: DaskSettings, directory: Path, progress: Progress) -> None:
        """Checks the settings without starting anything."""
        self._distributed = needed_extra("distributed", "dask", "engine.kind dask")
        self._settings = settings
        self._expected = settings.cluster.workers if settings.cluster is not None else 1
        super().__init__(None, self._expected, progress, self._look)
        self._sign = directory.absolute() / ".nmt_prep" / f".dask.{time.time_ns():016x}.partial"
        self._stack = ExitStack()
        self._client: Any = None
        self._cluster: Any = None
        self._workers: Mapping[str, int] = {}
        self._most_threads = self._expected
        self._looked = self._seen = self._ordered = 0.0

    def __enter__(self) -> Self:
        if self._settings.scheduler is not None:
            try:
                self._connect()
            except BaseException:
                self._stack.close()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def worker_memory(self, memory: int) -> int:
        """Returns a thread's share of the memory limit, less a process's base memory; counts all expected threads."""
        self._start()
        return max(memory // self._most_threads - BASE_MEMORY, 0)

    def map(self, function: Work[T, R], tasks: Iterable[T], tick: Tick) -> Iterator[Done[T, R]]:
        """Yields tasks as they end. A failure cancels the rest and is raised."""
        self._start()
        return super().map(partial(run_checked, self._sign, __version__, function), tasks, tick)

    def _start(self) -> None:
        """Waits for the first workers of the cluster, once."""
        if self._executor is None:
            client = self._client or self._connect()
            write_json_once(self._sign, lambda: __version__)
            self._stack.callback(self._sign.unlink, missing_ok=True)
            with suppress(self._distributed.TimeoutError):  # _look raises the error below
                client.wait_for_workers(1, timeout=self._settings.worker_seconds)
            self._executor = client.get_executor(pure=False)
            self._seen = self._ordered = time.monotonic() - self._settings.worker_seconds
            self.workers = self._look()

    def _look(self) -> int:
        """Returns the thread count of all workers, at most a second old."""
        now, seconds = time.monotonic(), self._settings.worker_seconds
        if now - self._looked >= _SECONDS_BETWEEN_LOOKS:
            self._looked = now
            workers = self._workers_now()
            if workers:
                self._seen = now
            elif now - self._seen >= seconds:
                raise EngineError(
                    f"the Dask cluster has had no worker for {seconds:g} s; start some, check the queue of the "
                    "batch system, or raise engine.worker_seconds; run the same command again: finished tasks are kept"
                )
            if workers != self._workers:
                self._note_change(workers)
            if (
                self._cluster is not None
                and len(workers) < self._expected
                and now - self._ordered > _SECONDS_BETWEEN_ORDERS
            ):
                self._ordered = now
                self._cluster.scale(self._expected)  # starts what is missing; jobs that still start count
        return sum(self._workers.values())

    def _workers_now(self) -> dict[str, int]:
        """Returns each worker's thread count, by address."""
        status = self._client.status
        try:
            if status == "running":
                return dict(self._client.nthreads())
        except (OSError, ValueError) as error:
            status = error
        raise EngineError(
            f"the connection to the Dask scheduler is lost ({status}); run the same command again when it is back: "
            "finished tasks are kept"
        )

    def _note_change(self, workers: dict[str, int]) -> None:
        joined, left = sorted(workers.keys() - self._workers.keys()), sorted(self._workers.keys() - workers.keys())
        self._workers, threads = workers, sum(workers.values())
        self._most_threads = max(self._most_threads, threads, self._expected * max(workers.values(), default=1))
        self._progress.event("workers_changed", workers=len(workers), threads=threads, joined=joined, left=left)

    def _connect(self) -> Any:
        address: Any = self._settings.scheduler
        if self._settings.cluster is not None:
            address = self._cluster = self._stack.enter_context(open_cluster(self._settings))
        self._client = self._stack.enter_context(self._client_of(address))
        if self._cluster is not None:
            self._client.register_plugin(_quiet_end(self._distributed.WorkerPlugin))
        return self._client

    @contextmanager
    def _client_of(self, address: Any) -> Iterator[Any]:
        """Opens a client that is not the process's default client, so that other uses of Dask are not affected."""
        try:
            client = self._distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EngineError(
                f"no Dask scheduler answers at {address} within {_CONNECT_SECONDS:g} s ({error}); check "
                "engine.scheduler and that the scheduler runs"
            ) from error
        try:
            yield client
        finally:
            client.close(timeout=_CLOSING_SECONDS)


def _quiet_end(plugin: Any) -> Any:
    """Returns a plugin for workers that end: a heartbeat that is under way then fails, which is no error."""

    class QuietEnd(plugin):  # type: ignore[misc]
        name = "nmt_prep-quiet-end"

        def teardown(self, worker: Any) -> None:
            del worker
            logging.getLogger("distributed.worker").setLevel(logging.CRITICAL)

    return QuietEnd()


def run_checked(sign: Path, version: str, function: Work[T, R], task: T, tick: Tick) -> R:
    """Runs a task on a worker, after checking that the worker has this version and sees the run's directory."""
    if version != __version__:
        raise EngineError(
            f"the worker {worker_name()} has nmt_prep {__version__}, and this is {version}; install the same version "
            "there"
        )
    try:
        sign.stat()
    except OSError as error:
        raise EngineError(
            f"the worker {worker_name()} does not see {sign.parent.parent}; set output_dir to a directory that all "
            "workers share under the same path"
        ) from error
    return function(task, tick)
