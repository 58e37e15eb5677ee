"""Prepares batches, or windows, on a thread while the program uses earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Generic, TypeVar

_Item = TypeVar("_Item")
_LISTS_AHEAD = 4
_LOOK_EVERY = 0.1  # seconds after which a waiting thread checks again that the program still reads


class _End:
    """Ends the items; holds the error that ended them, if any."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class _Reader(Generic[_Item]):
    """A thread that fills a queue with lists of items. Handing over single items would cost as much as making them."""

    def __init__(self, make: Callable[[], Iterator[_Item]], ahead: int) -> None:
        self._make = make
        self._most = max(ahead // _LISTS_AHEAD, 1)
        self._queue: Queue[list[_Item] | _End] = Queue(min(_LISTS_AHEAD, ahead))
        self._stopped = Event()
        self._thread = Thread(target=self._fill, name="nmt_prep batches", daemon=True)
        self._thread.start()

    def _fill(self) -> None:
        taken: list[_Item] = []
        size, error = 1, None  # the first item is handed over at once
        try:
            for item in self._make():
                taken.append(item)
                if len(taken) == size:
                    if not self._put(taken):
                        return
                    taken, size = [], min(2 * size, self._most)
        except BaseException as raised:  # noqa: BLE001  (raised again where the items are taken)
            error = raised
        self._put(taken)
        self._put(_End(error))

    def _put(self, items: list[_Item] | _End) -> bool:
        while not self._stopped.is_set():
            try:
                self._queue.put(items, timeout=_LOOK_EVERY)
            except Full:
                continue
            return True
        return False

    def items(self) -> Iterator[_Item]:
        while not isinstance(taken := self._queue.get(), _End):
            yield from taken
        if taken.error is not None:
            raise taken.error

    def stop(self) -> None:
        self._stopped.set()
        while self._thread.is_alive():
            try:
                self._queue.get_nowait()
            except Empty:
                self._thread.join(_LOOK_EVERY)


def prefetched(make: Callable[[], Iterator[_Item]], ahead: int) -> Iterator[_Item]:
    """Yields items that a thread makes, about ``ahead`` of them in advance.

    The thread ends with the items, or when the iterator is closed. An error in the thread is raised here, after the
    items before it.
    """
    reader = _Reader(make, ahead)
    try:
        yield from reader.items()
    finally:
        reader.stop()
