"""Progress of a run. Stages report to :class:`Progress`; the command line chooses the listeners."""

from __future__ import annotations

import json
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import IO, Self, TypeAlias, cast

import rich.progress
from rich import filesize
from rich.console import Console, RenderableType
from rich.progress import BarColumn, TaskID, TextColumn
from rich.table import Column

from nmt_prep.errors import OutputError

Fields: TypeAlias = "dict[str, object]"

_SECONDS_BETWEEN_LINES = 10.0

_TELLING = 0.01
"""Share of the work that must be done before the time left is shown."""


class StoppedError(Exception):
    """Ends a task because another task failed or the user interrupted the run; never reaches a caller."""


class Listener(ABC):
    """Receives events and progress of meters; ignores progress by default. Calls may come from several threads."""

    @abstractmethod
    def event(self, name: str, fields: Fields) -> None:
        """Receives an event."""

    def advanced(self, meter: Meter) -> None:  # noqa: B027
        """Receives the progress of a meter; called when it advances and when it ends."""

    def close(self) -> None:  # noqa: B027
        """Releases resources; called at the end of the run, successful or not."""


class Meter:
    """Progress of one long operation, in bytes, pairs or another ``unit``. Safe to use from threads."""

    def __init__(self, progress: Progress, label: str, total: int | None, unit: str) -> None:
        self.label = label
        self.total = total
        self.unit = unit
        self.done = 0
        self.ended = False
        self.tasks: dict[str, int] = {}
        self.started_at = time.monotonic()
        self._progress = progress
        self._lock = threading.Lock()

    def advance(self, amount: int) -> None:
        """Adds to the amount done.

        Raises:
            StoppedError: the run is being stopped.
        """
        if self._progress.stopping.is_set():
            raise StoppedError
        with self._lock:
            self.done += amount
        self._progress.advanced(self)

    def event(self, name: str, **fields: object) -> None:
        """Reports that something happened, to the listeners of the meter."""
        self._progress.event(name, **fields)

    def part(self, label: str, total: int | None = None, unit: str = "pairs") -> Meter:
        """Returns a meter for a part of the work, to use in a ``with`` statement."""
        return self._progress.meter(label, total, unit)

    def count_tasks(self, done: int, total: int, workers: int) -> None:
        """Updates the numbers of finished tasks, of all tasks and of workers."""
        self.tasks = {"done": done, "total": total, "workers": workers}
        self._progress.advanced(self)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started_at

    @property
    def rate(self) -> float:
        """Mean units per second so far."""
        return self.done / max(self.elapsed, 1e-9)

    def __enter__(self) -> Self:
        self._progress.advanced(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.ended = True
        self._progress.advanced(self)


class Progress:
    """Passes the reports of stages to all listeners; without listeners it is silent.

    Attributes:
        stopping: set to stop the run early; meters then raise :class:`StoppedError` in their tasks.
    """

    def __init__(self, *listeners: Listener) -> None:
        self.stopping = threading.Event()
        self._listeners = listeners

    @contextmanager
    def heard_by(self, listener: Listener) -> Iterator[None]:
        """Adds a listener for the duration of a ``with`` block."""
        before, self._listeners = self._listeners, (*self._listeners, listener)
        try:
            yield
        finally:
            self._listeners = before
            listener.close()

    def event(self, name: str, **fields: object) -> None:
        """Reports that something happened, such as ``event("stage_finished", stage="vocab", seconds=0.3)``."""
        for listener in self._listeners:
            listener.event(name, fields)

    def meter(self, label: str, total: int | None = None, unit: str = "pairs") -> Meter:
        """Returns a meter to use in a ``with`` statement; ``total`` is None if unknown."""
        return Meter(self, label, total, unit)

    def advanced(self, meter: Meter) -> None:
        """Tells listeners that a meter moved; meters call it."""
        for listener in self._listeners:
            listener.advanced(meter)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for listener in self._listeners:
            listener.close()


class _Rounds:
    """The rounds of the stage in progress, and the estimated time left of the stage and of the run.

    The time left follows from the time that the stage has taken so far, and from its rounds' shares of the stage's
    time.
    """

    def __init__(self, fields: Fields | None = None) -> None:
        """Takes the fields of the event ``stage_started``; None before a stage."""
        fields = fields or {"stage": ""}
        self._stage = str(fields["stage"])
        self._names = [str(name) for name in cast("list[object]", fields.get("rounds", []))]
        self._words = cast("list[str] | None", fields.get("words")) or self._names
        shares = cast("list[float] | None", fields.get("shares"))
        self._shares = shares or [1.0] * len(self._names)
        self._later = cast("float | None", fields.get("later"))
        self._started_at = time.monotonic()
        self._worked = 0.0

    def label(self, meter: Meter) -> str:
        """Returns the purpose of a meter, and its round."""
        if meter.label not in self._names:
            return meter.label
        place = self._names.index(meter.label)
        place_in_words = f", round {place + 1} of {len(self._names)}" if len(self._names) > 1 else ""
        return f"{self._words[place]}{place_in_words}"

    def end(self, meter: Meter) -> None:
        """Counts the work of a meter that has ended."""
        if meter.label in self._names:
            self._worked += self._shares[self._names.index(meter.label)] * _part(meter)

    def left(self, meter: Meter) -> list[str]:
        """Returns the time left in words, if known: of the stage and of the run, or of a meter outside of rounds."""
        if meter.label not in self._names:
            known = meter.total and _part(meter) >= _TELLING
            return [f"{_clock((meter.total or 0) / meter.rate - meter.elapsed)} left"] if known else []
        place = self._names.index(meter.label)
        worked = self._worked + self._shares[place] * _part(meter)
        rest = self._shares[place] * (1 - _part(meter)) + sum(self._shares[place + 1 :])
        if not meter.total or worked < _TELLING * sum(self._shares):
            return []
        left = (time.monotonic() - self._started_at) / worked * rest
        if self._later is None:
            return [f"{_clock(left)} left in {self._stage}"]
        return [f"{_clock(left)} left in {self._stage}", f"{_clock(left + self._later)} in all"]


class _Bars(rich.progress.Progress):
    """Rich's progress bars, which look at the meters whenever they are drawn."""

    def get_renderables(self) -> Iterable[RenderableType]:
        for task in self.tasks:
            meter, rounds = task.fields["meter"], task.fields["rounds"]
            self.update(task.id, completed=meter.done, facts="  ".join(_facts(meter, rounds)))
        return super().get_renderables()


class _DescribingListener(Listener):
    """Shows events in words on a console, and names the round that a meter belongs to."""

    def __init__(self, console: Console, describe: Callable[[str, Fields], str | None]) -> None:
        self._console = console
        self._describe = describe
        self._lock = threading.Lock()
        self._rounds = _Rounds()

    def event(self, name: str, fields: Fields) -> None:
        if name == "stage_started":
            self._rounds = _Rounds(fields)
        text = self._describe(name, fields)
        if text is not None:
            self._print(text)

    def _print(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


class BarListener(_DescribingListener):
    """Progress bars on a terminal, all in one display.

    Attributes:
        bars: the display.
    """

    def __init__(self, console: Console, describe: Callable[[str, Fields], str | None]) -> None:
        super().__init__(console, describe)
        short = Column(no_wrap=True, overflow="ellipsis")
        self.bars = _Bars(
            TextColumn("{task.description}", markup=False, table_column=short),
            TextColumn("{task.fields[facts]}", markup=False, table_column=short),
            BarColumn(),
            console=console,
            transient=True,
        )
        self._tasks: dict[Meter, TaskID] = {}

    def advanced(self, meter: Meter) -> None:
        if meter in self._tasks and not meter.ended:
            return  # the display looks at the meter by itself
        with self._lock:
            if meter in self._tasks:
                self.bars.remove_task(self._tasks.pop(meter))
                self._rounds.end(meter)
            elif not meter.ended:
                label = self._rounds.label(meter)
                self._tasks[meter] = self.bars.add_task(
                    label, total=meter.total, meter=meter, rounds=self._rounds, facts=""
                )
            if self._tasks:
                self.bars.start()
            else:
                self.bars.stop()

    def close(self) -> None:
        self.bars.stop()


class _Pace:
    """Decides when a meter is due for a report: every ten seconds. Safe to use from threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: dict[Meter, float] = {}

    def is_due(self, meter: Meter, since: float) -> bool:
        """Returns True ten seconds after the last report of a meter, or after the time ``since`` if it has none."""
        now = time.monotonic()
        with self._lock:
            due = now - self._told.get(meter, since) >= _SECONDS_BETWEEN_LINES
            if due:
                self._told[meter] = now
            if meter.ended:
                self._told.pop(meter, None)
        return due


class LineListener(_DescribingListener):
    """Plain lines for logs: one per event, and one per meter every ten seconds."""

    def __init__(self, console: Console, describe: Callable[[str, Fields], str | None]) -> None:
        super().__init__(console, describe)
        self._pace = _Pace()

    def advanced(self, meter: Meter) -> None:
        if self._pace.is_due(meter, meter.started_at):
            self._print(f"{self._rounds.label(meter)}: {', '.join(_facts(meter, self._rounds))}")
        if meter.ended:
            self._rounds.end(meter)


class JsonListener(Listener):
    """One JSON object per line: every event, and each meter at its start, every ten seconds, and at its end."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._pace = _Pace()

    def event(self, name: str, fields: Fields) -> None:
        self._write({"event": name, **fields})

    def advanced(self, meter: Meter) -> None:
        if self._pace.is_due(meter, -math.inf) or meter.ended:
            fields = {"label": meter.label, "done": meter.done, "total": meter.total, "unit": meter.unit}
            tasks = {"tasks": meter.tasks} if meter.tasks else {}
            self._write({"event": "progress", **fields, **tasks, "ended": meter.ended})

    def _write(self, fields: Fields) -> None:
        line = json.dumps({"time": time.time(), **fields}, ensure_ascii=False, default=str)
        try:
            with self._lock:
                self._stream.write(line + "\n")
                self._stream.flush()
        except OSError as error:
            raise OutputError(f"cannot write the log {self._stream.name}: {error.strerror or error}") from error

    def close(self) -> None:
        with suppress(OSError):
            self._stream.close()


def _facts(meter: Meter, rounds: _Rounds) -> list[str]:
    """Returns the facts on the line of a meter, most important first: amount, rate, time left, tasks, workers."""
    rate = meter.rate
    if meter.total:
        facts = [f"{min(meter.done / meter.total, 1.0):.0%} of {_amount(meter.total, meter.unit)}"]
    else:
        facts = [_amount(meter.done, meter.unit)]
    facts.append(f"{_number(rate, meter.unit)}/s")
    facts += rounds.left(meter)
    if (tasks := meter.tasks) and tasks["total"] > 1:
        workers = "1 worker" if tasks["workers"] == 1 else f"{tasks['workers']:,} workers"
        facts += [f"{tasks['done']:,}/{tasks['total']:,} tasks", workers]
    return facts


def _part(meter: Meter) -> float:
    """Returns the share of a meter's work that is done, from 0 to 1."""
    return min(meter.done / meter.total, 1.0) if meter.total else float(meter.ended and meter.done > 0)


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(max(seconds, 0.0))))


def _amount(count: int, unit: str) -> str:
    return _number(count, unit) if unit == "bytes" else f"{_number(count, unit)} {unit}"


def _number(count: float, unit: str) -> str:
    """Returns a number with a letter for thousands, millions and so on; bytes have their unit."""
    if unit == "bytes":
        return filesize.decimal(int(count))
    if count < 10_000:
        return f"{count:,.0f}"
    factor, letter = filesize.pick_unit_and_suffix(int(count), ["", "k", "M", "G", "T"], 1000)
    return f"{count / factor:,.1f}{letter}"
