"""Shares a run among the members of a job array: ``nmt-prep run --round …`` and ``nmt-prep tasks``."""

from __future__ import annotations

import difflib
from typing import Annotated

import typer

from nmt_prep.cli.common import ConfigArgument, QuietOption, SetOption
from nmt_prep.cli.console import tasks_table
from nmt_prep.cli.terminal import open_console


def _shareable(name: str | None) -> str | None:
    """Returns the name of a round, if members of a job array can share its tasks.

    Raises:
        BadParameter: no stage has such a round.
    """
    if name is None:
        return None
    from nmt_prep.stages import STAGES  # noqa: PLC0415  (loads pyarrow)

    known = [round_.name for stage in STAGES for round_ in stage.rounds if round_.shareable]
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise typer.BadParameter(
            f"there is no round {name!r} to share{hint} (nmt-prep tasks CONFIG lists the rounds of a config)"
        )
    return name


RoundOption = Annotated[
    str | None,
    typer.Option(
        "--round",
        metavar="ROUND",
        help="Run a share of the tasks of this round, and nothing else.",
        show_default=False,
        callback=_shareable,
    ),
]
OldRoundOption = Annotated[
    str | None, typer.Option("--stage", metavar="ROUND", hidden=True, show_default=False, callback=_shareable)
]
"""The old name of ``--round``; scripts still use it."""
TaskIdOption = Annotated[
    int | None,
    typer.Option("--task-id", metavar="N", help="With --round: number of the share, from 0.", show_default=False),
]
NumTasksOption = Annotated[
    int | None,
    typer.Option("--num-tasks", metavar="N", help="With --round: number of shares.", show_default=False),
]


def requested_share(
    round_name: str | None, old_round_name: str | None, task_id: int | None, num_tasks: int | None, *, others: bool
) -> tuple[str, int, int] | None:
    """Returns the round, the number of the share and the number of shares; None if a plain run is requested.

    ``others`` is true if options are given that only a plain run takes.

    Raises:
        BadParameter: the options do not go together.
    """
    if round_name and old_round_name:
        raise typer.BadParameter("--stage is the old name of --round; give one of them")
    name = round_name or old_round_name
    if name is None and task_id is None and num_tasks is None:
        return None
    if name is None or task_id is None or num_tasks is None:
        raise typer.BadParameter("--round, --task-id and --num-tasks go together")
    if others:
        raise typer.BadParameter("--until, --force, --verify, --strict and --json do not go with --round")
    return name, task_id, num_tasks


def tasks(
    config: ConfigArgument,
    overrides: SetOption = None,
    every: Annotated[bool, typer.Option("--list", help="Also list every task, as done or missing.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Show the progress of the tasks of each stage. Runs nothing.

    The tasks of a stage are known once the stages above it are up to date.
    """
    from nmt_prep.checks import load_config  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.pipeline.lock import is_running  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.pipeline.manifest import Workspace  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.runner import tasks as stage_tasks  # noqa: PLC0415  (loads pyarrow)

    checked = load_config(config, overrides or ())
    stages = stage_tasks(checked)
    console = open_console(quiet=quiet)
    console.print(tasks_table(stages, running=is_running(Workspace(checked.run_dir))))
    if every:
        for key, done in (task for stage in stages for state in stage.rounds for task in state.tasks or ()):
            console.print(f"{'done   ' if done else 'missing'} {key}", soft_wrap=True)
