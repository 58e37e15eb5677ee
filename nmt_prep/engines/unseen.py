"""Waits for files that another machine wrote and this one does not see yet, since NFS caches for up to a minute."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from nmt_prep.engines.engine import R, T, Tick, Work

PAUSES = (0.1, 0.4, 1.5, 3.0)
"""Seconds to wait before each retry; a file that is not there after the last one is missing."""

_UNSEEN = {errno.ENOENT, errno.ESTALE}
"""Error numbers for a file that does not exist, and for one that was replaced while it was read."""


def look_again(function: Work[T, R], task: T, tick: Tick) -> R:
    """Runs a task, and retries it a few times while a file that it needs is not there.

    Returns:
        The task's result.

    Raises:
        Exception: as the task raised it.
    """
    pauses = iter(PAUSES)
    while True:
        amounts: list[int] = []

        def count(amount: int, amounts: list[int] = amounts) -> None:
            amounts.append(amount)
            tick(amount)

        try:
            return function(task, count)
        except Exception as error:
            if not is_unseen(error) or (pause := next(pauses, None)) is None:
                raise
        tick(-sum(amounts))
        time.sleep(pause)


def is_unseen(error: BaseException) -> bool:
    """Returns True if a missing file caused an error; then also lists its directory, which refreshes NFS's cache.

    Args:
        error: as the task raised it; the OSError may be its cause.
    """
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.errno in _UNSEEN:
            if isinstance(cause.filename, str):
                with suppress(OSError):
                    any(Path(cause.filename).parent.iterdir())
            return True
    return False


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
