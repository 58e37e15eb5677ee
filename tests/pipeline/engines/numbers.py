"""Small tasks that can run in any process."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from nmt_prep.base.errors import CorpusError, OutputError, RecordsError
from nmt_prep.pipeline.engines import Tick


@dataclass(frozen=True)
class Number:
    number: int
    place: Path | None = None

    @property
    def key(self) -> str:
        return f"number-{self.number}"


def numbers(count: int, place: Path | None = None) -> list[Number]:
    return [Number(number, place) for number in range(count)]


def square(task: Number, tick: Tick) -> dict[str, Any]:
    tick(task.number)
    return {"square": task.number**2}


def busy_square(task: Number, tick: Tick) -> dict[str, Any]:
    """Takes a twentieth of a second of processor time or more."""
    begin = time.thread_time()
    while time.thread_time() < begin + 0.05:
        pass
    return square(task, tick)


def slow_square(task: Number, tick: Tick) -> dict[str, Any]:
    time.sleep(0.05)
    return square(task, tick)


def tries(task: Number) -> int:
    """Returns how often the task has been started, including this time."""
    assert task.place is not None
    with (task.place / task.key).open("a") as file:
        file.write("x")
    return (task.place / task.key).stat().st_size


def failing(error: Exception, task: Number, tick: Tick, *, until: int = 99) -> dict[str, Any]:
    """Raises an error for task 2 until it has been started so often."""
    if tries(task) < until and task.number == 2:
        raise error
    return square(task, tick)


fails_twice = partial(failing, ConnectionError("the link is cut"), until=3)
always_fails = partial(failing, KeyError("no such thing"))
full_disk = partial(failing, OutputError("cannot write x: the disk is full"))
bad_data = partial(failing, CorpusError("line 7 is not text"))


def reads_a_file(task: Number, tick: Tick) -> dict[str, Any]:
    """Requires the file ``spill`` after it has started; counts how often it was started."""
    result = square(task, tick)
    tries(task)
    assert task.place is not None
    try:
        (task.place / "spill").read_bytes()
    except OSError as error:
        raise RecordsError("spill: not a usable spill file; delete it and run again") from error
    return result


def dies(task: Number, tick: Tick) -> dict[str, Any]:
    if task.number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(task, tick)


def dies_once(task: Number, tick: Tick) -> dict[str, Any]:
    if tries(task) == 1 and task.number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(task, tick)


def pid(task: Number, tick: Tick) -> dict[str, Any]:
    time.sleep(0.05)
    return {"pid": os.getpid()}
