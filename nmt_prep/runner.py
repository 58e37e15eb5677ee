"""Plans and runs a pipeline from Python, like ``nmt-prep plan`` and ``nmt-prep run``, but prints nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

from nmt_prep import __version__
from nmt_prep import stages as all_stages
from nmt_prep.config import Config
from nmt_prep.engines.choice import local_engine, open_engine
from nmt_prep.errors import ConfigError, HealthError
from nmt_prep.pipeline.drivers import Share
from nmt_prep.pipeline.lock import run_lock
from nmt_prep.pipeline.measured import StageNotes
from nmt_prep.pipeline.outcomes import Outcome, ShareOutcome, StageTasks, Step
from nmt_prep.pipeline.ownership import mark_output_directory
from nmt_prep.pipeline.pipeline import Pipeline
from nmt_prep.pipeline.run_notes import RunNotes
from nmt_prep.pipeline.stage import AnyStage
from nmt_prep.progress import Progress
from nmt_prep.sources.lockfile import LockFile
from nmt_prep.stages.download import addresses_of
from nmt_prep.stages.report import Report


def plan(
    config: Config,
    *,
    base_dir: str | os.PathLike[str] = ".",
    force: Collection[str] = (),
    verify: bool = False,
    lock_file: Path | None = None,
) -> list[Step]:
    """Returns which stages would run, and why. Runs nothing and writes nothing.

    Args:
        config: a checked config, from :func:`~nmt_prep.load_config`.
        base_dir: base of local paths in the config, usually the directory of the config file.
        force: names of stages to run even if they are fresh.
        verify: read every output file again instead of trusting its size and times.
        lock_file: lock file with the expected digests of downloads; None for none.
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
    executor: Executor | None = None,
    workers: int | None = None,
    verify: bool = False,
    wait: bool = True,
    progress: Progress | None = None,
    lock_file: Path | None = None,
    renew_lock: bool | Collection[str] = False,
    strict: bool = False,
    then: Callable[[list[Outcome]], None] | None = None,
) -> list[Outcome]:
    """Runs the stages that are not fresh, and returns the outcome of each.

    Args:
        config: a checked config, from :func:`~nmt_prep.load_config`.
        base_dir: base of local paths in the config, usually the directory of the config file.
        until: the last stage to run; None for all.
        force: names of stages to run even if they are fresh.
        executor: runs the tasks instead of the config's ``engine``. Its workers must see the files of the run under the
            same paths. The caller starts it and shuts it down.
        workers: number of parallel tasks; None for the config's ``engine.workers``. It does not change the result.
        verify: read every output file again instead of trusting its size and times.
        wait: wait for another run on the same directory to end; otherwise that is an error.
        progress: receives progress and events; None for none.
        lock_file: lock file with the expected digests of downloads; new downloads are added. None for none.
        renew_lock: fetch downloads again, and replace their records in the lock file: all, or those of the named
            corpora.
        strict: end with an error if there are warnings about the data. All stages run first, except ``publish``.
        then: called with the outcomes at the end, while this run still holds the directory's lock.

    Raises:
        HealthError: ``strict`` is set, and there are warnings. Everything that the run made is kept.
        NmtPrepError: a stage failed. Finished work is kept, and the next run resumes from there.
    """
    progress = progress or Progress()
    progress.stopping.clear()
    stages = _stages(config, [*force, *([] if until is None else [until])])
    renew = renew_lock if isinstance(renew_lock, bool) else addresses_of(config, renew_lock)
    pipeline = Pipeline(stages, config, Path(base_dir), progress, LockFile(lock_file, renew=renew))
    with _held(pipeline, until, wait=wait):
        directories = {stage.name: stage.directory for stage in stages}
        with (
            _failure_told(progress),
            open_engine(config, executor, workers, progress) as engine,
            progress.heard_by(StageNotes(config, directories, engine)),
            progress.heard_by(RunNotes(pipeline.workspace, Report.directory, engine, __version__)),
        ):
            outcomes = pipeline.run(engine, until=until, force=frozenset(force), verify=verify, strict=strict)
        progress.event("run_finished", seconds=round(sum(outcome.seconds for outcome in outcomes), 3))
        if then is not None:
            then(outcomes)
    if strict:
        _check_health(outcomes, unpublished=until is None and outcomes[-1].stage != stages[-1].name)
    return outcomes


def _check_health(outcomes: Iterable[Outcome], *, unpublished: bool) -> None:
    """Checks that no stage has warnings.

    Raises:
        HealthError: one has; the message lists them.
    """
    warnings = [str(warning) for outcome in outcomes for warning in outcome.warnings]
    if warnings:
        count = "a warning" if len(warnings) == 1 else f"{len(warnings)} warnings"
        kept = "everything that it made is kept" + ", but nothing is published" * unpublished
        raise HealthError("\n  ".join([f"the run ended with {count} about its data ({kept}):", *warnings]))


def run_share(
    config: Config,
    share: Share,
    *,
    base_dir: str | os.PathLike[str] = ".",
    workers: int | None = None,
    wait: bool = True,
    progress: Progress | None = None,
    lock_file: Path | None = None,
) -> ShareOutcome:
    """Runs a share of one round of tasks on threads of this process, as a member of a job array.

    Members may run in any order, at the same time, and repeatedly. All earlier stages and rounds must be up to date.
    Members do not complete a stage: a later :func:`run` does, after running any missing tasks. Except for ``share``,
    the round and the share of its tasks, the arguments are those of :func:`run`.

    Raises:
        ConfigError: there is no such round.
        OutputError: an earlier stage or round is not up to date, or the run's directory cannot be written.
        NmtPrepError: a task failed. Results of other tasks are kept.
    """
    progress = progress or Progress()
    progress.stopping.clear()
    pipeline = Pipeline(_stages(config, ()), config, Path(base_dir), progress, LockFile(lock_file))
    with _held(pipeline, share.round, wait=wait, shared=True), _failure_told(progress):
        return pipeline.share(local_engine(config, workers, progress), share)


def tasks(config: Config, *, base_dir: str | os.PathLike[str] = ".", lock_file: Path | None = None) -> list[StageTasks]:
    """Returns the progress of the tasks of each stage; the arguments are those of :func:`plan`.

    Runs nothing and writes nothing.
    """
    pipeline = Pipeline(_stages(config, ()), config, Path(base_dir), Progress(), LockFile(lock_file))
    return pipeline.tasks()


@contextmanager
def _held(pipeline: Pipeline, last: str | None, *, wait: bool, shared: bool = False) -> Iterator[None]:
    """Locks the run's directory after checking that no stage up to ``last`` would replace the user's files."""

    def waiting(holder: str) -> None:
        pipeline.progress.event("waiting", holder=holder, directory=pipeline.config.output_dir)

    if not pipeline.workspace.private.exists():  # write nothing to a directory that is refused
        pipeline.check_places(last)
    with run_lock(pipeline.workspace, wait=wait, waiting=waiting, shared=shared):
        pipeline.check_places(last)
        if not shared:
            mark_output_directory(pipeline.workspace)
        yield


@contextmanager
def _failure_told(progress: Progress) -> Iterator[None]:
    """Reports a failure of a run as an event."""
    try:
        yield
    except BaseException as error:
        progress.event("run_failed", error=type(error).__name__, message=str(error))
        raise


def _stages(config: Config, named: Iterable[str]) -> list[AnyStage]:
    """Returns the stages that the config needs, after checking the given names.

    Raises:
        ConfigError: a name is not that of a stage of this config.
    """
    stages = [stage for stage in all_stages.STAGES if stage.applies(config)]
    known = [stage.name for stage in stages]
    unknown = sorted(set(named) - set(known))
    if unknown:
        raise ConfigError(f"this config has no stage {unknown[0]!r}; its stages are {', '.join(known)}")
    return stages
