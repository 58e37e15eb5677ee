"""Programs that a test interrupts like Ctrl-C."""

from __future__ import annotations

import signal
import subprocess


def interruptible(command: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    """Starts a program that receives SIGINT as from a terminal, even if this process ignores the signal.

    Programs that a shell starts in the background ignore SIGINT, and so do their children.
    """
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
