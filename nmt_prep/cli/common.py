"""What the commands of the command line have in common: options, a terminal to write to, an end at Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from nmt_prep.cli.console import describe
from nmt_prep.progress import BarListener, JsonListener, LineListener, Listener

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""

_LOG_WIDTH = 160

ConfigArgument = Annotated[Path, typer.Argument(metavar="CONFIG", help="The YAML file.", show_default=False)]


def _assignments(overrides: list[str] | None) -> list[str] | None:
    for override in overrides or ():
        if not all(override.partition("=")[0].strip().split(".")) or "=" not in override:
            raise typer.BadParameter(f"{override!r}: expected KEY=VALUE, such as vocab.size=4096")
    return overrides


SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a key of the config, such as vocab.size=4096.",
        show_default=False,
        callback=_assignments,
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


@contextmanager
def interruptible() -> Iterator[None]:
    """Ends the program at Ctrl-C with a word on how to go on; typer would end it without one."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("interrupted; run the same command again to go on where it stopped", err=True)
        raise typer.Exit(INTERRUPTED) from None


def open_console(*, quiet: bool = False) -> Console:
    """Standard output; where it is no terminal, wide enough for a table in a log."""
    width = None if sys.stdout.isatty() else _LOG_WIDTH
    return Console(quiet=quiet, highlight=False, width=width)


def listeners_for(console: Console, *, quiet: bool, log_json: Path | None = None) -> list[Listener]:
    """Who is told how it goes: bars on a terminal, lines elsewhere, and a file of events where one is asked for."""
    listeners: list[Listener] = []
    if not quiet:
        terminal = console.is_terminal and console.is_interactive
        listeners.append(BarListener(console, describe) if terminal else LineListener(sys.stdout, describe))
    if log_json is not None:
        log_json.parent.mkdir(parents=True, exist_ok=True)
        listeners.append(JsonListener(log_json.open("a", encoding="utf-8")))
    return listeners
