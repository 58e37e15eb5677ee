"""The command that fetches what a run published: ``nmt-prep fetch``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nmt_prep.cli.common import QuietOption, interruptible, listeners_for
from nmt_prep.cli.terminal import open_console
from nmt_prep.progress import Progress


def _options(values: list[str] | None) -> list[str] | None:
    for value in values or ():
        if not value.partition("=")[0] or "=" not in value:
            raise typer.BadParameter(f"{value!r}: expected KEY=VALUE, such as endpoint_url=http://localhost:9000")
    return values


def fetch(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where a run published.", show_default=False)],
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Where to copy it.", show_default=False)],
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="KEY=VALUE",
            help="An option of fsspec's file system, such as endpoint_url=http://localhost:9000.",
            show_default=False,
            callback=_options,
        ),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Copy what a run published at URL to DIRECTORY, verified; an interrupted copy goes on where it stopped."""
    from nmt_prep.publishing.mirror import fetch_run  # noqa: PLC0415

    console = open_console(quiet=quiet)
    given = {key: value for key, _, value in (option.partition("=") for option in options or ())}
    with interruptible(), Progress(*listeners_for(console, quiet=quiet)) as progress:
        console.print(f"published files: {fetch_run(url, directory, options=given, progress=progress)}", soft_wrap=True)
