"""The command tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_prep.cli.delayed import delayed_imports
from nmt_prep.cli.options import ConfigArgument, QuietOption, SetOption
from nmt_prep.cli.terminal import open_console, plain_table
from nmt_prep.pipeline.lock import is_running
from nmt_prep.pipeline.manifest import Workspace

with delayed_imports():
    from nmt_prep import checks, runner

if TYPE_CHECKING:
    from rich.table import Table

    from nmt_prep.pipeline.drivers import RoundState
    from nmt_prep.pipeline.outcomes import StageTasks


def tasks(
    config: ConfigArgument,
    overrides: SetOption = None,
    every: Annotated[bool, typer.Option("--list", help="Also list every task, as done or missing.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Show the progress of the tasks of each stage. Runs nothing.

    The tasks of a stage are known once the stages above it are up to date.
    """
    checked = checks.load_config(config, overrides or ())
    stages = runner.tasks(checked)
    console = open_console(quiet=quiet)
    console.print(tasks_table(stages, running=is_running(Workspace(checked.run_dir))))
    if every:
        for key, done in (task for stage in stages for state in stage.rounds for task in state.tasks or ()):
            console.print(f"{'done   ' if done else 'missing'} {key}", soft_wrap=True)


def tasks_table(stages: Sequence[StageTasks], *, running: bool) -> Table:
    """Returns the table of the tasks of each stage; ``running`` is true while a run is using the directory."""
    table = plain_table("stage", "round", ">done", ">of", "state")
    for stage in stages:
        if not stage.rounds:
            table.add_row(stage.stage, "", "", "", "complete" if stage.complete else stage.reason)
        waits = stage.reason
        for state in stage.rounds:
            if state.tasks is None:
                table.add_row(stage.stage, state.round, "", "", waits)
                continue
            waits = f"waits for {state.round}"
            counts = f"{state.done:,}", f"{len(state.tasks):,}"
            table.add_row(stage.stage, state.round, *counts, _round_state(stage, state, running=running))
    return table


def _round_state(stage: StageTasks, state: RoundState, *, running: bool) -> str:
    """Returns the state of a round whose tasks are known, in words."""
    if not state.tasks:
        return "nothing to do"
    missing = len(state.tasks) - state.done
    if missing:
        return f"{missing:,} missing"
    last = state.round == stage.rounds[-1].round
    rest = f"a run continues with {stage.stage}" if running else "a plain run continues from there"
    return f"all done; {rest}" if last else "all done"
