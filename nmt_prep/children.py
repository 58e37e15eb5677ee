"""Programs that this process starts, which end with it, and work of its own that must not keep it from ending."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from typing import IO

_running: set[int] = set()
"""Process groups of the programs that run."""

_unstoppable: set[int] = set()
"""Threads within :func:`unstoppable`."""

_lock = threading.Lock()


@contextmanager
def unstoppable() -> Iterator[None]:
    """Marks work that may take for ever and cannot be asked to stop, such as a function of the user.

    A signal that ends the process does not wait for it.
    """
    thread = threading.get_ident()
    _unstoppable.add(thread)
    try:
        yield
    finally:
        _unstoppable.discard(thread)


def is_unstoppable() -> bool:
    """Returns True if a thread is within :func:`unstoppable`."""
    return bool(_unstoppable)


@contextmanager
def child(
    command: Sequence[str], directory: Path, given: IO[bytes], output: IO[bytes], errors: IO[bytes]
) -> Iterator[Popen[bytes]]:
    """Starts a program in a process group of its own, and ends it at the exit.

    A program that has ended by then leaves its children alone.

    Args:
        command: the program and its arguments.
        directory: its working directory.
        given: its standard input.
        output: its standard output.
        errors: its standard error.

    Raises:
        OSError: it cannot be started.
    """
    with ExitStack() as stack:
        with _lock:  # whoever ends the programs ends this one, too
            process = stack.enter_context(
                Popen(command, stdin=given, stdout=output, stderr=errors, cwd=directory, process_group=0)  # noqa: S603
            )
            _running.add(process.pid)
        try:
            yield process
        finally:
            with _lock:
                _running.discard(process.pid)
                if process.poll() is None:
                    _end(process.pid)


def end_children() -> None:
    """Ends all programs that :func:`child` started, with their children, in any thread."""
    with _lock:
        for group in _running:
            _end(group)


def _end(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it has ended
        os.killpg(group, signal.SIGKILL)
