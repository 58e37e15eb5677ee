from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.table import Table

from nmt_prep.cli.console import describe, plan_table, tasks_table
from nmt_prep.cli.preview import shortened
from nmt_prep.cli.summary import outcome_table
from nmt_prep.cli.terminal import SafeConsole
from nmt_prep.pipeline.drivers import RoundState
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.outcomes import Outcome, StageTasks

COUNTED = StageTasks("vocab", complete=False, reason="never run here", rounds=(RoundState("count", (("a", True),)),))
DROPPED = Outcome("compile", ran=True, reason="", seconds=1.0, counts=Counts(10, 7, {"empty": 3}))


def printed(table: Table, **options: bool | str) -> str:
    stream = io.StringIO()
    SafeConsole(file=stream, width=120, **options).print(table)
    return stream.getvalue()


@pytest.mark.parametrize(
    "table", [lambda: plan_table([]), lambda: tasks_table([], running=False), lambda: outcome_table([])]
)
def test_every_column_has_a_header(table: Callable[[], Table]) -> None:
    assert all(column.header for column in table().columns)


def test_a_run_that_waits_for_another_says_how_not_to() -> None:
    assert describe("waiting", {"holder": "process 7 on a", "directory": "runs/toy"}) == (
        "waiting for process 7 on a, which is using runs/toy; with --no-wait this is an error"
    )


def test_a_finished_round_shows_what_follows() -> None:
    assert "all done; a run continues with vocab" in printed(tasks_table([COUNTED], running=True))
    assert "all done; a plain run continues from there" in printed(tasks_table([COUNTED], running=False))


def test_every_round_is_listed_with_what_it_waits_for() -> None:
    rounds = RoundState("lines", ()), RoundState("compile", (("a", True), ("b", False))), RoundState("join", None)
    stages = [
        StageTasks("extract", complete=True, reason="", rounds=()),
        StageTasks("compile", complete=False, reason="was interrupted", rounds=rounds),
        StageTasks("sample", complete=False, reason="waits for compile", rounds=(RoundState("sample", None),)),
        StageTasks("report", complete=False, reason="waits for compile", rounds=()),
    ]
    assert [line.split() for line in printed(tasks_table(stages, running=False)).splitlines()] == [
        ["stage", "round", "done", "of", "state"],
        ["extract", "complete"],
        ["compile", "lines", "0", "0", "nothing", "to", "do"],
        ["compile", "compile", "1", "2", "1", "missing"],
        ["compile", "join", "waits", "for", "compile"],
        ["sample", "sample", "waits", "for", "compile"],
        ["report", "waits", "for", "compile"],
    ]


def test_drops_are_coloured_on_a_colour_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    table = outcome_table([DROPPED])
    assert "\x1b[33mempty 3\x1b[0m" in printed(table, force_terminal=True)
    assert "\x1b" not in printed(table)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "[33m" not in printed(table, force_terminal=True)


def test_a_line_of_the_preview_fits_80_columns() -> None:
    assert shortened("x" * 66) == "x" * 66
    assert shortened("x" * 67) == "x" * 65 + "…"
    assert shortened("猫" * 33) == "猫" * 33
    assert shortened("猫" * 34) == "猫" * 32 + "…"
