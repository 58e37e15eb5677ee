"""Opens the engine that the config or the caller chooses."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from nmt_prep.config import Config, DaskSettings
from nmt_prep.engines.engine import Engine
from nmt_prep.engines.executor import ExecutorEngine
from nmt_prep.engines.local import LocalEngine
from nmt_prep.errors import ConfigError
from nmt_prep.progress import Progress
from nmt_prep.runtime import available_cores


@contextmanager
def open_engine(config: Config, executor: Executor | None, workers: int | None, progress: Progress) -> Iterator[Engine]:
    """Opens the engine for a run; a cluster that it starts ends with the ``with`` block.

    Args:
        config: chooses the engine and the number of workers.
        executor: runs the tasks, if given.
        workers: number of parallel tasks; overrides the config.
        progress: receives events of failed tasks; its ``stopping`` ends tasks of this process early.

    Raises:
        ConfigError: the engine's package is not installed, or ``workers`` does not apply to it.
        EngineError: the scheduler does not answer.
    """
    if executor is not None:
        # Executors of the standard library have this attribute; others may have it.
        known = getattr(executor, "_max_workers", None)
        count = workers or _configured(config) or (known if isinstance(known, int) else available_cores())
        yield ExecutorEngine(executor, count, progress)
    elif isinstance(config.engine, DaskSettings):
        from nmt_prep.engines.dask import DaskEngine  # noqa: PLC0415  (for the optional dask)

        with DaskEngine(_with_workers(config.engine, workers), config.run_dir, progress) as engine:
            yield engine
    else:
        yield local_engine(config, workers, progress)


def local_engine(config: Config, workers: int | None, progress: Progress) -> LocalEngine:
    """Returns an engine with threads of this process."""
    return LocalEngine(workers or _configured(config), progress.stopping)


def _with_workers(settings: DaskSettings, workers: int | None) -> DaskSettings:
    if workers is None:
        return settings
    if settings.cluster is None:
        raise ConfigError("engine.scheduler sets the number of workers; omit --workers, or start more workers there")
    return settings.model_copy(update={"cluster": settings.cluster.model_copy(update={"workers": workers})})


def _configured(config: Config) -> int | None:
    """Returns the number of workers in the config for this machine; None for one per core."""
    engine = config.engine
    return None if isinstance(engine, DaskSettings) or engine.workers == "auto" else engine.workers
