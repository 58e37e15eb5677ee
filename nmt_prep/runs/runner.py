"""Plans and runs a config from Python, as ``nmt-prep plan`` and ``nmt-prep run`` do, and prints nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from nmt_prep import __version__
from nmt_prep import stages as all_stages
from nmt_prep.base.errors import ArgumentError, ConfigError, HealthError, OutputError
from nmt_prep.base.progress import Progress
from nmt_prep.base.runtime import available_cores
from nmt_prep.config import Config, DaskSettings
from nmt_prep.config.training import note_training
from nmt_prep.corpora.sources.lockfile import LockFile, lock_of
from nmt_prep.pipeline.draft import mark_output_directory
from nmt_prep.pipeline.drivers import Outcome, Share, ShareOutcome, StageTasks, Step
from nmt_prep.pipeline.engines import Engine, LocalEngine
from nmt_prep.pipeline.engines.executor import ExecutorEngine
from nmt_prep.pipeline.lock import run_lock
from nmt_prep.pipeline.pipeline import Pipeline
from nmt_prep.pipeline.run_notes import RunNotes
from nmt_prep.pipeline.stage import AnyStage, outputs_in
from nmt_prep.runs.checks import load_config
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.clean.cleaned_corpora import cleaned_corpora
from nmt_prep.stages.clean.computed import TextsLeft, texts_left
from nmt_prep.stages.clean.passes import CorpusRules
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.download import addresses_of

ConfigOrFile: TypeAlias = "Config | str | os.PathLike[str]"


def plan(
    config: ConfigOrFile,
    *,
    force: Collection[str] = (),
    verify: bool = False,
    lock_file: str | os.PathLike[str] | None = None,
) -> list[Step]:
    """Returns which stages would run, and why. Runs nothing and writes nothing.

    Args:
        config: the path of a config file, or a config from :func:`~nmt_prep.load_config`.
        force: names of stages to run even if they are up to date.
        verify: read every output file again instead of trusting its size and times.
        lock_file: the lock file, with the expected digests of downloads. None for the lock file beside the config file,
            or for no lock file if the config was not read from a file.

    Raises:
        ConfigError: the config or an argument is wrong.
        NmtPrepError: something that the config names is missing or unusable.
    """
    _check_names(force=force)
    pipeline = _pipeline(_loaded(config), force, Progress(), lock_file)
    return pipeline.plan(force=frozenset(force), verify=verify)


def run(
    config: ConfigOrFile,
    *,
    until: str | None = None,
    force: Collection[str] = (),
    executor: Executor | None = None,
    workers: int | None = None,
    verify: bool = False,
    wait: bool | float = True,
    progress: Progress | None = None,
    lock_file: str | os.PathLike[str] | None = None,
    renew_lock: bool | Collection[str] = False,
    strict: bool = False,
    then: Callable[[list[Outcome]], None] | None = None,
) -> list[Outcome]:
    """Runs the stages that are not up to date, like ``nmt-prep run``.

    Args:
        config: the path of a config file, or a config from :func:`~nmt_prep.load_config`.
        until: the last stage to run; None for all.
        force: names of stages to run even if they are up to date.
        executor: runs the tasks instead of the config's ``engine``. Its workers must see the files of the run under the
            same paths. The caller starts it and shuts it down.
        workers: number of parallel tasks; None for the config's ``engine.workers``. It does not change the result.
        verify: read every output file again instead of trusting its size and times.
        wait: true to wait for the end of another run on the same directory, false to raise an error then, or the
            maximum seconds to wait.
        progress: receives progress and events; None if there is none.
        lock_file: the lock file, with the expected digests of downloads; new downloads are added. None for the lock
            file beside the config file, or for no lock file if the config was not read from a file.
        renew_lock: fetch downloads again, and replace their records in the lock file: all, or the records of
            the named corpora.
        strict: end with an error if there are warnings about the data. All stages run first, except ``publish``.
        then: called with the outcomes at the end, while this run still holds the directory's lock.

    Returns:
        The outcomes, in the order of the stages.

    Raises:
        ConfigError: the config or an argument is wrong.
        HealthError: ``strict`` is set, and there are warnings. Everything that the run made is kept.
        NmtPrepError: a stage failed. Finished work is kept, and the next run resumes from there.
    """
    _check_names(force=force, renew_lock=() if isinstance(renew_lock, bool) else renew_lock)
    if not isinstance(until, str | None):
        raise ArgumentError(f"until is {until!r}; give the name of one stage")
    progress = progress or Progress()
    progress.stopping.clear()
    config = _loaded(config)
    renew = renew_lock if isinstance(renew_lock, bool) else addresses_of(config, renew_lock)
    pipeline = _pipeline(config, [*force, *([] if until is None else [until])], progress, lock_file, renew)
    with _held(pipeline, until, wait=wait):
        with (
            _failure_told(progress),
            _open_engine(config, executor, workers, progress) as engine,
            progress.heard_by(RunNotes(config.run_dir, engine, __version__)),
        ):
            outcomes = pipeline.run(engine, until=until, force=frozenset(force), verify=verify, strict=strict)
        note_training(config.run_dir, config.training, config.base_dir)
        progress.event("run_finished", seconds=round(sum(outcome.seconds for outcome in outcomes), 3))
        if then is not None:
            then(outcomes)
    if strict:
        _check_health(outcomes, unpublished=until is None and outcomes[-1].stage != pipeline.stages[-1].name)
    return outcomes


def _check_health(outcomes: Iterable[Outcome], *, unpublished: bool) -> None:
    """Checks that no stage has warnings."""
    warnings = [str(warning) for outcome in outcomes for warning in outcome.warnings]
    if warnings:
        count = "a warning" if len(warnings) == 1 else f"{len(warnings)} warnings"
        kept = "everything that it made is kept" + ", but nothing is published" * unpublished
        raise HealthError("\n  ".join([f"the run ended with {count} about its data ({kept}):", *warnings]))


def run_share(
    config: ConfigOrFile,
    share: Share,
    *,
    workers: int | None = None,
    wait: bool | float = True,
    progress: Progress | None = None,
    lock_file: str | os.PathLike[str] | None = None,
) -> ShareOutcome:
    """Runs a share of one round's tasks on threads of this process, as a member of a job array.

    Members may run in any order, at the same time, and repeatedly. All earlier stages and rounds must be up to date.
    Members do not complete a stage: a later :func:`run` does, after running any missing tasks. Takes the arguments of
    :func:`run`, and ``share``: the round and the share of its tasks.

    Raises:
        ArgumentError: there is no such round.
        OutputError: an earlier stage or round is not up to date, or the run's directory cannot be written.
        NmtPrepError: a task failed. Results of other tasks are kept.
    """
    progress = progress or Progress()
    progress.stopping.clear()
    config = _loaded(config)
    pipeline = _pipeline(config, (), progress, lock_file)
    with _held(pipeline, pipeline.stage_of(share.round).name, wait=wait, shared=True), _failure_told(progress):
        return pipeline.share(_local_engine(config, workers, progress), share)


def computed_left(config: ConfigOrFile) -> list[TextsLeft]:
    """Returns the texts whose computed values a run would need, for each value. Runs nothing.

    The numbers are exact once all rounds before are complete; else upper bounds.
    """
    config = _loaded(config)
    if not (config.clean and any(each.computed or each.corpus.translate for each in cleaned_corpora(config))):
        return []
    stages = {stage.stage: stage for stage in tasks(config)}
    if stages[Clean.name].complete:
        return []
    compiled = None
    if stages[Compile.name].complete:
        parts = outputs_in(config.run_dir, [Compile], config).read(Compile).parts
        compiled = [part for split in parts.values() for part in split]
    missing = [task for state in stages[Clean.name].rounds for task in state.missing]
    rules = CorpusRules.of(config, [*cleaned_corpora(config)])
    return [
        *texts_left(config, rules.first, missing, compiled, limited=False),
        *texts_left(config, (*rules.early, *rules.late), missing, compiled, limited=True),
    ]


def tasks(
    config: ConfigOrFile,
    *,
    lock_file: str | os.PathLike[str] | None = None,
) -> list[StageTasks]:
    """Returns the task progress of each stage; the arguments are the same as for :func:`plan`.

    Runs nothing and writes nothing.
    """
    return _pipeline(_loaded(config), (), Progress(), lock_file).tasks()


def check_current(config: Config, last: type[AnyStage], what: str) -> None:
    """Checks that a stage's output is the output that the config requests.

    Args:
        config: the config.
        last: the stage.
        what: plural name of the output, for the message.

    Raises:
        OutputError: this stage or an earlier stage would run again.
    """
    for step in plan(config):
        if not step.fresh:
            raise OutputError(
                f"{what} are not those of {config.file}: {step.stage} would run again ({step.reason}); run it first"
            )
        if step.stage == last.name:
            return


def _check_names(**arguments: Collection[str]) -> None:
    """Checks that each argument is a collection of names, and not one name, whose letters would be taken for names."""
    for argument, names in arguments.items():
        if isinstance(names, str):
            raise ArgumentError(f"{argument} is {names!r}; give a list of names: {[names]!r}")
        if not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
            raise ArgumentError(f"{argument} is {names!r}; give a list of names")


def _loaded(config: ConfigOrFile) -> Config:
    return config if isinstance(config, Config) else load_config(config)


def _pipeline(
    config: Config,
    named: Iterable[str],
    progress: Progress,
    lock_file: str | os.PathLike[str] | None,
    renew: bool | Collection[str] = False,
) -> Pipeline:
    lock = lock_of(config, renew=renew) if lock_file is None else LockFile(Path(lock_file), renew=renew)
    return Pipeline(_stages(config, named), config, progress, lock)


@contextmanager
def _held(pipeline: Pipeline, last: str | None, *, wait: bool | float, shared: bool = False) -> Iterator[None]:
    """Locks the run's directory after checking that no stage up to ``last`` would replace the user's files."""

    def waiting(holder: str) -> None:
        pipeline.progress.event("waiting", holder=holder, directory=str(pipeline.workspace.root))

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
    """Returns the stages that the config needs, after checking the given names."""
    stages = [stage for stage in all_stages.STAGES if stage.applies(config)]
    known = [stage.name for stage in stages]
    unknown = sorted(set(named) - set(known))
    if unknown:
        raise ArgumentError(f"this config has no stage {unknown[0]!r}; its stages are {', '.join(known)}")
    return stages


@contextmanager
def _open_engine(
    config: Config, executor: Executor | None, workers: int | None, progress: Progress
) -> Iterator[Engine]:
    """Opens the engine for a run; a cluster that it starts ends with the ``with`` block."""
    if executor is not None:
        # Executors of the standard library have this attribute; others may have it.
        known = getattr(executor, "_max_workers", None)
        count = workers or _configured(config) or (known if isinstance(known, int) else available_cores())
        yield ExecutorEngine(executor, count, progress)
    elif isinstance(config.engine, DaskSettings):
        from nmt_prep.pipeline.engines.dask import DaskEngine  # noqa: PLC0415  (for the optional dask)

        with DaskEngine(_with_workers(config.engine, workers), config.run_dir, progress) as engine:
            yield engine
    else:
        yield _local_engine(config, workers, progress)


def _local_engine(config: Config, workers: int | None, progress: Progress) -> LocalEngine:
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
