from __future__ import annotations

import io
import json
import os
import sys
import termios
from typing import Any

import pytest
from rich.table import Table
from rich.text import Text

from nmt_prep.base.progress import BarListener, LineListener, Progress
from nmt_prep.cli.terminal import (
    SafeConsole,
    cell,
    describe,
    json_line,
    plain_table,
    print_remark,
    printable,
    show_cursor,
)
from tests.guard import must_end
from tests.interrupting import open_terminal

HOSTILE = "a\x1b]0;owned\x07b\x9b31mc\u202ed\rfe"
ESCAPED = r"a\x1b]0;owned\x07b\x9b31mc\u202ed\rfe".replace(r"\r", r"\x0d")


def console(**options: Any) -> tuple[SafeConsole, io.StringIO]:
    stream = io.StringIO()
    return SafeConsole(file=stream, width=200, **options), stream


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HOSTILE, ESCAPED),
        ("tab\tand\nnewline stay, so do é 中 𠮷", "tab\tand\nnewline stay, so do é 中 𠮷"),
        ("\x00\x7f\x80\x9f", r"\x00\x7f\x80\x9f"),
        ("\u061c\u200e\u200f\u2066\u2069", r"\u061c\u200e\u200f\u2066\u2069"),
        (b"not \xff UTF-8".decode("utf-8", "surrogateescape"), r"not \xff UTF-8"),
        ("\ud83d", r"\ud83d"),
    ],
)
def test_controls_become_escape_sequences(text: str, expected: str) -> None:
    assert printable(text) == expected


def test_whatever_is_printed_is_escaped() -> None:
    safe, stream = console()
    table = Table("head", HOSTILE, box=None, pad_edge=False)
    table.add_row(HOSTILE, "")
    safe.print(table)
    safe.print(HOSTILE)
    safe.print(Text("style\x1b[31m", "red"))
    assert stream.getvalue().count(ESCAPED) == 3
    assert printable(stream.getvalue()) == stream.getvalue()


def test_table_columns_fit_escaped_text() -> None:
    safe, stream = console()
    table = Table("a", "b", box=None, pad_edge=False)
    table.add_row("\x1b", "next")
    safe.print(table)
    assert stream.getvalue().splitlines()[1].rstrip() == r"\x1b  next"


def test_text_is_not_read_as_markup_or_emoji() -> None:
    safe, stream = console()
    safe.print("[red]x[/red] [/] :smile:")
    assert stream.getvalue() == "[red]x[/red] [/] :smile:\n"


def test_lines_and_bars_are_escaped() -> None:
    safe, stream = console()
    with Progress(LineListener(safe, describe)) as told:
        told.event("stage_started", stage="download", reason=HOSTILE)
    assert stream.getvalue() == f"download: starting ({ESCAPED})\n"
    safe, stream = console(force_terminal=True)
    with Progress(BarListener(safe, describe)) as told, told.meter(f"[red]{HOSTILE}", 10) as meter:
        told.event("stage_started", stage="download", reason=HOSTILE)
        meter.advance(5)
    assert f"download: starting ({ESCAPED})\n" in stream.getvalue()
    assert r"[red]a\x1b]0;ownedb" in stream.getvalue()
    assert "\x1b]0;" not in stream.getvalue()
    assert "\u202e" not in stream.getvalue()
    assert "\x9b" not in stream.getvalue()


def test_json_on_one_line_has_no_control_characters_and_can_be_read_back() -> None:
    value = {"text": "a\x1b[0m\x7f\x9b\u202e\u2028\n\tü字"}
    line = json_line(value)
    assert line == r'{"text": "a\u001b[0m\u007f\u009b\u202e\u2028\n\tü字"}'
    assert json.loads(line) == value


def test_texts_of_cells_are_cut_to_their_width() -> None:
    assert cell("x" * 66, 66) == "x" * 66
    assert cell("x" * 67, 66) == "x" * 65 + "…"
    assert cell("猫" * 33, 66) == "猫" * 33
    assert cell("猫" * 34, 66) == "猫" * 32 + "…"
    assert cell("a\tb\nc\u2028\x1b", 66) == r"a\tb\nc\u2028\x1b"


def test_a_held_terminal_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, its_end = open_terminal()
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(terminal, "rb", buffering=0) as screen, os.fdopen(its_end, "w") as stream, must_end(60):
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", stream)
        termios.tcflow(its_end, termios.TCOOFF)
        show_cursor()
        termios.tcflow(its_end, termios.TCOON)
        os.write(its_end, b"held ")
        show_cursor()
        printed = b""
        while not printed.endswith(b"\x1b[?25h" * 2):
            printed += screen.read(100)
        monkeypatch.undo()
    assert printed == b"held " + b"\x1b[?25h" * 2


def test_messages_break_between_words_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    message = f"{'word ' * 5}/a/path/of/{'x' * 40} end\n  key: value that is long"
    broken = ["word word word word word", f"/a/path/of/{'x' * 40}", "end"]
    terminal, its_end = open_terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "30")
    with os.fdopen(terminal, "rb", buffering=0) as screen, os.fdopen(its_end, "w") as stream, must_end(60):
        monkeypatch.setattr(sys, "stderr", stream)
        print_remark(message)
        printed = screen.read(1000).decode()
        monkeypatch.undo()
    assert [line.rstrip() for line in printed.splitlines()] == [*broken, "  key: value that is long"]


def test_headers_of_numbers() -> None:
    columns = plain_table("stage", ">time").columns
    assert [(column.header, column.justify) for column in columns] == [("stage", "left"), ("time", "right")]


def test_a_run_that_waits_for_another_says_how_not_to() -> None:
    assert describe("waiting", {"holder": "process 7 on a", "directory": "runs/toy"}) == (
        "waiting for process 7 on a, which is using runs/toy "
        "(Ctrl-C stops this; with --no-wait, nmt-prep run ends with an error instead)"
    )
