"""How long and how often to try, how fast to read, and how much: patience, pauses and caps."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from nmt_prep.errors import DownloadError
from nmt_prep.sources.watch import Stop

LONGEST_PAUSE = 60.0
"""Seconds beyond which pauses do not grow."""

LONGEST_RETRY_AFTER = 300.0
"""Seconds for which a server may ask to be left alone; one that asks for more is tried again after these."""


class TransientError(DownloadError):
    """A fault that may be gone when one tries again.

    Attributes:
        retry_after: seconds for which the server asks to be left alone; None where it says nothing.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RestartError(TransientError):
    """What came before does not fit what the server has now: begin anew, at once."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 0.0)


@dataclass(frozen=True)
class Clock:
    """Time and chance as fetching meets them; a test brings its own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    today: Callable[[], datetime] = lambda: datetime.now(UTC)
    chance: Callable[[], float] = random.random


@dataclass(frozen=True)
class Limits:
    """What one fetch may take.

    Attributes:
        connect_seconds: until a server must have taken a connection.
        stall_seconds: without a noteworthy number of bytes, after which a connection is given up.
        retries: tries after the first that end in a transient fault without any progress in between.
        max_file_bytes: size beyond which a file is refused.
        max_bytes_per_second: speed of all downloads together; None is as fast as it goes.
    """

    connect_seconds: float = 10.0
    stall_seconds: float = 60.0
    retries: int = 5
    max_file_bytes: int = 100_000_000_000
    max_bytes_per_second: int | None = None


class Pace:
    """Keeps all downloads together below a speed. Safe to use from threads."""

    def __init__(self, bytes_per_second: int | None, clock: Clock, stop: Stop) -> None:
        self._rate = bytes_per_second
        self._clock = clock
        self._stop = stop
        self._lock = threading.Lock()
        self._free = clock.now()

    def spend(self, size: int) -> None:
        """Waits until so many bytes, which were just read, are within the speed.

        Raises:
            StoppedError: fetching is to end.
        """
        self._stop.check()
        if self._rate is None:
            return
        with self._lock:
            now = self._clock.now()
            self._free = max(self._free, now) + size / self._rate
            pause = self._free - now
        self._clock.sleep(pause)


def pause_before(retry: int, error: TransientError, clock: Clock) -> float:
    """Seconds to wait before the retry-th retry, counted from 1: what the server asks, else doubling, with jitter."""
    if error.retry_after is not None:
        return min(error.retry_after, LONGEST_RETRY_AFTER)
    longest: float = min(LONGEST_PAUSE, 2.0 ** (retry - 1))
    return longest * (0.5 + 0.5 * clock.chance())


def retry_after(value: str | None, today: datetime) -> float | None:
    """Seconds that a Retry-After header asks for, whether it gives them or a date (RFC 9110, 10.2.3)."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdecimal():
        return float(value[:9])
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return None
    then = then.replace(tzinfo=UTC) if then.tzinfo is None else then
    return max(0.0, (then - today).total_seconds())
