"""Defines the commands run, plan and schema. :mod:`nmt_prep.cli.console` words the output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_prep.cli.cleaning import AllowEmptyOption, ShowRulesOption, allowing_empty, rules_as_yaml
from nmt_prep.cli.common import (
    ConfigArgument,
    ForceOption,
    QuietOption,
    SetOption,
    UntilOption,
    interruptible,
    listeners_for,
    print_new_directory,
)
from nmt_prep.cli.console import plan_table, share_line
from nmt_prep.cli.downloads import print_hub_sources
from nmt_prep.cli.estimate import (
    CoresOption,
    EstimateOption,
    PairsOption,
    WorkersOption,
    print_estimate,
)
from nmt_prep.cli.overwriting import check_outputs, files_of_run
from nmt_prep.cli.summary import show_summary, summary_json
from nmt_prep.cli.tasks import NumTasksOption, OldRoundOption, RoundOption, TaskIdOption, requested_share
from nmt_prep.cli.terminal import SafeConsole, json_line, open_console
from nmt_prep.progress import Progress
from nmt_prep.runtime import keep_freed_memory

if TYPE_CHECKING:
    from nmt_prep.config import Config
    from nmt_prep.pipeline.outcomes import Outcome

VerifyOption = Annotated[
    bool, typer.Option("--verify", help="Read every published file again instead of trusting its size and times.")
]


def run(
    config: ConfigArgument,
    overrides: SetOption = None,
    until: UntilOption = None,
    force: ForceOption = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Number of threads; it does not change the result.", show_default=False),
    ] = None,
    verify: VerifyOption = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for another run on the same directory to end, or fail.")
    ] = True,
    preview: Annotated[bool, typer.Option("--preview/--no-preview", help="Show a batch at the end.")] = True,
    allow_empty: AllowEmptyOption = False,
    round_name: RoundOption = None,
    old_round_name: OldRoundOption = None,
    task_id: TaskIdOption = None,
    num_tasks: NumTasksOption = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="End with exit status 3 if there are warnings about the data; do not publish then."
        ),
    ] = False,
    quiet: QuietOption = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON, and progress to standard error.")
    ] = False,
    log_json: Annotated[
        Path | None,
        typer.Option(
            "--log-json",
            metavar="FILE",
            help="Append progress events, as one JSON object per line.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run all stages that CONFIG asks for and that are not up to date.

    The output of a stage is reused unless its config, its inputs or its files changed. nmt-prep plan CONFIG lists the
    stages, and says which would run and why. An interrupted run resumes where it stopped.

    With --round, --task-id and --num-tasks, each member of a job array runs a share of the tasks of a round.
    nmt-prep tasks CONFIG lists the rounds. A plain run afterwards runs any missing tasks and completes the stage.
    """
    from nmt_prep.checks import load_config  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.pipeline.drivers import Share  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.runner import run as run_stages  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.runner import run_share  # noqa: PLC0415  (loads pyarrow)

    keep_freed_memory()
    console = SafeConsole(stderr=True, quiet=quiet) if as_json else open_console(quiet=quiet)
    plain_only = bool(until or force or verify or strict or as_json)
    share = requested_share(round_name, old_round_name, task_id, num_tasks, others=plain_only)
    checked = allowing_empty(load_config(config, overrides or ()), allow_empty)
    if log_json is not None:
        check_outputs({"--log-json": log_json}, files_of_run(checked, config))
    if share is not None:
        with interruptible(), Progress(*listeners_for(console, quiet=quiet, log_json=log_json)) as progress:
            outcome = run_share(
                checked,
                Share(*share),
                workers=workers,
                wait=wait,
                progress=progress,
            )
            console.print(share_line(outcome))
        return
    print_new_directory(console, checked)

    def show(outcomes: list[Outcome]) -> None:
        if as_json:
            open_console().print(json_line(summary_json(checked, outcomes)), soft_wrap=True)
        elif not quiet:
            show_summary(console, checked, outcomes, preview=preview, warnings=not strict)

    with interruptible(), Progress(*listeners_for(console, quiet=quiet, log_json=log_json)) as progress:
        run_stages(
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


def plan(
    config: ConfigArgument,
    overrides: SetOption = None,
    force: ForceOption = None,
    verify: VerifyOption = False,
    estimate: EstimateOption = False,
    pairs: PairsOption = None,
    workers: WorkersOption = None,
    cores: CoresOption = None,
    show_rules: ShowRulesOption = False,
) -> None:
    """List the stages: which are fresh, and which would run and why. Runs nothing.

    With --show-rules, print what the section clean of CONFIG stands for: its preset written out, with all options of
    all rules, and what differs for single corpora. It is a section that cleans in the same way.

    With --estimate, print the time, memory and disk space that each stage of a run from the start would need. The
    figures of earlier runs on this machine, or built-in rates, are scaled by the corpora's sizes or --pairs.
    """
    from nmt_prep.checks import load_config  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.runner import plan as plan_stages  # noqa: PLC0415  (loads pyarrow)

    checked, console = load_config(config, overrides or ()), open_console()
    if show_rules:
        if force or verify or estimate:
            raise typer.BadParameter("--show-rules does not go with --force, --verify and --estimate")
        console.print(rules_as_yaml(checked), soft_wrap=True)
        return
    if estimate:
        if force or verify:
            raise typer.BadParameter(
                "--force and --verify do not go with --estimate, which predicts a run from the start"
            )
        print_estimate(console, checked, pairs, workers, cores)
        return
    for name, value in (("--pairs", pairs), ("--workers", workers), ("--cores", cores)):
        if value is not None:
            raise typer.BadParameter(f"{name} goes with --estimate")
    steps = plan_stages(checked, force=force or (), verify=verify)
    print_new_directory(console, checked)
    console.print(plan_table(steps))
    _print_training_note(console, checked)
    print_hub_sources(console, checked)


def _print_training_note(console: SafeConsole, config: Config) -> None:
    """Prints what is of note about the training of the vocabulary, if it is trained."""
    from nmt_prep.config import ExistingVocab  # noqa: PLC0415  (loads pydantic)
    from nmt_prep.subwords import dialect_of  # noqa: PLC0415  (loads pyarrow)

    if isinstance(config.vocab, ExistingVocab):
        return
    if note := dialect_of(config.vocab).training_note(config.vocab):
        console.print(f"- {note}", soft_wrap=True)


def schema() -> None:
    """Print the JSON schema of a config; editors use it to complete and check the YAML."""
    from nmt_prep.checks import json_schema  # noqa: PLC0415  (loads pyarrow)

    open_console().print(json.dumps(json_schema(), indent=2), soft_wrap=True)
