"""Workers of a Dask cluster, either an existing one or one that is started here from the config.

Dask itself moves tasks from dead workers to others, and replaces dead workers of clusters that it started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

from nmt_prep.config import DaskSettings
from nmt_prep.engines.dask_clusters import cluster_class, open_cluster
from nmt_prep.engines.dask_roster import Roster
from nmt_prep.engines.engine import BASE_MEMORY, Done, R, T, Tick, Work
from nmt_prep.engines.executor import ExecutorEngine
from nmt_prep.errors import EngineError
from nmt_prep.progress import Progress
from nmt_prep.runtime.cores import available_cores
from nmt_prep.runtime.extras import needed_extra

_CLOSING_SECONDS = 10.0


class DaskEngine:
    """Runs tasks on the workers of a Dask cluster.

    An existing scheduler is contacted at once. A new cluster is started with the first tasks, so that a run with
    nothing to do does not use the batch system.
    """

    def __init__(self, settings: DaskSettings, directory: Path, progress: Progress) -> None:
        """Checks the settings without starting anything.

        Args:
            settings: the section of the config.
            directory: directory of the run, which workers must see under the same path.
            progress: receives events of failed tasks, and of workers that join or leave.

        Raises:
            ConfigError: an extra is not installed, or an option is unknown.
        """
        self._distributed = needed_extra("distributed", "dask", "engine.kind dask")
        if settings.cluster is not None:
            cluster_class(settings.cluster)
        self._settings = settings
        self._directory = directory
        self._progress = progress
        self._stack = ExitStack()
        self._client: Any = None
        self._order: Callable[[], object] | None = None
        self._roster: Roster | None = None
        self._engine: ExecutorEngine | None = None

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

    @property
    def workers(self) -> int:
        """Number of parallel tasks, as far as known."""
        expected = self._settings.cluster.workers if self._settings.cluster is not None else 1
        return self._engine.workers if self._engine is not None else expected

    @property
    def threads_here(self) -> int:
        """One per core of this machine, whatever the number of workers elsewhere."""
        return available_cores()

    def worker_memory(self, memory: int) -> int:
        """A thread's share of the memory limit, less the base memory of a process; counts all expected threads."""
        self._started()
        assert self._roster is not None
        return max(memory // self._roster.most_threads - BASE_MEMORY, 0)

    def map(self, function: Work[T, R], tasks: Iterable[T], tick: Tick) -> Iterator[Done[T, R]]:
        """Yields tasks as they end. A failure cancels the rest and is raised.

        Raises:
            NmtPrepError: as the task raised it.
            EngineError: there are no workers, they do not share the run's directory, or a task failed three times.
        """
        return self._started().map(function, tasks, tick)

    def _started(self) -> ExecutorEngine:
        if self._engine is None:
            settings, client = self._settings, self._client or self._connect()
            expected = settings.cluster.workers if settings.cluster is not None else 1
            seconds, order = settings.worker_seconds, self._order
            self._roster = self._stack.enter_context(
                Roster(client, self._directory, expected, seconds, self._progress, order)
            )
            self._roster.gather()
            executor = client.get_executor(pure=False)
            self._engine = ExecutorEngine(executor, self._roster.threads, self._progress, self._roster.look)
        return self._engine

    def _connect(self) -> Any:
        """Returns a client of the cluster; starts the cluster if the config describes one."""
        address: Any = self._settings.scheduler
        if self._settings.cluster is not None:
            address = self._stack.enter_context(open_cluster(self._settings))
            # scale() counts workers that are still starting, and starts only the missing ones.
            self._order = partial(address.scale, self._settings.cluster.workers)
        self._client = self._stack.enter_context(self._client_of(address))
        return self._client

    @contextmanager
    def _client_of(self, address: Any) -> Iterator[Any]:
        """Opens a client that is not the process's default client, so that other uses of Dask are not affected."""
        seconds = self._settings.connect_seconds
        try:
            client = self._distributed.Client(address, timeout=seconds, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EngineError(
                f"no Dask scheduler answers at {address} within {seconds:g} s ({error}); check engine.scheduler and "
                "that the scheduler runs, or raise engine.connect_seconds"
            ) from error
        try:
            yield client
        finally:
            client.close(timeout=_CLOSING_SECONDS)
