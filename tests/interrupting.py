"""Terminals, and programs and work that a test interrupts like Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


def open_terminal() -> tuple[int, int]:
    """Opens a terminal and returns the descriptors of both ends; skips the test where /dev/pts is not mounted."""
    try:
        return os.openpty()
    except OSError as error:
        pytest.skip(f"no terminal can be opened here: {error.strerror}")


@contextmanager
def sigint_for_children() -> Iterator[None]:
    """Lets programs that are started inside receive SIGINT as from a terminal, even if this process ignores the signal.

    Programs that a shell starts in the background ignore SIGINT, and so do their children.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def interruptible(command: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    """Starts a program that receives SIGINT; see :func:`sigint_for_children`."""
    with sigint_for_children():
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


_SIGNALS = 3


@contextmanager
def control_c_ends_this() -> Iterator[None]:
    """Sends SIGINT every few milliseconds, and expects the work to end with KeyboardInterrupt.

    Signals that arrive between two checks count as one, so work that checks only at its start and end sees two at most.
    """
    left = _SIGNALS

    def count(*_: object) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, count)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
