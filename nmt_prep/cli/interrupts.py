"""Stops commands at Ctrl-C and SIGTERM."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import typer

from nmt_prep.base.runtime import end_children, is_unstoppable
from nmt_prep.cli.streams import INTERRUPTED, TERMINATED
from nmt_prep.cli.terminal import print_remark, show_cursor

_PATIENCE = 10.0  # Seconds that tasks have to end after Ctrl-C
_SECONDS_BETWEEN_LOOKS = 0.1  # Seconds between checks for programs to end after Ctrl-C


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


@contextmanager
def _watched(remark: str) -> Iterator[None]:
    """Ends the process at SIGTERM, and some time after Ctrl-C if the work inside does not end. Prints the remark then.

    What a run has made is kept in the same way as after a crash. Programs that were started for cleaning also end.
    """
    # Python runs handlers of signals on the main thread, between two steps of Python: never during a long call of C. So
    # a thread ends the process. Python's part in C writes the number of each signal into the pipe at once, which wakes
    # the thread. It writes only for signals with a handler in Python, so SIGTERM gets one that does nothing.
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    terminating = signal.getsignal(signal.SIGTERM)
    if terminating is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda number, frame: None)
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


def _watch(signals: int, remark: str) -> None:
    """Reads numbers of signals from a pipe until it is closed, and ends the process accordingly."""
    deadline: float | None = None
    while True:
        ready = select.select([signals], [], [], None if deadline is None else _SECONDS_BETWEEN_LOOKS)[0]
        if ready:
            numbers = os.read(signals, 256)
            if not numbers:
                return
            if signal.SIGTERM in numbers:
                end_children()
                show_cursor()
                os._exit(TERMINATED)
            if signal.SIGINT in numbers and deadline is None:
                deadline = time.monotonic() + _PATIENCE
        if deadline is not None:
            end_children()
            # Work that cannot be asked to stop is not waited for, once the main thread had 0.1 seconds to end by
            # itself.
            if time.monotonic() > deadline or (not ready and is_unstoppable()):
                show_cursor()
                print_remark(remark)
                os._exit(INTERRUPTED)
