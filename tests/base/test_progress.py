from __future__ import annotations

import io
import json
import threading
from pathlib import Path

import pytest
from rich.console import Console

from nmt_prep.base import progress
from nmt_prep.base.progress import BarListener, JsonListener, LineListener, Progress
from nmt_prep.cli.terminal import describe


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(progress.time, "monotonic", lambda: self.now)


def test_lines_show_events_at_once_and_meters_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, stream = Clock(monkeypatch), io.StringIO()
    with Progress(LineListener(Console(file=stream, width=20), describe)) as told:
        told.event("stage_started", stage="vocab", reason="never run here")
        told.event("of interest to programs only")
        with told.meter("encode", 1000) as meter:
            for _ in range(4):
                clock.now += 5
                meter.advance(100)
        told.event("stage_finished", stage="vocab", seconds=1.25)
    assert stream.getvalue().splitlines() == [
        "vocab: starting (never run here)",
        "encode: 20% of 1,000 pairs, 20/s, 0:00:40 left",
        "encode: 40% of 1,000 pairs, 20/s, 0:00:30 left",
        "vocab: done in 1.2 s",
    ]


def test_json_has_every_event_and_the_end_of_every_meter(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Progress(JsonListener(path.open("w"))) as told:
        told.event("stage_started", stage="vocab", reason="例")
        with told.meter("encode", None, "bytes") as meter:
            meter.advance(7)
            meter.advance(8)
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(isinstance(event.pop("time"), float) for event in events)
    assert events == [
        {"event": "stage_started", "stage": "vocab", "reason": "例"},
        {"event": "progress", "label": "encode", "done": 0, "total": None, "unit": "bytes", "ended": False},
        {"event": "progress", "label": "encode", "done": 15, "total": None, "unit": "bytes", "ended": True},
    ]


def test_meters_add_up_over_threads() -> None:
    with Progress().meter("x") as meter:
        threads = [threading.Thread(target=lambda: [meter.advance(1) for _ in range(1000)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert meter.done == 4000


def test_two_simultaneous_bars_on_a_terminal() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120)
    with Progress(BarListener(console, describe)) as told:
        with told.meter("fetch a", 100, "bytes") as first, told.meter("fetch b", 100) as second:
            first.advance(50)
            second.advance(100)
        told.event("stage_fresh", stage="download")
    assert "fetch a" in stream.getvalue()
    assert "fetch b" in stream.getvalue()
    assert "download: up to date" in stream.getvalue()


ROUNDS = {"clean-first": "reading", "clean": "applying rules", "clean-pairs": "comparing pairs"}


def test_lines_of_rounds_say_which(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, stream = Clock(monkeypatch), io.StringIO()
    with Progress(LineListener(Console(file=stream), describe)) as told:
        told.event("stage_started", stage="clean", reason="never run here", rounds=ROUNDS)
        with told.meter("clean", 1_500_000_000) as meter:
            meter.count_tasks(3, 25_000, 12)
            clock.now += 6000
            meter.advance(123_456_789)
        told.event("stage_finished", stage="clean", seconds=6000)
        with told.meter("a", None, "bytes") as meter:
            clock.now += 20
            meter.advance(1_234_567)
    assert stream.getvalue().splitlines() == [
        "clean: starting (never run here)",
        "applying rules, round 2 of 3: 8% of 1.5G pairs, 20.6k/s, 18:35:00 left, 3/25,000 tasks, 12 workers",
        "clean: done in 6000.0 s",
        "a: 1.2 MB, 61.7 kB/s",
    ]


def test_time_left_is_shown_from_a_hundredth_of_the_work_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, stream = Clock(monkeypatch), io.StringIO()
    with Progress(LineListener(Console(file=stream, width=200), lambda *_: None)) as told:
        told.event("stage_started", stage="encode", rounds={"encode": "encoding pairs"})
        with told.meter("encode", 1000) as meter:
            for advanced in (9, 1, 490, 600):
                clock.now += 10
                meter.advance(advanced)
    assert stream.getvalue().splitlines() == [
        "encoding pairs: 1% of 1,000 pairs, 1/s",
        "encoding pairs: 1% of 1,000 pairs, 0/s, 0:33:00 left",
        "encoding pairs: 50% of 1,000 pairs, 17/s, 0:00:30 left",
        "encoding pairs: 100% of 1,000 pairs, 28/s",
    ]


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (40, "comparing… ━━╸        25% of 40.0k pairs"),
        (80, "comparing pairs, round 3 of 3 ━━╸        25% of 40.0k pairs  133/s  0:03:45 left"),
        (
            120,
            "comparing pairs, round 3 of 3 ━━╸        25% of 40.0k pairs  133/s  0:03:45 left  3/12 tasks  4 workers",
        ),
    ],
)
def test_bars_fit_the_terminal(monkeypatch: pytest.MonkeyPatch, width: int, line: str) -> None:
    clock, stream = Clock(monkeypatch), io.StringIO()
    console = Console(file=stream, width=width)
    listener = BarListener(console, lambda *_: None)
    with Progress(listener) as told:
        told.event("stage_started", stage="clean", reason="", rounds=ROUNDS)
        with told.meter("clean-pairs", 40_000) as pairs:
            pairs.count_tasks(3, 12, 4)
            clock.now += 75
            pairs.advance(10_000)
            console.print(listener.bars.get_renderable())
    assert stream.getvalue().splitlines()[0].rstrip() == line
