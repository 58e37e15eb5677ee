"""Progress of a run. Stages report to :class:`Progress`; the command line chooses the listeners."""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import IO, Self, TypeAlias

from rich import filesize
from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichDisplay
from rich.progress import Task as RichTask
from rich.table import Column
from rich.text import Text

from nmt_prep.errors import OutputError

Fields: TypeAlias = "dict[str, object]"

_SECONDS_BETWEEN_LINES = 10.0


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


@dataclass(frozen=True)
class TaskCount:
    """Number of finished tasks, number of all tasks, and number of workers."""

    done: int
    total: int
    workers: int

    def __str__(self) -> str:
        workers = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        return f"{self.done:,}/{self.total:,} tasks, {workers}"


class Meter:
    """Progress of one long operation, in bytes, pairs or another ``unit``. Safe to use from threads."""

    def __init__(self, progress: Progress, label: str, total: int | None, unit: str) -> None:
        self.label = label
        self.total = total
        self.unit = unit
        self.done = 0
        self.ended = False
        self.tasks: TaskCount | None = None
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
        self.tasks = TaskCount(done, total, workers)
        self._progress.advanced(self)

    @property
    def rate(self) -> float:
        """Mean units per second so far."""
        return self.done / max(time.monotonic() - self.started_at, 1e-9)

    def __enter__(self) -> Self:
        self._progress.advanced(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.ended = True
        self._progress.advanced(self)


class Progress:
    """Passes what stages report to all listeners; without listeners it is silent.

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


class _Amount(ProgressColumn):
    """Column with the amount done and the rate, in the unit of each meter."""

    def render(self, task: RichTask) -> Text:
        if task.fields["unit"] == "bytes":
            total = f"/{filesize.decimal(int(task.total))}" if task.total is not None else ""
            return Text(f"{filesize.decimal(int(task.completed))}{total} {filesize.decimal(int(task.speed or 0))}/s")
        total = f"/{task.total:,.0f}" if task.total is not None else ""
        return Text(f"{task.completed:,.0f}{total} {task.fields['unit']} {task.speed or 0:,.0f}/s")


class BarListener(Listener):
    """Progress bars on a terminal, all in one display."""

    def __init__(self, console: Console, describe: Callable[[str, Fields], str | None]) -> None:
        self._console = console
        self._describe = describe
        self._lock = threading.Lock()
        self._display: RichDisplay | None = None
        self._tasks: dict[Meter, TaskID] = {}

    def event(self, name: str, fields: Fields) -> None:
        text = self._describe(name, fields)
        if text is not None:
            self._console.print(text, highlight=False, markup=False)

    def advanced(self, meter: Meter) -> None:
        with self._lock:
            if meter.ended:
                self._end(meter)
            elif meter in self._tasks:
                self._shown().update(self._tasks[meter], completed=meter.done, description=_title(meter))
            else:
                self._tasks[meter] = self._shown().add_task(_title(meter), total=meter.total, unit=meter.unit)

    def close(self) -> None:
        with self._lock:
            for meter in list(self._tasks):
                self._end(meter)

    def _shown(self) -> RichDisplay:
        if self._display is None:
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=None),  # what the others leave of the line
                _Amount(table_column=Column(no_wrap=True)),
                TimeRemainingColumn(table_column=Column(no_wrap=True)),
            )
            self._display = RichDisplay(*columns, console=self._console, transient=True)
            self._display.start()
        return self._display

    def _end(self, meter: Meter) -> None:
        if meter in self._tasks and self._display is not None:
            self._display.remove_task(self._tasks.pop(meter))
            if not self._tasks:
                self._display.stop()
                self._display = None


class LineListener(Listener):
    """Plain lines for logs: one per event, and one per meter every ten seconds."""

    def __init__(self, console: Console, describe: Callable[[str, Fields], str | None]) -> None:
        self._console = console
        self._describe = describe
        self._lock = threading.Lock()
        self._told: dict[Meter, float] = {}

    def event(self, name: str, fields: Fields) -> None:
        text = self._describe(name, fields)
        if text is not None:
            self._write(text)

    def advanced(self, meter: Meter) -> None:
        now = time.monotonic()
        with self._lock:
            due = now - self._told.setdefault(meter, meter.started_at) >= _SECONDS_BETWEEN_LINES
            if due:
                self._told[meter] = now
            if meter.ended:
                del self._told[meter]
        if due:
            total = f" of {meter.total:,}" if meter.total is not None else ""
            left = ""
            if meter.total is not None and meter.done:
                left = f", {(meter.total - meter.done) / meter.rate:,.0f} s left"
            self._write(f"{_title(meter)}: {meter.done:,}{total} {meter.unit}, {meter.rate:,.0f}/s{left}")

    def _write(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


class JsonListener(Listener):
    """One JSON object per line: every event, and each meter at its start, every ten seconds, and at its end."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._told: dict[Meter, float] = {}

    def event(self, name: str, fields: Fields) -> None:
        self._write({"event": name, **fields})

    def advanced(self, meter: Meter) -> None:
        now = time.monotonic()
        with self._lock:
            due = meter.ended or now - self._told.get(meter, -_SECONDS_BETWEEN_LINES) >= _SECONDS_BETWEEN_LINES
            if due:
                self._told[meter] = now
            if meter.ended:
                del self._told[meter]
        if due:
            fields = {"label": meter.label, "done": meter.done, "total": meter.total, "unit": meter.unit}
            tasks = {"tasks": asdict(meter.tasks)} if meter.tasks is not None else {}
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


def _title(meter: Meter) -> str:
    return meter.label if meter.tasks is None or meter.tasks.total == 1 else f"{meter.label} ({meter.tasks})"
