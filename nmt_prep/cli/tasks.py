"""Sharing a run among the members of a job array: ``nmt-prep run --stage …`` and ``nmt-prep tasks``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nmt_prep.cli.common import ConfigArgument, QuietOption, SetOption
from nmt_prep.cli.console import share_line, tasks_table
from nmt_prep.cli.terminal import open_console
from nmt_prep.config.file import load_config
from nmt_prep.lockfile import lock_path
from nmt_prep.progress import Progress

StageOption = Annotated[
    str | None,
    typer.Option(
        "--stage",
        metavar="ROUND",
        help="Do a share of the tasks of extract, lines, compile, sample, count, encode, shuffle or publish, and "
        "nothing else.",
        show_default=False,
    ),
]
TaskIdOption = Annotated[
    int | None,
    typer.Option("--task-id", metavar="N", help="With --stage: which share, from 0.", show_default=False),
]
NumTasksOption = Annotated[
    int | None,
    typer.Option("--num-tasks", metavar="N", help="With --stage: how many shares there are.", show_default=False),
]


def share_asked_for(
    stage: str | None, task_id: int | None, num_tasks: int | None, *, others: bool
) -> tuple[str, int, int] | None:
    """The share that is asked for; None where a run is.

    Args:
        stage: of ``--stage``.
        task_id: of ``--task-id``.
        num_tasks: of ``--num-tasks``.
        others: whether options are given that make sense for a run alone.

    Raises:
        BadParameter: some of the three options are given and some not.
    """
    if stage is None and task_id is None and num_tasks is None:
        return None
    if stage is None or task_id is None or num_tasks is None:
        raise typer.BadParameter("--stage, --task-id and --num-tasks go together")
    if others:
        raise typer.BadParameter("--until, --force and --verify are for a run, not for a share of one (--stage)")
    return stage, task_id, num_tasks


def do_share(
    config: Path,
    overrides: list[str] | None,
    share: tuple[str, int, int],
    *,
    workers: int | None,
    wait: bool,
    progress: Progress,
) -> str:
    """Does a share of a round; returns a line that says how far that is."""
    from nmt_prep.pipeline.drivers import Share  # noqa: PLC0415
    from nmt_prep.pipeline.runner import run_share  # noqa: PLC0415

    outcome = run_share(
        load_config(config, overrides or ()),
        Share(*share),
        base_dir=config.parent,
        workers=workers,
        wait=wait,
        progress=progress,
        lock_file=lock_path(config),
    )
    return share_line(outcome)


def tasks(
    config: ConfigArgument,
    overrides: SetOption = None,
    every: Annotated[bool, typer.Option("--list", help="List every task, and whether it is done.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Show how far the tasks of each stage have come. Runs nothing.

    A stage has tasks to show from when the stages above it are up to date.
    """
    from nmt_prep.pipeline.lock import is_running  # noqa: PLC0415
    from nmt_prep.pipeline.manifest import Workspace  # noqa: PLC0415
    from nmt_prep.pipeline.runner import tasks as stage_tasks  # noqa: PLC0415

    checked = load_config(config, overrides or ())
    stages = stage_tasks(checked, base_dir=config.parent, lock_file=lock_path(config))
    console = open_console(quiet=quiet)
    console.print(tasks_table(stages, running=is_running(Workspace(checked.run_dir))))
    if every:
        for key, done in (task for stage in stages for state in stage.rounds for task in state.tasks or ()):
            console.print(f"{'done   ' if done else 'missing'} {key}", soft_wrap=True)
