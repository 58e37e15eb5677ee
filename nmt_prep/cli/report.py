"""The command report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nmt_prep.cli.common import ConfigArgument, SetOption


def report(
    config: ConfigArgument,
    overrides: SetOption = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    other: Annotated[
        Path | None,
        typer.Option(
            "--compare",
            metavar="OTHER_RUN",
            help="The directory of another run, or its summary.json: show what differs from it.",
            show_default=False,
            exists=True,
        ),
    ] = None,
) -> None:
    """Print the numbers of a run that nmt-prep run has made, and where its page is."""
    from nmt_prep.cli.report_view import show_report  # noqa: PLC0415  (loads pyarrow)

    show_report(config, overrides or (), other, open_page=open_page)
