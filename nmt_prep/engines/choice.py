"""The engine that a config, or the caller, asks for."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from nmt_prep.config import Config, DaskSettings
from nmt_prep.engines.engine import Engine
from nmt_prep.engines.executor import ExecutorEngine
from nmt_prep.engines.local import LocalEngine, available_cores
from nmt_prep.errors import ConfigError
from nmt_prep.progress import Progress


@contextmanager
def open_engine(config: Config, executor: Executor | None, workers: int | None, progress: Progress) -> Iterator[Engine]:
    """The engine for a run; what it started for itself ends with the ``with`` block.

    Args:
        config: says which, and how many workers it has.
        executor: where it is given, it runs the tasks.
        workers: tasks at once, if not as many as the config says.
        progress: is told of tasks that failed; ends tasks of this process early when the run is to end.

    Raises:
        ConfigError: what the engine needs is not installed, or does not go with ``workers``.
        EngineError: a scheduler that should run already does not answer.
    """
    if executor is not None:
        # Executors of the standard library know how many workers they have; others may.
        known = getattr(executor, "_max_workers", None)
        count = workers or _configured(config) or (known if isinstance(known, int) else available_cores())
        yield ExecutorEngine(executor, count, progress)
    elif isinstance(config.engine, DaskSettings):
        from nmt_prep.engines.dask import DaskEngine  # noqa: PLC0415  (it takes an extra)

        with DaskEngine(_with_workers(config.engine, workers), config.run_dir, progress) as engine:
            yield engine
    else:
        yield local_engine(config, workers, progress)


def local_engine(config: Config, workers: int | None, progress: Progress) -> LocalEngine:
    """Threads of this process."""
    return LocalEngine(workers or _configured(config), progress.stopping)


def _with_workers(settings: DaskSettings, workers: int | None) -> DaskSettings:
    if workers is None:
        return settings
    if settings.cluster is None:
        raise ConfigError("engine.scheduler has the workers that it has; leave --workers out, or start others there")
    return settings.model_copy(update={"cluster": settings.cluster.model_copy(update={"workers": workers})})


def _configured(config: Config) -> int | None:
    """Workers that the config gives this machine; None for one a core."""
    engine = config.engine
    return None if isinstance(engine, DaskSettings) or engine.workers == "auto" else engine.workers
