from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from nmt_prep.base.progress import StoppedError
from nmt_prep.base.runtime import available_cores
from nmt_prep.pipeline.engines import LocalEngine, Tick
from tests.pipeline.engines.numbers import Number, numbers, square


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_every_task_runs_once_and_returns_its_result(workers: int) -> None:
    ticks: list[int] = []
    done = list(LocalEngine(workers).map(square, numbers(50), ticks.append))
    assert sorted((each.task.number, each.result["square"]) for each in done) == [(n, n * n) for n in range(50)]
    assert sorted(ticks) == list(range(50))
    assert all(each.seconds >= 0 and each.worker.startswith("thread") for each in done)


def test_few_tasks_are_taken_in_advance() -> None:
    taken = 0

    def tasks() -> Iterator[Number]:
        nonlocal taken
        for number in numbers(1000):
            taken += 1
            yield number

    results = LocalEngine(2).map(square, tasks(), lambda amount: None)
    next(results)
    assert taken <= 4
    results.close()  # type: ignore[attr-defined]


def test_the_first_failure_cancels_the_rest_and_is_raised() -> None:
    ran: list[int] = []
    stopping = threading.Event()

    def work(task: Number, tick: Tick) -> dict[str, Any]:
        ran.append(task.number)
        if task.number == 3:
            raise ValueError("task 3")
        if task.number > 3:
            stopping.wait()
        return {}

    with pytest.raises(ValueError, match="task 3"):
        list(LocalEngine(2, stopping).map(work, numbers(10_000), lambda amount: None))
    assert set(ran) <= set(range(7))  # two tasks per worker are taken ahead, in addition to three that ended
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("thread_")]


def test_a_failure_stops_the_other_tasks_before_the_caller_learns_of_it() -> None:
    ran: list[int] = []
    stopping = threading.Event()

    def work(task: Number, tick: Tick) -> dict[str, Any]:
        ran.append(task.number)
        if task.number == 1:
            raise ValueError("task 1")
        return {}

    results = LocalEngine(1, stopping).map(work, numbers(5), lambda amount: None)
    next(results)
    assert stopping.wait(10)
    with pytest.raises(ValueError, match="task 1"):
        list(results)
    assert ran == [0, 1]


def test_the_failure_is_raised_and_not_that_the_others_were_stopped() -> None:
    stopping = threading.Event()

    def work(task: Number, tick: Tick) -> dict[str, Any]:
        if task.number == 0:
            stopping.wait()
            raise StoppedError
        try:
            raise ValueError("task 1")
        finally:
            stopping.set()

    for _ in range(20):
        stopping.clear()
        with pytest.raises(ValueError, match="task 1"):
            list(LocalEngine(2, stopping).map(work, numbers(2), lambda amount: None))


def test_default_is_one_worker_per_core() -> None:
    assert LocalEngine().workers == available_cores() >= 1
    assert LocalEngine(5).threads_here == 5


def test_threads_share_the_memory_that_the_process_does_not_need() -> None:
    assert LocalEngine(4).worker_memory(1_000_000_000) == 200_000_000
    assert LocalEngine(4).worker_memory(100_000_000) == 0


def test_tasks_that_finish_after_a_failure_are_returned() -> None:
    begun, failed = threading.Event(), threading.Event()

    def work(task: Number, tick: Tick) -> dict[str, Any]:
        if task.number == 0:
            begun.wait()
            failed.set()
            raise ValueError("task 0")
        begun.set()
        failed.wait()
        return {}

    done = []
    results = LocalEngine(2).map(work, numbers(10), lambda amount: None)
    with pytest.raises(ValueError, match="task 0"):
        done.extend(each.task.number for each in results)
    assert 1 in done
