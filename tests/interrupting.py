"""Programs that a test interrupts as Ctrl-C does."""

from __future__ import annotations

import signal
import subprocess


def interruptible(command: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    """Starts a program that takes SIGINT as from a terminal, though this one may run where it is ignored.

    Shells have what they start in the background ignore SIGINT, and all that it starts.
    """
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
