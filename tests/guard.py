"""The last guard of tests whose work must end; how long it takes depends on the machine, and is not asserted."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 600
"""Seconds; a thousand times what the guarded work takes, and far less than what it would take in quadratic time."""


@contextmanager
def must_end() -> Iterator[None]:
    """Ends the test process with a traceback where the work inside goes on and on, be it in native code."""
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
