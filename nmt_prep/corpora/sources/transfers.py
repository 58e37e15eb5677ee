"""Transfers from servers and storage: answers, time limits, transient errors, retries, stops, and the speed limit."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from nmt_prep.base.errors import DownloadError, NmtPrepError
from nmt_prep.config import DownloadSettings as Limits

_LEAST_SPEED = 1024  # bytes per second; a slower answer without a length could go on for ever
_SECONDS_BETWEEN_LOOKS = 0.1

_A = TypeVar("_A")
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
        """Raises after a stop."""
        if self._set.is_set():
            raise FetchStoppedError("stopped")


LONGEST_PAUSE = 60.0  # Maximum pause before a retry, in seconds

LONGEST_RETRY_AFTER = 300.0
"""Maximum pause that a Retry-After header can request, in seconds; longer ones are cut to it."""


class TransientError(DownloadError):
    """An error that a retry may resolve."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # pause that the server asks for, in seconds; None if it does not


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
        """Waits until the bytes just read are within the speed limit."""
        self._stop.check()
        if self._rate is None:
            return
        with self._lock:
            now = self._clock.now()
            self._free = max(self._free, now) + size / self._rate
            pause = self._free - now
        self._clock.sleep(pause)


def at_once(
    work: Callable[[_A], _T], items: Sequence[_A], parallel: int, stop: Callable[[], None] = lambda: None
) -> list[_T]:
    """Calls a function for each item, up to ``parallel`` at once; returns the results in order.

    A failure or Ctrl-C calls ``stop``, which ends the other calls, and is then raised.
    """
    with ThreadPoolExecutor(parallel, thread_name_prefix="nmt-prep-source") as pool:
        try:
            futures = [pool.submit(work, item) for item in items]
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            stop()
            raise
    return [future.result() for future in futures]


def repeated(request: Callable[[], _T], retries: int, clock: Clock, error: type[NmtPrepError]) -> _T:
    """Runs a request, and again after each :class:`TransientError`; returns its result."""
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


@dataclass(frozen=True)
class Answer:
    """The answer with a file or a part of it."""

    url: str  # final URL, after redirects
    start: int  # offset in the file where the body's first byte goes
    total: int | None  # size of the whole file in bytes; None if the server does not say
    delimited: bool  # True if the end of the body is distinguishable from a broken connection
    etag: str | None  # ETag header, strong or weak
    modified: str | None  # Last-Modified header
    chunks: Iterator[bytes]  # the body as sent; compressed files are not decompressed
    part: bool = False  # True if the body was sent as a part of the file
    date: str | None = None  # Date header


@contextmanager
def watched(
    opening: AbstractContextManager[Answer], where: str, limits: Limits, clock: Clock, stop: Stop
) -> Iterator[Answer]:
    """Opens and reads a file in a separate thread, which is abandoned if data come too slowly, and at a stop.

    This has two reasons. The timeout of a socket restarts with every byte, so a server that sends a byte of a header
    now and then would hold a request for ever. And a thread that waits for a server cannot be interrupted.
    """
    seconds = limits.stall_seconds
    stalled = TransientError(f"{where}: less than 1 KiB per second for {seconds:g} s; try again later")

    def steps() -> Generator[Answer | bytes]:
        with opening as answer:
            yield answer
            yield from answer.chunks

    def chunks() -> Iterator[bytes]:
        # Only the time spent waiting for the server counts. The time between two requests for chunks belongs to the
        # consumer: a slow disk, or the speed limit that all downloads share.
        waited, came = 0.0, 0
        while True:
            began = clock.now()
            chunk = thread.next(began + seconds - waited, stalled, clock, stop)
            waited += clock.now() - began
            if chunk is None:
                return
            assert isinstance(chunk, bytes)
            yield chunk
            came += len(chunk)
            if came >= _LEAST_SPEED * seconds:
                waited, came = 0.0, 0
            elif waited >= seconds:
                raise stalled

    with closing(_StepThread(steps())) as thread:
        silent = TransientError(f"{where}: no answer within {seconds:g} s; try again later or add a mirror")
        answer = thread.next(clock.now() + seconds, silent, clock, stop)
        assert isinstance(answer, Answer)
        yield replace(answer, chunks=chunks())


class _StepThread(Generic[_T]):
    """A thread that does the next step of a generator when it is asked to."""

    # It does not read ahead, which would fill the memory if the consumer is slow. Nothing can interrupt a step that
    # waits for a server: after a stop or a stall the thread is left behind. It is a daemon, so it does not keep the
    # process alive, and it closes the generator if its step ever ends.

    def __init__(self, steps: Generator[_T]) -> None:
        self._steps = steps
        self._wanted: SimpleQueue[bool] = SimpleQueue()
        self._results: SimpleQueue[tuple[_T | None, Exception | None]] = SimpleQueue()
        threading.Thread(target=self._work, name="nmt-prep-source", daemon=True).start()

    def next(self, until: float, late: TransientError, clock: Clock, stop: Stop) -> _T | None:
        self._wanted.put(True)
        while True:
            stop.check()
            with suppress(Empty):
                item, error = self._results.get(timeout=_SECONDS_BETWEEN_LOOKS)
                if error is not None:
                    raise error
                return item
            if clock.now() >= until:
                raise late

    def close(self) -> None:
        self._wanted.put(False)

    def _work(self) -> None:
        with closing(self._steps):
            while self._wanted.get():
                try:
                    self._results.put((next(self._steps, None), None))
                except Exception as error:  # noqa: BLE001 - raised again by the thread that asks
                    self._results.put((None, error))
