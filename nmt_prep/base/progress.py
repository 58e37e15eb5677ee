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
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.progress import BarColumn, TaskID, TextColumn
from rich.table import Column
from rich.text import Text

from nmt_prep.base.errors import OutputError

Fields: TypeAlias = "dict[str, object]"

_SECONDS_BETWEEN_LINES = 10.0
_BAR_WIDTH = 10

_TELLING = 0.01  # share of the work that must be done before the time left is shown


class StoppedError(Exception):
    """Ends a task because another task failed or the user interrupted the run; never reaches a caller."""


class Listener(ABC):
    """Receives events and progress of meters; ignores progress by default. Calls may come from several threads."""

    @abstractmethod
    def event(self, name: str, fields: Fields) -> None:
        """Receives an event."""

    def advanced(self, meter: Meter) -> None:  # noqa: B027
        """Receives a meter's progress; called when it advances and when it ends."""

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
        """Adds to the amount done."""
        if self._progress.stopping.is_set():
            raise StoppedError
        with self._lock:
            self.done += amount
        self._progress.advanced(self)

    def event(self, name: str, **fields: object) -> None:
        """Reports that something happened, to the meter's listeners."""
        self._progress.event(name, **fields)

    def part(self, label: str, total: int | None = None, unit: str = "pairs") -> Meter:
        """Returns a meter for a part of the work, to use in a ``with`` statement."""
        return self._progress.meter(label, total, unit)

    def count_tasks(self, done: int, total: int, workers: int) -> None:
        """Updates the counts of finished tasks, all tasks and workers."""
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
    """Passes the reports of stages to all listeners; without listeners it is silent."""

    def __init__(self, *listeners: Listener) -> None:
        self.stopping = threading.Event()  # set to stop the run early; meters then raise `StoppedError` in their tasks
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


class _Bars(rich.progress.Progress):
    """Rich's progress bars, which look at the meters whenever they are drawn."""

    def get_renderables(self) -> Iterable[RenderableType]:
        width = self.console.width - _BAR_WIDTH - 2 if self.tasks else 0
        facts = {task.id: _facts(task.fields["meter"]) for task in self.tasks}
        label_width = max(width - max((len(first) for first, *_ in facts.values()), default=0), 1)
        for task in self.tasks:
            label = Text(task.fields["label"])
            label.truncate(label_width, overflow="ellipsis")
            self.update(task.id, description=label.plain, completed=task.fields["meter"].done)
        room = width - max((cell_len(task.description) for task in self.tasks), default=0)
        for task_id, shown in facts.items():
            while len(shown) > 1 and len("  ".join(shown)) > room:
                shown.pop()  # rather than cut a number
            self.update(task_id, facts="  ".join(shown))
        return super().get_renderables()


class _DescribingListener(Listener):
    """Shows events in words on a console, and names the round that a meter belongs to.

    The event ``stage_started`` has the rounds of the stage: their names, with their purposes in words.
    """

    def __init__(self, console: Console, describe: Callable[[str, Fields], str | None]) -> None:
        self._console = console
        self._describe = describe
        self._lock = threading.Lock()
        self._rounds: dict[str, str] = {}

    def event(self, name: str, fields: Fields) -> None:
        if name == "stage_started":
            self._rounds = cast("dict[str, str]", fields.get("rounds", {}))
        text = self._describe(name, fields)
        if text is not None:
            self._print(text)

    def _label(self, meter: Meter) -> str:
        """Returns a meter's purpose, and its round."""
        if meter.label not in self._rounds:
            return meter.label
        words = self._rounds[meter.label]
        if len(self._rounds) == 1:
            return words
        return f"{words}, round {[*self._rounds].index(meter.label) + 1} of {len(self._rounds)}"

    def _print(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


class BarListener(_DescribingListener):
    """Progress bars on a terminal, all in one display."""

    def __init__(self, console: Console, describe: Callable[[str, Fields], str | None]) -> None:
        super().__init__(console, describe)
        # the display
        self.bars = _Bars(
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
            BarColumn(_BAR_WIDTH),
            TextColumn("{task.fields[facts]}", markup=False, table_column=Column(no_wrap=True)),
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
            elif not meter.ended:
                self._tasks[meter] = self.bars.add_task(
                    "", total=meter.total, meter=meter, label=self._label(meter), facts=""
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
            self._print(f"{self._label(meter)}: {', '.join(_facts(meter))}")


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


def _facts(meter: Meter) -> list[str]:
    """Returns the facts on a meter's line, most important first: amount, rate, time left, tasks, workers."""
    rate = meter.rate
    if meter.total:
        facts = [f"{min(meter.done / meter.total, 1.0):.0%} of {_amount(meter.total, meter.unit)}"]
    else:
        facts = [_amount(meter.done, meter.unit)]
    facts.append(f"{_number(rate, meter.unit)}/s")
    if meter.total and _TELLING <= meter.done / meter.total < 1:
        facts.append(f"{_clock(meter.total / rate - meter.elapsed)} left")
    if (tasks := meter.tasks) and tasks["total"] > 1:
        workers = "1 worker" if tasks["workers"] == 1 else f"{tasks['workers']:,} workers"
        facts += [f"{tasks['done']:,}/{tasks['total']:,} tasks", workers]
    return facts


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
