from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.engines import HereEngine, LocalEngine
from nmt_prep.progress import Progress
from nmt_prep.tasks import TaskLog


@dataclass(frozen=True)
class Square:
    key: str
    number: int


TASKS = [Square(f"square-{number}", number) for number in range(10)]


def log(directory: Path, *, workers: int = 2, notes: bool = True) -> TaskLog:
    directory.mkdir(exist_ok=True)
    return TaskLog(directory if notes else None, LocalEngine(workers), Progress())


def test_results_come_in_the_order_of_tasks_and_as_json_has_them(tmp_path: Path) -> None:
    def work(task: Square) -> dict[str, Any]:
        return {"square": task.number**2, "pair": (1, 2)}

    results = log(tmp_path).run(work, TASKS)
    assert results == [{"square": number**2, "pair": [1, 2]} for number in range(10)]


def test_tasks_that_ended_before_a_failure_are_not_run_again(tmp_path: Path) -> None:
    ran: list[int] = []

    def work(task: Square) -> dict[str, Any]:
        ran.append(task.number)
        if task.number == 7 and ran.count(7) == 1:
            raise RuntimeError("power")
        return {"square": task.number**2}

    with pytest.raises(RuntimeError, match="power"):
        log(tmp_path, workers=1).run(work, TASKS)
    results = log(tmp_path, workers=1).run(work, TASKS)
    assert results == [{"square": number**2} for number in range(10)]
    assert ran == [0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9]


def test_without_a_place_for_notes_nothing_is_noted(tmp_path: Path) -> None:
    results = log(tmp_path, notes=False).run(lambda task: {"n": task.number}, TASKS)
    assert [result["n"] for result in results] == list(range(10))
    assert list(tmp_path.iterdir()) == []


def test_tasks_may_be_run_in_this_thread(tmp_path: Path) -> None:
    results = log(tmp_path).run(lambda task: {"thread": threading.get_ident()}, TASKS, engine=HereEngine())
    assert results == [{"thread": threading.get_ident()}] * 10
    assert len(list(tmp_path.iterdir())) == 10
