from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.engines import LocalEngine
from nmt_prep.progress import Progress
from nmt_prep.tasks import TaskLog


@dataclass(frozen=True)
class Square:
    key: str
    number: int


TASKS = [Square(f"square-{number}", number) for number in range(10)]


def log(directory: Path, fingerprint: str = "f", *, resume: bool = True) -> TaskLog:
    return TaskLog(directory, fingerprint, LocalEngine(2), Progress(), resume=resume)


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

    engine = LocalEngine(1)
    with pytest.raises(RuntimeError, match="power"):
        TaskLog(tmp_path, "f", engine, Progress(), resume=True).run(work, TASKS)
    results = TaskLog(tmp_path, "f", engine, Progress(), resume=True).run(work, TASKS)
    assert results == [{"square": number**2} for number in range(10)]
    assert ran == [0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9]


def test_another_fingerprint_starts_from_an_empty_directory(tmp_path: Path) -> None:
    log(tmp_path).run(lambda task: {"was": "old"}, TASKS)
    (tmp_path / "part").touch()
    results = log(tmp_path, "g").run(lambda task: {"is": "new"}, TASKS)
    assert results == [{"is": "new"}] * 10
    assert not (tmp_path / "part").exists()


def test_without_resume_the_directory_is_left_alone_and_nothing_is_noted(tmp_path: Path) -> None:
    (tmp_path / "store").touch()
    log(tmp_path, resume=False).run(lambda task: {"n": task.number}, TASKS)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_clear_forgets(tmp_path: Path) -> None:
    noted = log(tmp_path)
    noted.run(lambda task: {}, TASKS)
    noted.clear()
    assert list(tmp_path.iterdir()) == []
