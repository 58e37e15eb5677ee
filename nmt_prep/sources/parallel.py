"""Several files at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeAlias

from nmt_prep.sources.supply import Supply, Wanted
from nmt_prep.store import Stored

PATIENCE = 2.0
"""Seconds that files under way have to write what came of them, once they are to end."""

_Ended: TypeAlias = "SimpleQueue[tuple[Wanted, Stored | BaseException]]"


def get_all(supply: Supply, wanted: Sequence[Wanted], parallel: int) -> dict[Wanted, Stored]:
    """Gets files, up to ``parallel`` at once. A failure or Ctrl-C ends all of them; what came of them is kept.

    The threads are daemons. The interpreter waits for all others before it exits, and a thread may be in a call that
    nothing can end, such as the resolution of a host's name. They are not a ThreadPoolExecutor's, whose exit waits for
    every thread however long it takes, and which loses track of a thread if Ctrl-C comes while it is started.

    Raises:
        DownloadError: a file cannot be had.
        OutputError: a file cannot be stored.
    """
    waiting: SimpleQueue[Wanted] = SimpleQueue()
    for file in wanted:
        waiting.put(file)
    ended: _Ended = SimpleQueue()
    threads = [
        threading.Thread(target=_work, args=(supply, waiting, ended), name=f"nmt-prep-download-{number}", daemon=True)
        for number in range(min(parallel, len(wanted)))
    ]
    results: dict[Wanted, Stored] = {}
    try:
        for thread in threads:
            thread.start()
        while len(results) < len(wanted):
            file, result = ended.get()
            if isinstance(result, BaseException):
                raise result
            results[file] = result
    finally:
        supply.fetcher.stop()
        until = time.monotonic() + PATIENCE
        for thread in threads:
            with suppress(RuntimeError):  # a thread that was not started
                thread.join(max(0.0, until - time.monotonic()))
    return results


def _work(supply: Supply, waiting: SimpleQueue[Wanted], ended: _Ended) -> None:
    with suppress(Empty):
        while True:
            file = waiting.get_nowait()
            try:
                supply.fetcher.check()
                ended.put((file, supply.get(file)))
            except BaseException as error:  # noqa: BLE001 - raised by the thread that waits for it
                ended.put((file, error))
                supply.fetcher.stop()
                return
