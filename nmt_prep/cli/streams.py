"""Prepares the standard streams and Ctrl-C at the start of the process; fast to import."""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import TextIO

INTERRUPTED = 130  # Exit status after Ctrl-C, as shells report it
TERMINATED = 143  # Exit status after SIGTERM, as shells report it
READER_GONE = 141  # Exit status if the reader of standard output ended first (SIGPIPE), as shells report it


_STREAMS = ("stdin", "stdout", "stderr")


def prepare_process() -> None:
    """Makes every standard stream usable, and lets Ctrl-C end the process at once until a command handles it.

    Ctrl-C raises no exception at first: a library that is loading could turn it into another error.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_at_once)
    missing = [number for number, name in enumerate(_STREAMS) if getattr(sys, name) is None]
    for number in missing:
        _reserve(number)
    for name in (_STREAMS[number] for number in missing if number):
        nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - lives as long as the process
        setattr(sys, name, nowhere)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # like standard error, for any encoding


def abandon_output(stream: TextIO) -> None:
    """Discards the unwritten output of a stream that can no longer be written."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _reserve(number: int) -> None:
    """Occupies a closed descriptor, so that the next opened file does not get its number; using it remains an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY if number == 0 else os.O_RDONLY)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)


def _end_at_once(number: int, frame: FrameType | None) -> None:
    del number, frame
    with suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
