from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.engines import HereEngine, LocalEngine, Tick
from nmt_prep.pipeline.tasks import Round, TaskLog
from nmt_prep.progress import Progress
from tests.engines.numbers import Number, numbers, square


def log(directory: Path, *, workers: int = 2) -> TaskLog:
    directory.mkdir(exist_ok=True)
    return TaskLog(directory, LocalEngine(workers), Progress())


def test_results_come_in_the_order_of_tasks_and_as_json_has_them(tmp_path: Path) -> None:
    def work(task: Number, tick: Tick) -> dict[str, Any]:
        return {"square": task.number**2, "pair": (1, 2)}

    results = log(tmp_path).run(Round("squares", work, numbers(10)))
    assert results == [{"square": number**2, "pair": [1, 2]} for number in range(10)]


def test_tasks_that_ended_before_a_failure_are_not_run_again(tmp_path: Path) -> None:
    ran: list[int] = []

    def work(task: Number, tick: Tick) -> dict[str, Any]:
        ran.append(task.number)
        if task.number == 7 and ran.count(7) == 1:
            raise RuntimeError("power")
        return {"square": task.number**2}

    with pytest.raises(RuntimeError, match="power"):
        log(tmp_path, workers=1).run(Round("squares", work, numbers(10)))
    results = log(tmp_path, workers=1).run(Round("squares", work, numbers(10)))
    assert results == [{"square": number**2} for number in range(10)]
    assert ran == [0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9]


def test_a_result_that_is_of_no_use_any_more_is_made_again(tmp_path: Path) -> None:
    log(tmp_path).run(Round("squares", square, numbers(4)))
    ran: list[int] = []

    def work(task: Number, tick: Tick) -> dict[str, Any]:
        ran.append(task.number)
        return {"square": -1}

    results = log(tmp_path).run(Round("squares", work, numbers(4), valid=lambda result: result["square"] < 5))
    assert results == [{"square": 0}, {"square": 1}, {"square": 4}, {"square": -1}]
    assert ran == [3]


@pytest.mark.parametrize("text", ["", "{", "[" * 200_000, "[5]", "{}", "null"])
def test_a_task_whose_note_is_damaged_runs_again(tmp_path: Path, text: str) -> None:
    round_ = Round("squares", square, numbers(3), made=lambda task, result: [tmp_path] * (result["square"] >= 0))
    results = log(tmp_path).run(round_)
    (tmp_path / f"{numbers(3)[1].key}.json").write_text(text)
    assert log(tmp_path).run(round_) == results == [{"square": 0}, {"square": 1}, {"square": 4}]


def test_tasks_may_be_run_in_this_thread(tmp_path: Path) -> None:
    def work(task: Number, tick: Tick) -> dict[str, Any]:
        return {"thread": threading.get_ident()}

    results = log(tmp_path).run(Round("threads", work, numbers(10), engine=HereEngine()))
    assert results == [{"thread": threading.get_ident()}] * 10
    assert len(list(tmp_path.iterdir())) == 10


def test_the_first_decision_stands(tmp_path: Path) -> None:
    assert log(tmp_path).decide("plan", lambda: {"buckets": 3}) == {"buckets": 3}
    assert log(tmp_path).decide("plan", lambda: {"buckets": 4}) == {"buckets": 3}
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]
