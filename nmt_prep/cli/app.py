"""The command line: the commands by name, and messages and exit statuses for errors."""

from __future__ import annotations

import functools
import io
import sys
from keyword import iskeyword
from types import ModuleType
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from nmt_prep import __version__
from nmt_prep.base.errors import HealthError, NmtPrepError
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.streams import READER_GONE, abandon_output
from nmt_prep.cli.terminal import print_error, print_remark

with delayed_imports():
    from nmt_prep.cli import (
        align,
        cache,
        check,
        clean,
        download,
        find,
        init,
        modify,
        overlap,
        pieces,
        plan,
        rejects,
        report,
        run,
        sentences,
        stream,
        try_,
        view,
        vocab,
        words,
    )

COMMANDS: dict[str, ModuleType] = {
    "find": find,
    "init": init,
    "check": check,
    "try": try_,
    "download": download,
    "lock": download,
    "fetch": download,
    "tasks": plan,
    "cache": cache,
    "clean": clean,
    "rejects": rejects,
    "overlap": overlap,
    "report": report,
    "align": align,
    "shortlist": align,
    "sentences": sentences,
    "stream": stream,
    "modify": modify,
    "view": view,
    "words": words,
    "encode": vocab,
    "decode": vocab,
    "vocab": vocab,
    "pieces": pieces,
    "run": run,
    "plan": plan,
    "schema": plan,
}
"""The commands in the order of the help text. Each is a function of this name in the module.

A name that is a keyword of Python has ``_`` at its end."""

UNHEALTHY = 3  # Exit status of a strict run that ended with warnings about its data

_UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__mro__[1])
"""Base class of all usage errors. Typer does not export it, and its module differs between versions."""


_REMOVED_OPTIONS = {
    "--cores": "docs/scale.md has measured rates",
    "--estimate": "docs/scale.md has measured rates, memory and disk space of each stage",
    "--max-wait": "use --wait, and end it with timeout or Ctrl-C",
    "--no-preview": "the preview is nearly instant",
    "--pairs": "docs/scale.md has measured rates",
    "--stem": "words are cut as the rule translation cuts them",
    "--table": "the table has the size that the rule translation uses",
}
"""Options of earlier versions, and what holds in their place."""


class CommandGroup(TyperGroup):
    """The group of all commands. Loads a command's module when the command is used."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: Any = dict.fromkeys(COMMANDS)

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Returns a command; None if there is none of this name."""
        del ctx
        return _command(cmd_name) if cmd_name in COMMANDS else None


@functools.cache
def _command(name: str) -> Any:
    """Returns a command, which Typer builds slowly: it makes a validator for each option."""
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name)(getattr(COMMANDS[name], name + "_" * iskeyword(name)))
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Data preparation for neural machine translation: corpora named in one YAML file in, "
    "training-ready batches out.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nmt-prep {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del version


def run_app() -> int:
    """Runs the command line and returns the exit status.

    0 for success, 1 for an error, 2 for wrong usage, 3 for a strict run with warnings about its data, 130 for Ctrl-C,
    141 if the reader of standard output ended first.
    """
    status = _run()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_output(sys.stdout)
        return READER_GONE
    except OSError as error:
        abandon_output(sys.stdout)
        # A command that could not write has said so already.
        return status or _fail(f"cannot write to standard output: {error.strerror}")
    return status


def _run() -> int:
    try:
        status: object = app(standalone_mode=False)
    except _UsageError as error:
        error.message = error.message.removeprefix("Value error, ")  # pydantic's prefix for errors of Typer itself
        message = io.StringIO()
        error.show(message)
        if (now := _REMOVED_OPTIONS.get(getattr(error, "option_name", ""))) is not None:
            message.write(f"This option no longer exists: {now}.")
        print_remark(message.getvalue().rstrip("\n"))
        return error.exit_code
    except NmtPrepError as error:
        return _fail(str(error), UNHEALTHY if isinstance(error, HealthError) else 1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}")
    except MemoryError:
        return _fail("out of memory; lower engine.memory or engine.workers, and run again to resume")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    return status if isinstance(status, int) else 0


def _fail(message: str, status: int = 1) -> int:
    print_error(message)
    return status
