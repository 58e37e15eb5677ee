"""Workers of a Dask cluster: one that runs already, or one that the config describes and that is started here.

Dask itself moves tasks from workers that died to others, and replaces the workers of clusters that it started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from nmt_prep.config import DaskSettings
from nmt_prep.engines.dask_clusters import cluster_class, open_cluster
from nmt_prep.engines.dask_roster import Roster
from nmt_prep.engines.engine import BASE_MEMORY, Done, R, T, Tick, Work
from nmt_prep.engines.executor import ExecutorEngine
from nmt_prep.engines.local import available_cores
from nmt_prep.errors import EngineError
from nmt_prep.progress import Progress
from nmt_prep.sources.extras import needed_extra

_CLOSING_SECONDS = 10.0


class DaskEngine:
    """Runs tasks on the workers of a Dask cluster.

    A scheduler that runs already is called at once. A cluster is started when the first tasks come: a run that finds
    everything fresh asks nothing of the batch system.
    """

    def __init__(self, settings: DaskSettings, directory: Path, progress: Progress) -> None:
        """Starts nothing yet; checks what can be checked.

        Args:
            settings: the section of the config.
            directory: of the run, which workers must see under the same path.
            progress: is told of tasks that failed, and of workers that come and go.

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def workers(self) -> int:
        """Tasks that run at once, as far as that is known."""
        expected = self._settings.cluster.workers if self._settings.cluster is not None else 1
        return self._engine.workers if self._engine is not None else expected

    @property
    def threads_here(self) -> int:
        """One a core: how many workers there are elsewhere says nothing of this machine."""
        return available_cores()

    def worker_memory(self, memory: int) -> int:
        """A thread's share of the bound, among all that there were so far or are to come, less what a process holds."""
        self._started()
        assert self._roster is not None
        return max(memory // self._roster.most_threads - BASE_MEMORY, 0)

    def map(self, function: Work[T, R], tasks: Iterable[T], tick: Tick) -> Iterator[Done[T, R]]:
        """Yields tasks as they end. A failure ends the rest and is raised.

        Raises:
            NmtPrepError: as the task raised it.
            EngineError: there are no workers, or they see other files, or a task failed three times.
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
        """A client of the cluster, which is started where the config describes one."""
        address: Any = self._settings.scheduler
        if self._settings.cluster is not None:
            address = self._stack.enter_context(open_cluster(self._settings))
            # Dask counts those that it still waits for; of the others it starts as many as are missing.
            self._order = partial(address.scale, self._settings.cluster.workers)
        self._client = self._stack.enter_context(self._client_of(address))
        return self._client

    @contextmanager
    def _client_of(self, address: Any) -> Iterator[Any]:
        """A client that does not become the default of whatever else this process does with Dask."""
        seconds = self._settings.connect_seconds
        try:
            client = self._distributed.Client(address, timeout=seconds, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EngineError(
                f"no Dask scheduler answers at {address} within {seconds:g} s ({error}); check engine.scheduler and "
                "that it runs, or raise engine.connect_seconds"
            ) from error
        try:
            yield client
        finally:
            client.close(timeout=_CLOSING_SECONDS)
