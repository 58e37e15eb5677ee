"""Progress of a run. Stages report to :class:`Progress`; the command line chooses the listeners."""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import IO, Self, TypeAlias

from rich import filesize
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from nmt_prep.errors import OutputError

Fields: TypeAlias = "dict[str, object]"

_SECONDS_BETWEEN_LINES = 10.0
_LINE_WIDTH = 80
_BAR_SPACE = 12
_LONGEST_BAR = 40


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

    @property
    def ended(self) -> str:
        """The finished tasks in words."""
        return f"{self.done:,}/{self.total:,} tasks"

    @property
    def at_work(self) -> str:
        """The workers in words."""
        return "1 worker" if self.workers == 1 else f"{self.workers:,} workers"


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


@dataclass(frozen=True)
class _RunningStage:
    """A stage that has several rounds of tasks, by the names of the rounds."""

    name: str
    rounds: tuple[str, ...]

    @classmethod
    def of(cls, name: str, fields: Fields, before: Self | None) -> Self | None:
        """Returns the running stage after an event; None if none is running, or it has one round at most."""
        if name == "stage_started":
            rounds = fields.get("rounds")
            names = tuple(map(str, rounds)) if isinstance(rounds, list) else ()
            return cls(str(fields["stage"]), names) if len(names) > 1 else None
        return None if name in ("stage_finished", "run_failed") else before

    def place(self, meter: Meter) -> str:
        """Returns which of the rounds a meter is for, in words; empty if it is for none."""
        return f"round {self.rounds.index(meter.label) + 1} of {len(self.rounds)}" if meter.label in self.rounds else ""


class Bars:
    """One line for each meter, and one for the stage above its rounds. Lines are as wide as the console."""

    def __init__(self) -> None:
        self.meters: list[Meter] = []
        self.stage: _RunningStage | None = None
        self.stage_started_at = time.monotonic()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        stage = self.stage
        if stage is not None:
            place = next(filter(None, map(stage.place, list(self.meters))), "")
            yield _fitted(
                [stage.name, place, _clock(time.monotonic() - self.stage_started_at)], options.max_width, "  "
            )
        for meter in list(self.meters):
            yield self._line(meter, options, "  " if stage is not None else "")

    def _line(self, meter: Meter, options: ConsoleOptions, indent: str) -> Text:
        text = _fitted([f"{indent}{meter.label}", *_facts(meter)], options.max_width - _BAR_SPACE, "  ")
        room = options.max_width - text.cell_len - 2
        if meter.total and room > 0:
            size = min(room, _LONGEST_BAR)
            done = round(size * min(meter.done / meter.total, 1.0))
            glyph = "-" if options.ascii_only else "━"
            text.append_text(Text.assemble("  ", (glyph * done, "bar.complete"), (glyph * (size - done), "bar.back")))
        return text


class BarListener(Listener):
    """Progress bars on a terminal, all in one display.

    Attributes:
        bars: what the display shows.
    """

    def __init__(self, console: Console, describe: Callable[[str, Fields], str | None]) -> None:
        self._console = console
        self._describe = describe
        self._lock = threading.Lock()
        self.bars = Bars()
        self._display: Live | None = None

    def event(self, name: str, fields: Fields) -> None:
        text = self._describe(name, fields)
        if text is not None:
            self._console.print(text, highlight=False, markup=False)
        with self._lock:
            if name == "stage_started":
                self.bars.stage_started_at = time.monotonic()
            self.bars.stage = _RunningStage.of(name, fields, self.bars.stage)

    def advanced(self, meter: Meter) -> None:
        if not meter.ended and meter in self.bars.meters:
            return  # the display looks at the meter by itself
        with self._lock:
            if meter.ended and meter in self.bars.meters:
                self.bars.meters.remove(meter)
            elif not meter.ended:
                self.bars.meters.append(meter)
                if self._display is None:
                    self._display = Live(self.bars, console=self._console, refresh_per_second=10, transient=True)
                    self._display.start()
                self._display.refresh()
        if not self.bars.meters:
            self.close()

    def close(self) -> None:
        with self._lock:
            display, self._display = self._display, None
        if display is not None:
            display.stop()


class LineListener(Listener):
    """Plain lines of up to 80 columns for logs: one per event, and one per meter every ten seconds."""

    def __init__(self, console: Console, describe: Callable[[str, Fields], str | None]) -> None:
        self._console = console
        self._describe = describe
        self._lock = threading.Lock()
        self._told: dict[Meter, float] = {}
        self._stage: _RunningStage | None = None

    def event(self, name: str, fields: Fields) -> None:
        self._stage = _RunningStage.of(name, fields, self._stage)
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
            place = "" if self._stage is None else self._stage.place(meter)
            label = f"  {meter.label}, {place}" if place else meter.label
            amount, *rest = _facts(meter)
            self._write(_fitted([f"{label}: {amount}", *rest], _LINE_WIDTH, ", ").plain)

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


def _facts(meter: Meter) -> list[str]:
    """Returns what a line says about a meter, most important first: amount, rate, time left, tasks, workers."""
    rate = meter.rate
    if meter.total:
        facts = [f"{min(meter.done / meter.total, 1.0):.0%} of {_amount(meter.total, meter.unit)}"]
    else:
        facts = [_amount(meter.done, meter.unit)]
    facts.append(f"{_size(rate) if meter.unit == 'bytes' else _number(rate)}/s")
    if meter.total and meter.done * 100 >= meter.total:  # the first hundredth tells little about the rest
        facts.append(f"{_clock(max(meter.total - meter.done, 0) / rate)} left")
    if meter.tasks is not None and meter.tasks.total > 1:
        facts += [meter.tasks.ended, meter.tasks.at_work]
    return facts


def _fitted(parts: Sequence[str], width: int, between: str) -> Text:
    """Joins parts as far as they fit into a width; the first is cut if it alone is too long."""
    line = parts[0]
    for part in filter(None, parts[1:]):
        if cell_len(line) + cell_len(between) + cell_len(part) > width:
            break
        line = f"{line}{between}{part}"
    return Text(line if cell_len(line) <= width else f"{set_cell_size(line, max(width - 1, 0))}…", no_wrap=True)


def _amount(count: int, unit: str) -> str:
    return _size(count) if unit == "bytes" else f"{_number(count)} {unit}"


def _size(count: float) -> str:
    return filesize.decimal(int(count))


def _number(count: float) -> str:
    """Returns a number with up to four digits, or three digits and a letter for thousands, millions and so on."""
    if count < 9_999.5:
        return f"{count:,.0f}"
    for letter in "kMGT":
        count /= 1000
        if count < 999.5 or letter == "T":
            break
    return f"{count:,.{0 if count >= 99.95 else 1 if count >= 9.995 else 2}f}{letter}"


def _clock(seconds: float) -> str:
    """Returns a time as minutes and seconds, or hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
