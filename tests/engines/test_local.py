from __future__ import annotations

import threading
import time

import pytest

from nmt_prep.engines import LocalEngine, available_cores


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_every_task_is_run_once_and_handed_back_with_its_result(workers: int) -> None:
    engine = LocalEngine(workers)
    assert sorted(engine.map(lambda number: number * number, range(50))) == [(n, n * n) for n in range(50)]


def test_tasks_are_taken_from_the_list_only_a_little_ahead() -> None:
    taken = 0

    def tasks() -> object:
        nonlocal taken
        for number in range(1000):
            taken += 1
            yield number

    results = LocalEngine(2).map(lambda number: number, tasks())  # type: ignore[arg-type]
    next(results)
    assert taken <= 4
    results.close()  # type: ignore[attr-defined]


def test_the_first_failure_ends_the_rest_and_is_raised() -> None:
    ran: list[int] = []

    def work(number: int) -> None:
        ran.append(number)
        if number == 3:
            raise ValueError("task 3")
        time.sleep(0.001)

    with pytest.raises(ValueError, match="task 3"):
        list(LocalEngine(2).map(work, range(10_000)))
    assert len(ran) < 100
    assert threading.active_count() < 10


def test_default_is_a_worker_a_core() -> None:
    assert LocalEngine().workers == available_cores() >= 1


def test_tasks_that_end_beside_a_failure_are_handed_back() -> None:
    failed = threading.Event()

    def work(number: int) -> int:
        if number == 0:
            failed.set()
            raise ValueError("task 0")
        assert failed.wait(10)
        time.sleep(0.05)
        return number

    done = []
    results = LocalEngine(2).map(work, range(10))
    with pytest.raises(ValueError, match="task 0"):
        done.extend(results)
    assert (1, 1) in done
