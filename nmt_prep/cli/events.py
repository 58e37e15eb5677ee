"""Events of a run in words, and the listeners that print or store them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nmt_prep.base.progress import BarListener, Fields, JsonListener, LineListener, Listener, Progress
from nmt_prep.cli.terminal import SafeConsole, print_remark


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
    "stage_fresh": lambda fields: f"{fields['stage']}: fresh",
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
    """Returns an event in words; None if it is meant for programs only."""
    wording = _WORDING.get(name)
    return wording(fields) if wording is not None else None


class _QuietListener(Listener):
    """Prints what a command waits for to standard error."""

    def event(self, name: str, fields: Fields) -> None:
        if name == "waiting":
            print_remark(_WORDING[name](fields))


def progress_on(console: SafeConsole, *, log_json: Path | None = None) -> Progress:
    """Returns the progress of a command: bars on a terminal, lines elsewhere.

    On a quiet console, only the wait for another run is reported, on standard error, because the command seems to hang.
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
