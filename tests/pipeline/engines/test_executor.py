from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.context import BaseContext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import CorpusError, EngineError, OutputError, RecordsError
from nmt_prep.base.progress import Fields, Listener, Progress
from nmt_prep.corpora.parts import row_groups
from nmt_prep.pipeline.engines.executor import ExecutorEngine, is_unseen, look_again
from nmt_prep.runs.checks import load_config
from nmt_prep.training.records.shuffle_plan import GlobalShuffle, ShardPlan
from nmt_prep.training.records.writer import write_shards
from tests.conftest import REPOSITORY
from tests.corpus import tree
from tests.pipeline.engines.numbers import (
    Number,
    always_fails,
    bad_data,
    busy_square,
    dies,
    fails_twice,
    full_disk,
    numbers,
    reads_a_file,
    slow_square,
    square,
)


class Events(Listener):
    """Records the events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Fields]] = []

    def event(self, name: str, fields: Fields) -> None:
        self.events.append((name, fields))


@pytest.fixture
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


def squares(engine: ExecutorEngine, function: Any, place: Path | None = None) -> list[tuple[int, int]]:
    done = engine.map(function, numbers(20, place), lambda amount: None)
    return sorted((each.task.number, each.result["square"]) for each in done)


def test_results_name_the_worker_and_progress_adds_up(threads: Executor) -> None:
    ticks: list[int] = []
    done = list(ExecutorEngine(threads, 2).map(square, numbers(50), ticks.append))
    assert sorted((each.task.number, each.result["square"]) for each in done) == [(n, n * n) for n in range(50)]
    assert sorted(ticks) == list(range(50))
    assert all(":" in each.worker for each in done)


def test_tasks_are_not_forgotten_while_all_workers_are_gone(threads: Executor) -> None:
    assert squares(ExecutorEngine(threads, 2, watch=lambda: 0), square) == [(n, n * n) for n in range(20)]


def test_a_task_with_a_transient_failure_is_run_again(threads: Executor, tmp_path: Path) -> None:
    events = Events()
    found = squares(ExecutorEngine(threads, 2, Progress(events)), fails_twice, tmp_path)
    assert found == [(n, n * n) for n in range(20)]
    assert [(name, fields["task"], fields["attempt"]) for name, fields in events.events] == [
        ("task_retried", "number-2", 1),
        ("task_retried", "number-2", 2),
    ]
    assert "ConnectionError: the link is cut" in str(events.events[0][1]["traceback"])


def test_the_third_failure_ends_the_run_with_the_workers_message(threads: Executor, tmp_path: Path) -> None:
    events = Events()
    expected = r"task number-2 failed 3 times, the last time on worker .*: KeyError: 'no such thing'; the log has"
    with pytest.raises(EngineError, match=expected):
        squares(ExecutorEngine(threads, 2, Progress(events)), always_fails, tmp_path)
    assert (tmp_path / "number-2").stat().st_size == 3
    assert [name for name, _ in events.events] == ["task_retried", "task_retried", "task_failed"]
    assert "in failing" in str(events.events[-1][1]["traceback"])


def test_a_full_disk_is_tried_again_and_reported(threads: Executor, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"the disk is full \(worker .*, after 3 tries\)"):
        squares(ExecutorEngine(threads, 2), full_disk, tmp_path)


def test_bad_data_is_not_retried(threads: Executor, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"^line 7 is not text$"):
        squares(ExecutorEngine(threads, 2), bad_data, tmp_path)
    assert (tmp_path / "number-2").stat().st_size == 1


def test_a_file_not_yet_visible_to_a_worker_is_retried(
    threads: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks: list[int] = []
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            (tmp_path / "spill").touch()

    monkeypatch.setattr(
        "nmt_prep.pipeline.engines.executor.time",
        SimpleNamespace(thread_time=time.thread_time, sleep=pause, monotonic=time.monotonic),
    )
    (done,) = ExecutorEngine(threads, 2).map(reads_a_file, numbers(3, tmp_path)[2:], ticks.append)
    assert done.result == {"square": 4}
    assert ticks == [2]
    assert pauses == [0.1, 0.4]
    assert (tmp_path / "number-2").stat().st_size == 3


def test_a_file_that_stays_missing_is_bad_data(
    threads: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmt_prep.pipeline.engines.executor.PAUSES", (0.01, 0.01))
    with pytest.raises(RecordsError, match=r"^spill: not a usable spill file"):
        list(ExecutorEngine(threads, 2).map(reads_a_file, numbers(3, tmp_path)[2:], lambda amount: None))
    assert (tmp_path / "number-2").stat().st_size == 3


def test_running_tasks_are_returned_after_a_failure(tmp_path: Path) -> None:
    done: list[int] = []
    with ThreadPoolExecutor(3) as executor:
        results = ExecutorEngine(executor, 3).map(bad_data, numbers(3, tmp_path), lambda amount: None)
        with pytest.raises(CorpusError):
            done.extend(each.task.number for each in results)
    assert sorted(done) == [0, 1]


def test_few_tasks_are_submitted_in_advance(threads: Executor) -> None:
    taken = 0

    def tasks() -> Iterator[Any]:
        nonlocal taken
        for number in numbers(1000):
            taken += 1
            yield number

    results = ExecutorEngine(threads, 2).map(slow_square, tasks(), lambda amount: None)
    next(results)
    assert taken <= 8
    results.close()  # type: ignore[attr-defined]


def test_memory_of_a_worker_is_its_share_minus_that_of_the_process(threads: Executor) -> None:
    assert ExecutorEngine(threads, 4).worker_memory(2_000_000_000) == 300_000_000
    assert ExecutorEngine(threads, 4).worker_memory(100_000_000) == 0


def test_processor_time_counts_where_it_is_not_that_of_this_process(threads: Executor, forking: BaseContext) -> None:
    with ProcessPoolExecutor(1, forking) as executor:
        [elsewhere] = ExecutorEngine(executor, 1).map(busy_square, numbers(1), lambda amount: None)
    [here] = ExecutorEngine(threads, 2).map(busy_square, numbers(1), lambda amount: None)
    assert elsewhere.elsewhere >= 0.05
    assert here.elsewhere == 0


def test_dead_workers_are_reported_and_nothing_hangs(forking: BaseContext) -> None:
    with (
        ProcessPoolExecutor(1, forking) as executor,
        pytest.raises(EngineError, match=r"the workers are lost: .*; start them again"),
    ):
        squares(ExecutorEngine(executor, 1), dies)


@pytest.mark.parametrize("start", ["forked", pytest.param("spawned", marks=pytest.mark.slow)])
def test_processes_give_the_same_bytes_as_threads(tmp_path: Path, forking: BaseContext, start: str) -> None:
    path = REPOSITORY / "configs" / "toy-clean.yaml"
    threads, processes = (
        load_config(path, [f"output_dir={tmp_path / name}", "clean.rejects=sample"])
        for name in ("threads", "processes")
    )
    nmt_prep.run(threads, workers=2)
    with ProcessPoolExecutor(2, forking if start == "forked" else get_context("spawn")) as executor:
        nmt_prep.run(processes, executor=executor)
    assert tree(processes.run_dir) == tree(threads.run_dir)


def test_a_missing_part_is_unseen(tmp_path: Path) -> None:
    with pytest.raises(CorpusError) as raised:
        row_groups(tmp_path / "part")
    assert is_unseen(raised.value)


def test_a_missing_spill_file_is_unseen_and_a_damaged_one_is_not(tmp_path: Path) -> None:
    spill, plan = tmp_path / "spill", ShardPlan(GlobalShuffle(1, 1, "train"), 1)
    with pytest.raises(RecordsError) as raised:
        write_shards([tmp_path / "shard"], plan, 0, [spill])
    assert is_unseen(raised.value)
    spill.write_bytes(b"no spill")
    with pytest.raises(RecordsError) as raised:
        write_shards([tmp_path / "shard"], plan, 0, [spill])
    assert not is_unseen(raised.value)


def test_a_file_that_was_replaced_while_it_was_read_is_unseen() -> None:
    assert is_unseen(OSError(errno.ESTALE, "Stale file handle"))
    assert not is_unseen(OSError(errno.EIO, "Input/output error"))
    assert not is_unseen(ValueError("no number"))


def test_progress_of_a_failed_attempt_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks: list[int] = []
    clock = SimpleNamespace(sleep=lambda _: (tmp_path / "spill").touch())
    monkeypatch.setattr("nmt_prep.pipeline.engines.executor.time", clock)
    assert look_again(reads_a_file, Number(2, tmp_path), ticks.append) == {"square": 4}
    assert ticks == [2, -2, 2]
