"""Consoles and tables for the command line.

Consoles escape control characters, so that no text can control the terminal.
"""

from __future__ import annotations

import json
import os
import re
import select
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from nmt_prep.base.progress import BarListener, Fields, JsonListener, LineListener, Listener, Progress
from nmt_prep.cli.streams import READER_GONE, abandon_output

_LOG_WIDTH = 160  # Width of tables in a log, in columns: enough not to wrap rows

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
r"""Control characters (C0 except ``\t`` and ``\n``, C1, bidirectional), and bytes of names that are not UTF-8."""

_UNSAFE_IN_JSON = re.compile(f"{_UNSAFE.pattern[:-1]}\u2028\u2029]")


def printable(text: str) -> str:
    r"""Returns the text with every control character as an escape sequence such as ``\x1b`` or ``\u202e``.

    Tabs and newlines stay. A byte of a file name that is not UTF-8 (a lone surrogate in Python) becomes ``\xff``.
    """
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def json_line(value: object) -> str:
    """Returns a value as JSON on one line, with control characters and all line ends as escape sequences of JSON."""
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


class SafeConsole(Console):
    """A console that escapes all text with :func:`printable`, and interprets no markup or emoji codes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def print(self, *objects: Any, soft_wrap: bool | None = None, **options: Any) -> None:
        """Prints like Rich, but breaks messages on standard error between words if it is a terminal."""
        if soft_wrap and self.stderr and self.is_terminal:
            objects = tuple(self._in_lines(each) if isinstance(each, str | Text) else each for each in objects)
        super().print(*objects, soft_wrap=soft_wrap, **options)

    def _in_lines(self, message: str | Text) -> Text:
        """Returns a message in lines of the terminal's width; longer words, such as paths, stay whole for copying."""
        text = self.render_str(message) if isinstance(message, str) else message.copy()
        text.overflow = "ignore"
        return Text("\n").join(text.wrap(self, self.width))

    def render_str(self, text: str, **options: Any) -> Text:
        """Escapes strings before they are measured, so that table columns are wide enough."""
        return super().render_str(printable(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Escapes everything else that is printed; only Rich's own control codes pass."""
        for segment in super().render(renderable, options):
            if segment.control is None and _UNSAFE.search(segment.text):
                yield Segment(printable(segment.text), segment.style)
            else:
                yield segment

    def on_broken_pipe(self) -> None:
        """Ends the process if the reader of standard output has ended; for standard error, only discards the output."""
        abandon_output(sys.stderr if self.stderr else sys.stdout)
        if not self.stderr:
            raise SystemExit(READER_GONE)


def open_console(*, quiet: bool = False, log_width: int = _LOG_WIDTH) -> SafeConsole:
    """Returns a console on standard output, with ``log_width`` columns if that is not a terminal."""
    return SafeConsole(quiet=quiet, width=None if sys.stdout.isatty() else log_width)


def print_error(message: str) -> None:
    """Prints an error message to standard error, with a red label if that is a terminal with colors."""
    print_remark(Text.assemble(("nmt-prep: error:", "bold red"), f" {message}"))


def print_remark(message: str | Text) -> None:
    """Prints a message to standard error; does nothing if standard error cannot be written."""
    try:
        SafeConsole(stderr=True).print(message, soft_wrap=True)
    except OSError:
        abandon_output(sys.stderr)  # else Python tries to write again at exit, and changes the exit status


def show_cursor() -> None:
    """Shows the terminal's cursor, which progress bars hide, before the process ends without their help.

    Does not wait for a terminal that Ctrl-S holds, nor for a thread that writes to it.
    """
    for stderr in (False, True):
        console = SafeConsole(stderr=stderr)
        with suppress(OSError):
            if console.is_terminal and not console.is_dumb_terminal:
                descriptor = console.file.fileno()
                if select.select([], [descriptor], [], 0)[1]:
                    os.write(descriptor, b"\x1b[?25h")


def plain_table(*headers: str) -> Table:
    """Returns an empty table without lines. A column is justified to the right if its header begins with ``>``."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        name = header.removeprefix(">")
        table.add_column(name, justify="left" if name == header else "right", overflow="fold")
    return table


def cell(text: str, width: int) -> str:
    """Returns a text for a cell of a table, cut and ended by an ellipsis if it is too wide.

    Control characters, tabs and line ends are escaped. A Chinese character is two columns wide.
    """
    safe = printable(text).replace("\t", "\\t").replace("\n", "\\n")
    safe = safe.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return safe if cell_len(safe) <= width else f"{set_cell_size(safe, width - 1).rstrip()}…"


def _failure(fields: Fields) -> str:
    return f"task {fields['task']} failed on {fields['worker']}: {fields['message']}"


def _workers(fields: Fields) -> str:
    came, went = len(_list(fields["joined"])), len(_list(fields["left"]))
    return f"  workers: {fields['workers']} ({came} joined, {went} left)"


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


_WORDING: Mapping[str, Callable[[Fields], str]] = {
    "stage_started": lambda fields: f"{fields['stage']}: starting ({fields['reason']})",
    "stage_finished": lambda fields: f"{fields['stage']}: done in {fields['seconds']:.1f} s",
    "stage_fresh": lambda fields: f"{fields['stage']}: up to date",
    "tasks_resumed": lambda fields: f"  {fields['round']}: {fields['done']} of {fields['total']} tasks already done",
    "waiting": lambda fields: (
        f"waiting for {fields['holder']}, which is using {fields['directory']} "
        "(Ctrl-C stops this; with --no-wait, nmt-prep run ends with an error instead)"
    ),
    "retry": lambda fields: f"download: {fields['reason']}; retrying in {fields['seconds']:.0f} s",
    "task_retried": lambda fields: f"  {_failure(fields)}; retrying",
    "workers_changed": _workers,
    "task_failed": lambda fields: f"  {_failure(fields)}",
    "rule_left_out": lambda fields: f"  {fields['corpus']}: {fields['message']}",
    "preset_left_out": lambda fields: f"  {fields['message']}",
    "vocab_bisection": lambda fields: (
        f"vocab: {fields['side']}: minimum count {fields['min_count']} gives {fields['size']} pieces"
    ),
    "vocab_step": lambda fields: f"vocab: {fields['side']}: {fields['step']}",
    "vocab_skipped": lambda fields: (
        f"vocab: {fields['side']}: {fields['lines']:,} lines are too long to train SentencePiece on; "
        "raise max_sentence_length in vocab.options to use them"
    ),
    "mended": lambda fields: f"  before cleaning: {fields['message']}",
    "most_dropped": lambda fields: f"  warning: {fields['message']}",
    "warning": lambda fields: f"  warning: {fields['message']}",
}


def describe(name: str, fields: Fields) -> str | None:
    """Returns an event in words, or None if the event is meant for programs only."""
    wording = _WORDING.get(name)
    return wording(fields) if wording is not None else None


class _QuietListener(Listener):
    """Prints what a command waits for to standard error."""

    def event(self, name: str, fields: Fields) -> None:
        if name == "waiting":
            print_remark(_WORDING[name](fields))


def progress_on(console: SafeConsole, *, log_json: Path | None = None) -> Progress:
    """Returns the progress of a command: bars on a terminal, lines elsewhere.

    A quiet console reports, on standard error, only the wait for another run, because the command seems to hang.
    Events are also appended to the file ``log_json``, as JSON.
    """
    terminal = console.is_terminal and console.is_interactive
    listeners: list[Listener] = []
    if console.quiet:
        listeners.append(_QuietListener())
    else:
        listeners.append(BarListener(console, describe) if terminal else LineListener(console, describe))
    if log_json is not None:
        log_json.parent.mkdir(parents=True, exist_ok=True)
        listeners.append(JsonListener(log_json.open("a", encoding="utf-8", errors="backslashreplace")))
    return Progress(*listeners)
