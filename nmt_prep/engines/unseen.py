"""Files that another machine made and this one does not see yet: NFS answers from memory for up to a minute."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from nmt_prep.engines.engine import R, T, Tick, Work

PAUSES = (0.1, 0.4, 1.5, 3.0)
"""Seconds to wait before each further look; what is not there after them is missing."""

_UNSEEN = {errno.ENOENT, errno.ESTALE}
"""What the system says of a file that is not there, and of one that was replaced while it was read."""


def look_again(function: Work[T, R], task: T, tick: Tick) -> R:
    """Runs a task, and runs it anew a few times while a file that it needs is not there.

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
    """Whether a file that was not there is behind an error; its directory is then listed, for which NFS asks anew.

    Args:
        error: as a task raised it; the system's own may be its cause.
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
