"""The main job from Python: what ``nmt-prep run`` and ``nmt-prep plan`` do, without the printing."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from nmt_prep.config import Config
from nmt_prep.engines import LocalEngine
from nmt_prep.errors import ConfigError
from nmt_prep.lock import run_lock
from nmt_prep.lockfile import LockFile
from nmt_prep.pipeline import Outcome, Pipeline, Step
from nmt_prep.progress import Progress
from nmt_prep.stage import Stage
from nmt_prep.stages import STAGES


def plan(
    config: Config,
    *,
    base_dir: str | os.PathLike[str] = ".",
    force: Collection[str] = (),
    verify: bool = False,
    lock_file: Path | None = None,
) -> list[Step]:
    """Which stages would run, and why. Runs nothing and writes nothing.

    Args:
        config: a checked config, from :func:`~nmt_prep.load_config`.
        base_dir: what the local paths in the config are relative to: the directory of the config file.
        force: names of stages to run even if they are fresh.
        verify: read every published file again instead of trusting its size and times.
        lock_file: what downloads must be; None is nothing.
    """
    stages = _stages(config, force)
    pipeline = Pipeline(stages, config, Path(base_dir), Progress(), LockFile(lock_file))
    return pipeline.plan(force=frozenset(force), verify=verify)


def run(
    config: Config,
    *,
    base_dir: str | os.PathLike[str] = ".",
    until: str | None = None,
    force: Collection[str] = (),
    workers: int | None = None,
    verify: bool = False,
    wait: bool = True,
    progress: Progress | None = None,
    lock_file: Path | None = None,
    renew_lock: bool = False,
    then: Callable[[list[Outcome]], None] | None = None,
) -> list[Outcome]:
    """Runs the stages that are not fresh, and says what became of each.

    Args:
        config: a checked config, from :func:`~nmt_prep.load_config`.
        base_dir: what the local paths in the config are relative to: the directory of the config file.
        until: the last stage to run; None is all of them.
        force: names of stages to run even if they are fresh.
        workers: threads; None is what ``engine.workers`` says. The number changes no byte of the result.
        verify: read every published file again instead of trusting its size and times.
        wait: wait for another run on the same directory to end; otherwise that is an error.
        progress: who is told how it goes; None is nobody.
        lock_file: what downloads must be, and where those that are not in it are noted; None is nowhere.
        renew_lock: fetch downloads again, and note them in the lock file whatever it had.
        then: called with the outcomes at the end, while no other run may touch the directory yet.

    Raises:
        NmtPrepError: a stage failed. What was published before stays, and the next run goes on from there.
    """
    progress = progress or Progress()
    progress.stopping.clear()
    stages = _stages(config, [*force, *([] if until is None else [until])])
    configured = config.engine.workers
    engine = LocalEngine(workers or (None if configured == "auto" else configured), progress.stopping)
    pipeline = Pipeline(stages, config, Path(base_dir), progress, LockFile(lock_file, renew=renew_lock))

    def waiting(holder: str) -> None:
        progress.event("waiting", holder=holder, directory=config.output_dir)

    with run_lock(pipeline.workspace, wait=wait, waiting=waiting):
        try:
            outcomes = pipeline.run(engine, until=until, force=frozenset(force), verify=verify)
        except BaseException as error:
            progress.event("run_failed", error=type(error).__name__, message=str(error))
            raise
        progress.event("run_finished", seconds=round(sum(outcome.seconds for outcome in outcomes), 3))
        if then is not None:
            then(outcomes)
        return outcomes


def _stages(config: Config, named: Iterable[str]) -> list[Stage]:
    """The stages that the config asks for, if the named ones are among them.

    Raises:
        ConfigError: one is not.
    """
    stages = [stage for stage in STAGES if stage.applies(config)]
    known = [stage.name for stage in stages]
    unknown = sorted(set(named) - set(known))
    if unknown:
        raise ConfigError(f"this config has no stage {unknown[0]!r}; its stages are {', '.join(known)}")
    return stages
