"""A timeout for tests whose work must end; the actual duration depends on the machine and is not asserted."""

from __future__ import annotations

import faulthandler
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 240
"""Timeout in seconds for waits of tests, which usually take moments. Pytest ends a test that takes 300 seconds."""


@contextmanager
def must_end(patience: float) -> Iterator[None]:
    """Ends the test process with a traceback if the work does not end, even if it hangs in native code."""
    # What pytest puts in place of sys.stderr need not be a file.
    faulthandler.dump_traceback_later(patience, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
