"""The engine that a config, or the caller, asks for."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from nmt_prep.config import Config
from nmt_prep.engines.engine import Engine
from nmt_prep.engines.executor import ExecutorEngine
from nmt_prep.engines.local import LocalEngine, available_cores
from nmt_prep.progress import Progress


@contextmanager
def open_engine(config: Config, executor: Executor | None, workers: int | None, progress: Progress) -> Iterator[Engine]:
    """The engine for a run; what it started for itself ends with the ``with`` block.

    Args:
        config: says which, and how many workers it has.
        executor: where it is given, it runs the tasks.
        workers: tasks at once, if not as many as the config says.
        progress: is told of tasks that failed; ends tasks of this process early when the run is to end.
    """
    if executor is not None:
        # Executors of the standard library know how many workers they have; others may.
        known = getattr(executor, "_max_workers", None)
        count = workers or _configured(config) or (known if isinstance(known, int) else available_cores())
        yield ExecutorEngine(executor, count, progress)
    else:
        yield local_engine(config, workers, progress)


def local_engine(config: Config, workers: int | None, progress: Progress) -> LocalEngine:
    """Threads of this process."""
    return LocalEngine(workers or _configured(config), progress.stopping)


def _configured(config: Config) -> int | None:
    return None if config.engine.workers == "auto" else config.engine.workers
