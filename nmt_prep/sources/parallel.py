"""Parallel fetching of files."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeAlias

from nmt_prep.sources.supply import Supply, WantedFile
from nmt_prep.store import Stored

PATIENCE = 2.0
"""Seconds that running fetches have to write their partial files after a stop."""

_Ended: TypeAlias = "SimpleQueue[tuple[WantedFile, Stored | BaseException]]"


def get_all(supply: Supply, wanted: Sequence[WantedFile], parallel: int) -> dict[WantedFile, Stored]:
    """Gets files, up to ``parallel`` at once. A failure or Ctrl-C stops all of them; partial files are kept.

    The threads are daemons, since the interpreter waits for other threads at exit, and a thread may be in a call that
    cannot be interrupted, such as name resolution. A ThreadPoolExecutor does not fit: its exit waits for every thread,
    and it loses track of a thread if Ctrl-C comes while the thread starts.

    Raises:
        DownloadError: a file cannot be fetched.
        OutputError: a file cannot be stored.
    """
    waiting: SimpleQueue[WantedFile] = SimpleQueue()
    for file in wanted:
        waiting.put(file)
    ended: _Ended = SimpleQueue()
    threads = [
        threading.Thread(target=_work, args=(supply, waiting, ended), name=f"nmt-prep-download-{number}", daemon=True)
        for number in range(min(parallel, len(wanted)))
    ]
    results: dict[WantedFile, Stored] = {}
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
            with suppress(RuntimeError):  # the thread was not started
                thread.join(max(0.0, until - time.monotonic()))
    return results


def _work(supply: Supply, waiting: SimpleQueue[WantedFile], ended: _Ended) -> None:
    with suppress(Empty):
        while True:
            file = waiting.get_nowait()
            try:
                supply.fetcher.check()
                ended.put((file, supply.get(file)))
            except BaseException as error:  # noqa: BLE001 - raised again by the waiting thread
                ended.put((file, error))
                supply.fetcher.stop()
                return
