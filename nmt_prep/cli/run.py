"""The command run."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_prep.cli.delayed import delayed_imports
from nmt_prep.cli.events import progress_on
from nmt_prep.cli.interrupts import interruptible
from nmt_prep.cli.options import ConfigArgument, QuietOption, SetOption, check_outputs, files_of_run
from nmt_prep.cli.plan import ForceOption, VerifyOption, check_stages, print_new_directory
from nmt_prep.cli.summary import show_summary, summary_json
from nmt_prep.cli.terminal import SafeConsole, json_line, open_console
from nmt_prep.pipeline.drivers import Share
from nmt_prep.runtime import keep_freed_memory

with delayed_imports():
    from nmt_prep import checks, runner, stages

if TYPE_CHECKING:
    from nmt_prep.config import Config
    from nmt_prep.pipeline.outcomes import Outcome, ShareOutcome


def _check_stage(name: str | None) -> str | None:
    check_stages([] if name is None else [name])
    return name


def _check_round(name: str | None) -> str | None:
    """Checks that the members of a job array can share a round.

    Raises:
        BadParameter: no stage has such a round.
    """
    if name is not None:
        known = [round_.name for stage in stages.STAGES for round_ in stage.rounds if round_.shareable]
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise typer.BadParameter(
                f"there is no round {name!r} to share{hint} (nmt-prep tasks CONFIG lists the rounds of a config)"
            )
    return name


_WAIT = "Wait for another run on the same directory to end, or fail."
_ROUND = "Run a share of the tasks of this round, and nothing else."
_STRICT = "End with exit status 3 if there are warnings about the data; do not publish then."
_EMPTY = "Go on if cleaning drops all pairs of a corpus (clean.allow_empty)."


def run(
    config: ConfigArgument,
    overrides: SetOption = None,
    until: Annotated[
        str | None, typer.Option(metavar="STAGE", help="Stop after this stage.", callback=_check_stage)
    ] = None,
    force: ForceOption = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of threads; it does not change the result.")
    ] = None,
    verify: VerifyOption = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help=_WAIT)] = True,
    preview: Annotated[bool, typer.Option("--preview/--no-preview", help="Show a batch at the end.")] = True,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help=_EMPTY)] = False,
    round_name: Annotated[
        str | None, typer.Option("--round", metavar="ROUND", help=_ROUND, callback=_check_round)
    ] = None,
    task_id: Annotated[int | None, typer.Option(metavar="N", help="With --round: number of the share, from 0.")] = None,
    num_tasks: Annotated[int | None, typer.Option(metavar="N", help="With --round: number of shares.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help=_STRICT)] = False,
    quiet: QuietOption = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON, and progress to standard error.")
    ] = False,
    log_json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append progress events, as one JSON object per line.")
    ] = None,
) -> None:
    """Run all stages that CONFIG asks for and that are not up to date.

    The output of a stage is reused unless its config, its inputs or its files changed. nmt-prep plan CONFIG lists the
    stages, and says which would run and why. An interrupted run resumes where it stopped.

    With --round, --task-id and --num-tasks, each member of a job array runs a share of the tasks of a round.
    nmt-prep tasks CONFIG lists the rounds. A plain run afterwards runs any missing tasks and completes the stage.
    """
    keep_freed_memory()
    plain_only = bool(until or force or verify or strict or as_json)
    share = _share(round_name, task_id, num_tasks, plain_only=plain_only)
    console = SafeConsole(stderr=True, quiet=quiet) if as_json else open_console(quiet=quiet)
    checked = _allowing_empty(checks.load_config(config, overrides or ()), allow_empty)
    if log_json is not None:
        check_outputs({"--log-json": log_json}, files_of_run(checked, config))
    if share is not None:
        with interruptible(), progress_on(console, log_json=log_json) as progress:
            outcome = runner.run_share(
                checked,
                share,
                workers=workers,
                wait=wait,
                progress=progress,
            )
            console.print(_share_line(outcome))
        return
    print_new_directory(console, checked)

    def show(outcomes: list[Outcome]) -> None:
        if as_json:
            open_console().print(json_line(summary_json(checked, outcomes)), soft_wrap=True)
        elif not quiet:
            show_summary(console, checked, outcomes, preview=preview, warnings=not strict)

    with interruptible(), progress_on(console, log_json=log_json) as progress:
        runner.run(
            checked,
            until=until,
            force=force or (),
            workers=workers,
            verify=verify,
            wait=wait,
            progress=progress,
            strict=strict,
            then=show,
        )


def _share(name: str | None, task_id: int | None, num_tasks: int | None, *, plain_only: bool) -> Share | None:
    """Returns the requested share of a round; None if a plain run is requested.

    Args:
        name: the round.
        task_id: number of the share.
        num_tasks: number of shares.
        plain_only: true if options are given that only a plain run takes.

    Raises:
        BadParameter: the options do not go together.
    """
    if name is None and task_id is None and num_tasks is None:
        return None
    if name is None or task_id is None or num_tasks is None:
        raise typer.BadParameter("--round, --task-id and --num-tasks go together")
    if plain_only:
        raise typer.BadParameter("--until, --force, --verify, --strict and --json do not go with --round")
    return Share(name, task_id, num_tasks)


def _allowing_empty(config: Config, allowed: bool) -> Config:
    """Returns a config with ``clean.allow_empty`` set if ``allowed``.

    Raises:
        BadParameter: ``allowed`` is true, but the config has no section ``clean``.
    """
    if not allowed:
        return config
    if config.clean is None:
        raise typer.BadParameter("--allow-empty is for cleaning, but the config has no section clean")
    return config.model_copy(update={"clean": config.clean.model_copy(update={"allow_empty": True})})


def _share_line(outcome: ShareOutcome) -> str:
    """Returns the outcome of a share in words."""
    share, state = outcome.share, outcome.state
    if state is None:
        return f"{share.round}: already complete; there is nothing to do"
    missing = len(state.tasks or ()) - state.done
    rest = f"{missing:,} missing" if missing else "the round is complete"
    tasks = "1 task" if outcome.ran == 1 else f"{outcome.ran:,} tasks"
    return f"{share.round}: share {share.number} of {share.of}: {tasks} run now; {rest}"
