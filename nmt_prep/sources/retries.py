"""Retries of requests: transient errors, pauses, the clock, stops, and the speed limit."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from nmt_prep.errors import DownloadError, NmtPrepError

_T = TypeVar("_T")


class FetchStoppedError(NmtPrepError):
    """The fetch was stopped by another thread."""


class Stop:
    """Stops requests, including those that wait for a server. Safe to use from threads."""

    def __init__(self) -> None:
        self._set = threading.Event()

    def now(self) -> None:
        """Stops all current and later requests."""
        self._set.set()

    def wait(self, seconds: float) -> None:
        """Sleeps; returns early at a stop."""
        self._set.wait(seconds)

    def check(self) -> None:
        """Raises after a stop.

        Raises:
            FetchStoppedError: fetching was stopped.
        """
        if self._set.is_set():
            raise FetchStoppedError("stopped")


LONGEST_PAUSE = 60.0
"""Maximum pause before a retry, in seconds."""

LONGEST_RETRY_AFTER = 300.0
"""Maximum pause that a Retry-After header can request, in seconds; longer ones are cut to it."""


class TransientError(DownloadError):
    """An error that a retry may resolve.

    Attributes:
        retry_after: pause that the server asks for, in seconds; None if it does not.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RestartError(TransientError):
    """The partial file does not match the file on the server: restart from the first byte, without a pause."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 0.0)


@dataclass(frozen=True)
class Clock:
    """Source of time and random numbers; tests replace it."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    today: Callable[[], datetime] = lambda: datetime.now(UTC)
    chance: Callable[[], float] = random.random


class Pace:
    """Rate limiter that all downloads share. Safe to use from threads."""

    def __init__(self, bytes_per_second: int | None, clock: Clock, stop: Stop) -> None:
        self._rate = bytes_per_second
        self._clock = clock
        self._stop = stop
        self._lock = threading.Lock()
        self._free = clock.now()

    def spend(self, size: int) -> None:
        """Waits until the bytes just read are within the speed limit.

        Raises:
            FetchStoppedError: fetching was stopped.
        """
        self._stop.check()
        if self._rate is None:
            return
        with self._lock:
            now = self._clock.now()
            self._free = max(self._free, now) + size / self._rate
            pause = self._free - now
        self._clock.sleep(pause)


def repeated(request: Callable[[], _T], retries: int, clock: Clock, error: type[NmtPrepError]) -> _T:
    """Runs a request, and again after each :class:`TransientError`; returns its result.

    Raises:
        NmtPrepError: the request failed once more than ``retries`` times; of the type ``error``.
    """
    failures = 0
    while True:
        try:
            return request()
        except TransientError as fault:
            failures += 1
            if failures > retries:
                raise error(f"{fault} (tried {failures} times)") from fault
            clock.sleep(pause_before(failures, fault, clock))


def pause_before(retry: int, error: TransientError, clock: Clock) -> float:
    """Returns the seconds to wait before retry n, from 1: the server's Retry-After, else doubling with jitter."""
    if error.retry_after is not None:
        return min(error.retry_after, LONGEST_RETRY_AFTER)
    longest: float = min(LONGEST_PAUSE, 2.0 ** (retry - 1))
    return longest * (0.5 + 0.5 * clock.chance())


def retry_after(value: str | None, today: datetime) -> float | None:
    """Returns the seconds of a Retry-After header, which may also hold a date (RFC 9110, 10.2.3)."""
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
