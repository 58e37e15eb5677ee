"""The `clean` command: a filter from standard input to standard output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nmt_prep.base.runtime import available_cores
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.interrupts import interruptible
from nmt_prep.cli.shared_options import (
    STANDARD_INPUT,
    STANDARD_OUTPUT,
    QuietOption,
    SetOption,
    ThreadsOption,
    check_outputs,
)
from nmt_prep.cli.terminal import SafeConsole, progress_on

with delayed_imports():
    from nmt_prep.cli.clean import stream
    from nmt_prep.runs.checks import corpus_checks as clean_checks

_CONFIG = "A YAML file with the sections languages and clean; others are not read."
_OPUSFILTER = "Apply the filters of this OpusFilter config instead of the preset and the rules of CONFIG."
_REJECTED = (
    "Write the dropped lines here, each followed by rule, column, value, threshold and line number. With "
    "evaluation sets, the set and row of the segment follow."
)
_SCORE = "A column with a score for the rules, such as bicleaner=2; columns count from 0."


def _score_columns(assignments: list[str] | None) -> list[str] | None:
    for assignment in assignments or ():
        name, _, column = assignment.partition("=")
        if not (name and column.isdecimal() and int(column) > 1):
            raise typer.BadParameter(
                f"{assignment!r}: expected NAME=COLUMN with a column from 2 on, such as bicleaner=2"
            )
    return assignments


def clean(
    config: Annotated[Path, typer.Option(metavar="CONFIG", help=_CONFIG, exists=True, dir_okay=False, readable=False)],
    overrides: SetOption = None,
    corpus: Annotated[str | None, typer.Option(metavar="NAME", help="Apply the overrides of this corpus.")] = None,
    opusfilter: Annotated[
        Path | None, typer.Option(metavar="FILE", help=_OPUSFILTER, exists=True, dir_okay=False)
    ] = None,
    score: Annotated[
        list[str] | None, typer.Option(metavar="NAME=COLUMN", help=_SCORE, callback=_score_columns)
    ] = None,
    rejected: Annotated[Path | None, typer.Option(metavar="FILE", help=_REJECTED, dir_okay=False)] = None,
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Clean lines of source, tab, target from standard input to standard output. Further columns are kept.

    The number of lines dropped by each rule is printed to standard error.
    """
    console = SafeConsole(stderr=True, quiet=quiet)
    scores = {name: int(column) for name, _, column in (text.partition("=") for text in score or ())}
    outputs = {**STANDARD_OUTPUT, "--rejected": rejected}
    check_outputs(outputs, {**STANDARD_INPUT, "--config": config, "--opusfilter": opusfilter})
    with interruptible("interrupted"), progress_on(console) as progress:
        loaded = clean_checks.load_cleaning(config, overrides or (), corpus, opusfilter)
        for remark in loaded.remarks:
            console.print(remark, soft_wrap=True)
        workers, sets = stream.make_workers(loaded, config, threads or available_cores(), progress, scores, outputs)
        stream.clean_input(workers, scores, rejected, progress)
    for line in stream.lines_of(workers, sets):
        console.print(line, soft_wrap=True)
