"""Workers of a Dask cluster, either an existing one or one that is started here from the config.

Dask can start clusters on this machine, through a batch system, or in Kubernetes. Dask itself moves tasks from dead
workers to others, and replaces dead workers of clusters that it started.
"""

from __future__ import annotations

import difflib
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

from nmt_prep.config import ClusterSettings, DaskSettings
from nmt_prep.engines.dask_roster import Roster
from nmt_prep.engines.engine import BASE_MEMORY, Done, R, T, Tick, Work
from nmt_prep.engines.executor import ExecutorEngine
from nmt_prep.errors import ConfigError, EngineError
from nmt_prep.progress import Progress
from nmt_prep.runtime import available_cores, needed_extra

_CLASSES = {
    "local": ("distributed", "dask", "LocalCluster"),
    "slurm": ("dask_jobqueue", "dask-jobqueue", "SLURMCluster"),
    "pbs": ("dask_jobqueue", "dask-jobqueue", "PBSCluster"),
    "lsf": ("dask_jobqueue", "dask-jobqueue", "LSFCluster"),
    "sge": ("dask_jobqueue", "dask-jobqueue", "SGECluster"),
    "kubernetes": ("dask_kubernetes.operator", "dask-kubernetes", "KubeCluster"),
}
"""Module, extra of this package, and class, by kind."""

_OURS = {"self", "args", "kwargs", "worker_kwargs", "base_class_kwargs", "asynchronous", "loop", "n_workers"}
"""Constructor parameters that are not options of the config."""

_ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": "67108864", "MALLOC_MMAP_THRESHOLD_": "33554432"}
"""The threshold that glibc adapts to by default.

Dask sets one (in ``pre-spawn-environ``) that returns memory to the system often; allocating it again costs a sixth of
the tasks' time."""

_BESIDE_A_WORKER = 500_000_000
"""Bytes of a job in addition to its workers' memory, for their nanny process."""


def cluster_class(settings: ClusterSettings) -> Any:
    """Returns Dask's class for clusters of a kind.

    Raises:
        ConfigError: its extra is not installed, or it has no such option.
    """
    module, extra, name = _CLASSES[settings.kind]
    cluster: Any = getattr(needed_extra(module, extra, f"engine.cluster.kind {settings.kind}"), name)
    allowed = _option_names(cluster)
    for option in settings.options:
        if option == "n_workers":
            raise ConfigError("engine.cluster.options.n_workers: give engine.cluster.workers instead")
        if option not in allowed:
            near = difflib.get_close_matches(option, allowed, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            known = ", ".join(sorted(allowed))
            raise ConfigError(f"engine.cluster.options.{option}: {name} has no such option{hint} (it has {known})")
    return cluster


@contextmanager
def open_cluster(settings: DaskSettings) -> Iterator[Any]:
    """Starts the cluster that a config describes; stops it at the end of the ``with`` block.

    Raises:
        ConfigError: the cluster refuses its options.
        EngineError: it cannot be started.
    """
    assert settings.cluster is not None
    cluster_settings = settings.cluster
    dask = needed_extra("dask", "dask", "engine.kind dask")
    create = cluster_class(cluster_settings)
    try:
        with dask.config.set(_dask_settings(settings, dask.config)):
            cluster = create(**cluster_options(settings))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"engine.cluster: {create.__name__} refuses its options: {error}") from error
    except (OSError, RuntimeError) as error:
        raise EngineError(f"cannot start a cluster of kind {cluster_settings.kind}: {error}") from error
    with cluster:
        cluster.scale(cluster_settings.workers)
        yield cluster


def cluster_options(settings: DaskSettings) -> dict[str, Any]:
    """Returns the arguments of Dask's class: those derived from the section, overridden by its ``options``."""
    cluster = settings.cluster
    assert cluster is not None
    own = {key: _lists(value) for key, value in cluster.options.items()}
    share = settings.memory // cluster.workers
    if cluster.kind == "local":
        # Tasks keep within their share; Dask's own limits would kill a worker slightly above it.
        quiet = {
            "threads_per_worker": 1,
            "memory_limit": None,
            "dashboard_address": ":0",
            "silence_logs": logging.ERROR,
        }
        return {"n_workers": cluster.workers, **quiet, **own}
    if cluster.kind == "kubernetes":
        variables = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": f"{settings.frozen_seconds:g}s", **_ALLOCATOR}
        return {"n_workers": cluster.workers, "quiet": True, **own, "env": _environment(variables, own.get("env"))}
    processes = own.get("processes", 1)
    prologue = [*(f"export {name}={value}" for name, value in _ALLOCATOR.items()), *own.pop("job_script_prologue", ())]
    memory = f"{share * processes + _BESIDE_A_WORKER} B"
    return {"cores": 1, "processes": processes, "memory": memory, "job_script_prologue": prologue, **own}


def _dask_settings(settings: DaskSettings, current: Any) -> dict[str, Any]:
    """Returns Dask's configuration for schedulers and workers that this process starts."""
    environment = "distributed.nanny.pre-spawn-environ"
    return {
        "distributed.scheduler.worker-ttl": f"{settings.frozen_seconds:g}s",
        environment: {**current.get(environment), **_ALLOCATOR},
        # Profiling is not used here and costs a few percent of a core.
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "500ms",
    }


def _environment(variables: Mapping[str, str], own: Any) -> Any:
    """Merges environment variables with the config's, which take precedence; for Kubernetes a mapping or a list."""
    if isinstance(own, list):
        return [*({"name": name, "value": value} for name, value in variables.items()), *own]
    return {**variables, **(own or {})}


def _lists(value: Any) -> Any:
    """Converts tuples of a config back to lists, as in the file."""
    if isinstance(value, tuple):
        return [_lists(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _lists(item) for key, item in value.items()}
    return value


def _option_names(cluster: Any) -> set[str]:
    """Returns the parameter names of a class, and of the classes to which it passes unknown ones."""
    related = [cluster, getattr(cluster, "job_cls", None)]
    if cluster.__name__ == "LocalCluster":
        distributed = needed_extra("distributed", "dask", "engine.kind dask")
        related += [distributed.Nanny, distributed.Worker]
    bases = [base for each in related if each is not None for base in each.__mro__ if base is not object]
    constructors = [vars(base)["__init__"] for base in bases if "__init__" in vars(base)]
    return {name for constructor in constructors for name in inspect.signature(constructor).parameters} - _OURS


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
        """Number of cores of this machine, because the workers run in other processes."""
        return available_cores()

    def worker_memory(self, memory: int) -> int:
        """Returns a thread's share of the memory limit, less a process's base memory; counts all expected threads."""
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
