"""Shared by the commands: options, progress output, and a clean stop at Ctrl-C."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_prep.children import end_children
from nmt_prep.cli.console import describe
from nmt_prep.cli.streams import INTERRUPTED, TERMINATED
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


_PATIENCE = 10.0
"""Seconds that tasks have to end after Ctrl-C."""

_SECONDS_BETWEEN_LOOKS = 0.1
"""Time between two looks for programs to end after Ctrl-C."""


@contextmanager
def _watched(remark: str) -> Iterator[None]:
    """Ends the process at SIGTERM, and some time after Ctrl-C if the work inside does not end. Prints the remark then.

    A thread does it, because the main thread handles signals only between two steps of Python. What a run has made is
    kept in the same way as after a crash. Programs that cleaning runs end, too.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    terminating = signal.getsignal(signal.SIGTERM)
    if terminating is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _leave_to_watcher)
    watcher = threading.Thread(target=_watch, args=(reader, remark), name="signals", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, terminating)
        signal.set_wakeup_fd(before)
        os.close(writer)
        watcher.join()
        os.close(reader)


def _leave_to_watcher(number: int, frame: FrameType | None) -> None:
    del number, frame


def _watch(signals: int, remark: str) -> None:
    """Reads numbers of signals from a pipe until it is closed, and ends the process as they say."""
    deadline: float | None = None
    while True:
        if select.select([signals], [], [], None if deadline is None else _SECONDS_BETWEEN_LOOKS)[0]:
            numbers = os.read(signals, 256)
            if not numbers:
                return
            if signal.SIGTERM in numbers:
                end_children()
                os._exit(TERMINATED)
            if signal.SIGINT in numbers and deadline is None:
                deadline = time.monotonic() + _PATIENCE
        if deadline is not None:
            end_children()
            if time.monotonic() > deadline:
                print_remark(remark)
                os._exit(INTERRUPTED)


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
        with _watched(remark):
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
