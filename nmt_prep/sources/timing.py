"""Time in fetching: deadlines and stops of requests, the clock, pauses before retries, and the speed limit."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from nmt_prep.errors import DownloadError, NmtPrepError


class FetchStoppedError(NmtPrepError):
    """The fetch was stopped by another thread."""


class Stop:
    """Stops all registered requests, including those that wait for a server. Safe to use from threads."""

    def __init__(self) -> None:
        self._set = threading.Event()
        self._lock = threading.Lock()
        self._watches: set[Watch] = set()

    def now(self) -> None:
        """Stops the requests by shutting down their connections."""
        self._set.set()
        with self._lock:
            watches = [*self._watches]
        for watch in watches:
            watch.shut_down()

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

    def enlist(self, watch: Watch) -> None:
        """Registers a request, whose connections are shut down at a stop."""
        with self._lock:
            self._watches.add(watch)

    def release(self, watch: Watch) -> None:
        """Unregisters a request."""
        with self._lock:
            self._watches.discard(watch)


class Watch:
    """Shuts the connections of one request down at a deadline or a stop. Use it in a ``with`` statement.

    A socket's own timeout restarts with every byte, so a server that sends a byte now and then never triggers it.
    """

    def __init__(self, stop: Stop) -> None:
        self.overdue = False
        """True if the last deadline has passed."""
        self._stop = stop
        self._state = threading.Condition()
        self._sockets: list[socket.socket] = []
        self._seconds: float | None = None
        self._due: float | None = None
        self._wakes: float | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def __enter__(self) -> Watch:
        self._stop.enlist(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.release(self)
        with self._state:
            self._closed = True
            self._state.notify()
            for connection in self._sockets:
                connection.close()
            self._sockets.clear()

    def add(self, connection: socket.socket) -> None:
        """Registers a new connection and restarts the deadline.

        The connection is duplicated, since a TLS handshake takes the socket over before it is done.

        Raises:
            FetchStoppedError: fetching was stopped.
        """
        with self._state:
            self._sockets.append(connection.dup())
            if self._seconds is not None:
                self._arm(self._seconds)
        self._stop.check()  # after registering: a stop either finds the connection or is noticed here

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Shuts the connections down if the block takes longer; :attr:`overdue` is then true."""
        with self._state:
            self._seconds = seconds
            self._arm(seconds)
        try:
            yield
        finally:
            with self._state:
                self._seconds = self._due = None

    def shut_down(self) -> None:
        """Shuts the connections down; readers then get an end of file."""
        with self._state:
            for connection in self._sockets:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _arm(self, seconds: float) -> None:
        self.overdue = False
        self._due = time.monotonic() + seconds
        if self._thread is None:
            self._thread = threading.Thread(target=self._keep_time, name="nmt-prep-deadline", daemon=True)
            self._thread.start()
        elif self._wakes is None or self._due < self._wakes:
            self._state.notify()

    def _keep_time(self) -> None:
        with self._state:
            while not self._closed:
                now = time.monotonic()
                if self._due is not None and self._due <= now:
                    self.overdue, self._due = True, None
                    self.shut_down()
                self._wakes = self._due
                self._state.wait(None if self._due is None else self._due - now)


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


class RefusedError(DownloadError):
    """A server refused a request: the status and the headers of its answer."""

    def __init__(self, message: str, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


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
