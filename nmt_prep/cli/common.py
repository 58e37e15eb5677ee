"""Shared by the commands: options, progress output, and a clean stop at Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_prep.cli.console import describe
from nmt_prep.cli.streams import INTERRUPTED
from nmt_prep.cli.terminal import SafeConsole, print_remark
from nmt_prep.progress import BarListener, JsonListener, LineListener, Listener

if TYPE_CHECKING:
    from nmt_prep.config import Config

ConfigArgument = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG", help="The YAML file.", show_default=False, exists=True, dir_okay=False, readable=False
    ),
]
"""A file that does not exist is wrong usage; one that cannot be read is an error."""


def assignments(example: str) -> Callable[[list[str] | None], list[str] | None]:
    """Returns a callback that checks that all values of an option are assignments such as the example."""

    def check(values: list[str] | None) -> list[str] | None:
        for value in values or ():
            if not all(value.partition("=")[0].strip().split(".")) or "=" not in value:
                raise typer.BadParameter(f"{value!r}: expected KEY=VALUE, such as {example}")
        return values

    return check


SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a key of the config, such as vocab.size=4096.",
        show_default=False,
        callback=assignments("vocab.size=4096"),
    ),
]


def _stages(names: list[str] | None) -> list[str] | None:
    """Returns the names of stages.

    Raises:
        BadParameter: one is not the name of a stage.
    """
    if names:
        from nmt_prep.stages import STAGES  # noqa: PLC0415  (loads pyarrow)

        known = [stage.name for stage in STAGES]
        unknown = next((name for name in names if name not in known), None)
        if unknown is not None:
            raise typer.BadParameter(f"there is no stage {unknown!r}; the stages are {', '.join(known)}")
    return names


def _stage(name: str | None) -> str | None:
    _stages([] if name is None else [name])
    return name


UntilOption = Annotated[
    str | None,
    typer.Option("--until", metavar="STAGE", help="Stop after this stage.", show_default=False, callback=_stage),
]
ForceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--force",
        metavar="STAGE",
        help="Run this stage even if it is fresh, from its start.",
        show_default=False,
        callback=_stages,
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def print_new_directory(console: SafeConsole, config: Config) -> None:
    """Prints the output directory if no run has published anything in it, because its path may be a mistake."""
    from nmt_prep.pipeline.manifest import Workspace  # noqa: PLC0415  (loads pydantic)

    root = config.run_dir.absolute()
    if not any((Workspace(root).manifest("any").parent).glob("*.json")):
        console.print(f"output directory: {root} (no earlier run found there)", soft_wrap=True)


@contextmanager
def interruptible(remark: str = "interrupted; run the same command again to resume") -> Iterator[None]:
    """Lets Ctrl-C stop the work inside cleanly, and ends the program with a remark."""
    came = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal came
        del number, frame
        came = True
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, stop)
    try:
        yield
    except BaseException as error:
        # A library that was loading may have replaced KeyboardInterrupt by another exception.
        if not came and not isinstance(error, KeyboardInterrupt):
            raise
        print_remark(remark)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGINT, before)


def listeners_for(console: SafeConsole, *, quiet: bool, log_json: Path | None = None) -> list[Listener]:
    """Returns the listeners: bars on a terminal, lines elsewhere, and a file of JSON events for ``log_json``."""
    listeners: list[Listener] = []
    if not quiet:
        terminal = console.is_terminal and console.is_interactive
        listeners.append(BarListener(console, describe) if terminal else LineListener(console, describe))
    if log_json is not None:
        log_json.parent.mkdir(parents=True, exist_ok=True)
        listeners.append(JsonListener(log_json.open("a", encoding="utf-8", errors="backslashreplace")))
    return listeners
