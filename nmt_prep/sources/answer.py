"""The answer of a source with the bytes of a file, and the time limits while it is read."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from nmt_prep.config import DownloadSettings as Limits
from nmt_prep.sources.retries import Clock, Stop, TransientError

_STALL_BYTES = 1024
_SECONDS_BETWEEN_LOOKS = 0.1

_T = TypeVar("_T")


@dataclass(frozen=True)
class Answer:
    """The answer with a file or a part of it.

    Attributes:
        url: final URL, after redirects.
        start: offset in the file of the first byte of the body.
        total: size of the whole file in bytes; None if the server does not say.
        delimited: True if the end of the body is distinguishable from a broken connection.
        etag: ETag header, strong or weak.
        modified: Last-Modified header.
        date: Date header.
        chunks: the body as sent; compressed files are not decompressed.
        part: True if the body was sent as a part of the file.
    """

    url: str
    start: int
    total: int | None
    delimited: bool
    etag: str | None
    modified: str | None
    chunks: Iterator[bytes]
    part: bool = False
    date: str | None = None


@contextmanager
def watched(
    opening: AbstractContextManager[Answer], where: str, limits: Limits, clock: Clock, stop: Stop
) -> Iterator[Answer]:
    """Opens and reads a file in a separate thread, which is abandoned if data come too slowly, and at a stop.

    This answers two faults. The timeout of a socket restarts with every byte, so a server that sends a byte of a header
    now and then would hold a request for ever. And a thread that waits for a server cannot be interrupted.

    Args:
        opening: opens the file.
        where: the address without secrets, for messages.
        limits: the time limit for the head of the answer, and for each 1 KiB of the body.
        clock: source of time.
        stop: ends the reading.

    Raises:
        TransientError: a time limit has passed.
        FetchStoppedError: reading was stopped.
    """
    seconds = limits.stall_seconds
    stalled = TransientError(f"{where}: almost no data for {seconds:g} s; try again later")

    def steps() -> Generator[Answer | bytes]:
        with opening as answer:
            yield answer
            yield from answer.chunks

    def chunks() -> Iterator[bytes]:
        until, came = clock.now() + seconds, 0
        while (chunk := thread.next(until, stalled, clock, stop)) is not None:
            assert isinstance(chunk, bytes)
            yield chunk
            came += len(chunk)
            if came >= _STALL_BYTES:
                until, came = clock.now() + seconds, 0
            elif clock.now() >= until:
                raise stalled

    with closing(_StepThread(steps())) as thread:
        silent = TransientError(f"{where}: no answer within {seconds:g} s; try again later or add a mirror")
        answer = thread.next(clock.now() + seconds, silent, clock, stop)
        assert isinstance(answer, Answer)
        yield replace(answer, chunks=chunks())


class _StepThread(Generic[_T]):
    """A thread that does the next step of a generator when it is asked to."""

    def __init__(self, steps: Generator[_T]) -> None:
        self._steps = steps
        self._wanted: SimpleQueue[bool] = SimpleQueue()
        self._results: SimpleQueue[tuple[_T | None, Exception | None]] = SimpleQueue()
        threading.Thread(target=self._work, name="nmt-prep-source", daemon=True).start()

    def next(self, until: float, late: TransientError, clock: Clock, stop: Stop) -> _T | None:
        """Returns the next item; None at the end.

        Raises:
            TransientError: ``late``, if the item does not come in time.
            FetchStoppedError: fetching was stopped.
        """
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
        """Ends the thread after its present step."""
        self._wanted.put(False)

    def _work(self) -> None:
        with closing(self._steps):
            while self._wanted.get():
                try:
                    self._results.put((next(self._steps, None), None))
                except Exception as error:  # noqa: BLE001 - raised again by the thread that asks
                    self._results.put((None, error))
