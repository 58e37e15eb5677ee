"""Defines the commands clean and rejects, and the options of run and plan that concern cleaning.

:mod:`nmt_prep.cli.clean_stream` and :mod:`nmt_prep.cli.rejects` do the work of the two commands.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_prep.cli.common import ConfigArgument, QuietOption, SetOption, interruptible, listeners_for
from nmt_prep.cli.terminal import SafeConsole
from nmt_prep.cli.text import ThreadsOption
from nmt_prep.progress import Progress

if TYPE_CHECKING:
    from nmt_prep.config import Config

AllowEmptyOption = Annotated[
    bool, typer.Option("--allow-empty", help="Go on if cleaning drops all pairs of a corpus (clean.allow_empty).")
]
ShowRulesOption = Annotated[
    bool, typer.Option("--show-rules", help="Instead, print the cleaning rules of every corpus in full.")
]


def allowing_empty(config: Config, allowed: bool) -> Config:
    """Returns a config with ``clean.allow_empty`` set if ``allowed``.

    Raises:
        BadParameter: ``allowed`` is true, but the config has no section ``clean``.
    """
    if not allowed:
        return config
    if config.clean is None:
        raise typer.BadParameter("--allow-empty is for cleaning, but the config has no section clean")
    return config.model_copy(update={"clean": config.clean.model_copy(update={"allow_empty": True})})


def rules_as_yaml(config: Config) -> str:
    """Returns the section ``clean`` of a config in full, as YAML; a YAML comment if the config has no such section."""
    import yaml  # noqa: PLC0415  (yaml takes a while to load)

    from nmt_prep.cleaning.in_full import section_in_full  # noqa: PLC0415  (loads pyarrow)

    if config.clean is None:
        return "# The config has no section clean: nothing is cleaned."
    section = {"clean": section_in_full(config, config.clean)}
    return str(
        yaml.safe_dump(section, sort_keys=False, allow_unicode=True, width=100, default_flow_style=None)
    ).rstrip()


_CONFIG = typer.Option(
    "--config",
    metavar="CONFIG",
    help="A YAML file with the sections languages and clean; others are not read.",
    show_default=False,
    exists=True,
    dir_okay=False,
    readable=False,
)


def _score_columns(assignments: list[str] | None) -> list[str] | None:
    for assignment in assignments or ():
        name, equals, column = assignment.partition("=")
        if not (name and equals and column.isdecimal() and int(column) > 1):
            raise typer.BadParameter(
                f"{assignment!r}: expected NAME=COLUMN with a column from 2 on, such as bicleaner=2"
            )
    return assignments


def clean(
    config: Annotated[Path, _CONFIG],
    overrides: SetOption = None,
    corpus: Annotated[
        str | None,
        typer.Option("--corpus", metavar="NAME", help="Apply the overrides of this corpus.", show_default=False),
    ] = None,
    opusfilter: Annotated[
        Path | None,
        typer.Option(
            "--opusfilter",
            metavar="FILE",
            help="Apply the filters of this OpusFilter config instead of the preset and the rules of CONFIG.",
            show_default=False,
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            "--score",
            metavar="NAME=COLUMN",
            help="A column with a score for the rules, such as bicleaner=2; columns count from 0.",
            show_default=False,
            callback=_score_columns,
        ),
    ] = None,
    rejected: Annotated[
        Path | None,
        typer.Option(
            "--rejected",
            metavar="FILE",
            help="Write the dropped lines here, each followed by rule, value, threshold and line number.",
            show_default=False,
            dir_okay=False,
        ),
    ] = None,
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Clean lines of source, tab, target from standard input to standard output. Further columns are kept.

    The number of lines dropped by each rule is printed to standard error.
    """
    from nmt_prep.cli.clean_stream import clean_stream  # noqa: PLC0415  (loads pyarrow)

    console = SafeConsole(stderr=True, quiet=quiet)
    columns = {name: int(column) for name, _, column in (each.partition("=") for each in score or ())}
    with interruptible("interrupted"), Progress(*listeners_for(console, quiet=quiet)) as progress:
        clean_stream(
            config,
            overrides or (),
            corpus=corpus,
            opusfilter=opusfilter,
            scores=columns,
            rejected=rejected,
            threads=threads,
            console=console,
            progress=progress,
        )


def rejects(
    config: ConfigArgument,
    overrides: SetOption = None,
    rule: Annotated[
        str | None, typer.Option("--rule", metavar="RULE", help="Only pairs dropped by this rule.", show_default=False)
    ] = None,
    corpus: Annotated[
        str | None, typer.Option("--corpus", metavar="NAME", help="Only pairs of this corpus.", show_default=False)
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", metavar="SPLIT", help="Only pairs of this split.", show_default=False)
    ] = None,
    number: Annotated[int, typer.Option("-n", min=1, metavar="N", help="The number of pairs to show.")] = 20,
    near: Annotated[
        bool, typer.Option("--near", help="Show those closest to the threshold instead of a random choice.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of a table.")] = False,
) -> None:
    """Show pairs that cleaning dropped, side by side, with the rule, the value and the threshold."""
    from nmt_prep.cli.rejects import Wanted, show_rejects  # noqa: PLC0415  (loads pyarrow)

    show_rejects(config, overrides or (), Wanted(rule, corpus, split, number, near), as_json=as_json)
