from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from nmt_prep.base.errors import OutputError
from nmt_prep.base.progress import Meter, Progress
from nmt_prep.pipeline.drivers import RoundState, Share, TaskNotes, TaskRunner, list_rounds, run_rounds, run_share
from nmt_prep.pipeline.engines import LocalEngine, Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from tests.pipeline.engines.numbers import Number, numbers


@dataclass(frozen=True)
class Square:
    value: int
    pair: tuple[int, ...] = ()


def square(task: Number, tick: Tick) -> Square:
    return Square(task.number**2, (1, 2))


SQUARES = Round("squares", square, Square)


def runner(directory: Path, *, workers: int = 2) -> TaskRunner:
    directory.mkdir(exist_ok=True)
    return TaskRunner(TaskNotes(directory), LocalEngine(workers), Progress())


def notes(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir()) if directory.exists() else []


def only(round_: Round[Number, Square], count: int = 10) -> Rounds[list[Square]]:
    return (yield from round_.run(numbers(count)))


def test_results_come_in_the_order_of_tasks_whether_new_or_resumed(tmp_path: Path) -> None:
    expected = [Square(number**2, (1, 2)) for number in range(10)]
    assert run_rounds(only(SQUARES), runner(tmp_path)) == expected
    unused = Round("squares", lambda task, tick: pytest.fail("ran again"), Square)
    assert run_rounds(only(unused), runner(tmp_path)) == expected


def test_tasks_finished_before_a_failure_are_not_repeated(tmp_path: Path) -> None:
    ran: list[int] = []

    def work(task: Number, tick: Tick) -> Square:
        ran.append(task.number)
        if task.number == 7 and ran.count(7) == 1:
            raise RuntimeError("power")
        return Square(task.number**2)

    # In this thread no task can begin before the failure of another is seen.
    round_ = Round("squares", work, Square, here=True)
    with pytest.raises(RuntimeError, match="power"):
        run_rounds(only(round_), runner(tmp_path))
    assert run_rounds(only(round_), runner(tmp_path)) == [Square(number**2) for number in range(10)]
    assert ran == [0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9]


def test_a_result_that_is_no_longer_valid_is_computed_again(tmp_path: Path) -> None:
    run_rounds(only(SQUARES, 4), runner(tmp_path))
    ran: list[int] = []

    def work(task: Number, tick: Tick) -> Square:
        ran.append(task.number)
        return Square(-1)

    def again() -> Rounds[list[Square]]:
        return (yield from Round("squares", work, Square).run(numbers(4), valid=lambda result: result.value < 5))

    results = run_rounds(again(), runner(tmp_path))
    assert [result.value for result in results] == [0, 1, 4, -1]
    assert ran == [3]


@pytest.mark.parametrize("text", ["", "{", "[" * 200_000, "[5]", "{}", "null", '{"value": "x"}'])
def test_a_task_whose_note_is_damaged_runs_again(tmp_path: Path, text: str) -> None:
    run_rounds(only(SQUARES, 3), runner(tmp_path))
    (tmp_path / "number-1.json").write_text(text)
    assert [result.value for result in run_rounds(only(SQUARES, 3), runner(tmp_path))] == [0, 1, 4]


@pytest.mark.parametrize("text", ["", "[" * 200_000, "null"])
def test_a_damaged_decision_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "number-0.json").write_text(text)
    with pytest.raises(OutputError, match=r"number-0\.json is damaged \(.*\); run its stage again with --force"):
        run_rounds(only(Round("plan", square, Square, by_all=True), 1), runner(tmp_path))


def test_a_round_may_run_in_this_thread(tmp_path: Path) -> None:
    def work(task: Number, meter: Meter) -> Square:
        meter.advance(1)
        return Square(threading.get_ident())

    results = run_rounds(only(Round("threads", work, Square, here=True)), runner(tmp_path))
    assert [result.value for result in results] == [threading.get_ident()] * 10
    assert len(notes(tmp_path)) == 10


def test_the_first_of_several_decisions_is_kept(tmp_path: Path) -> None:
    first, second = (
        Round("plan", lambda task, tick, value=value: Square(value), Square, by_all=True) for value in (3, 4)
    )
    tasks = runner(tmp_path)
    slow = only(second, 1)
    pending = next(slow)  # this process checked before the other one decided
    assert tasks.notes.results(pending) == {}
    assert run_rounds(only(first, 1), tasks) == [Square(3)]
    assert list(tasks.perform(pending, pending.tasks).values()) == [Square(3)]
    assert run_rounds(only(second, 1), tasks) == [Square(3)]


def double(task: Number, tick: Tick) -> Square:
    return Square(2 * task.number)


DOUBLES = Round("doubles", double, Square)


def two_rounds() -> Rounds[int]:
    """Squares three numbers, then doubles as many numbers as the squares add up to."""
    squares = yield from SQUARES.run(numbers(3))
    doubles = yield from DOUBLES.run(Number(100 + number) for number in range(sum(each.value for each in squares)))
    return len(doubles)


def test_a_share_does_every_nth_task_once_earlier_rounds_are_done(tmp_path: Path) -> None:
    tasks = runner(tmp_path)
    with pytest.raises(OutputError, match=r"3 of 3 squares tasks are not finished.*--round squares"):
        run_share(two_rounds(), tasks, Share("doubles", 0, 2))
    assert run_share(two_rounds(), tasks, Share("squares", 1, 2))[0] == 1
    assert notes(tmp_path) == ["number-1.json"]
    assert run_share(two_rounds(), tasks, Share("squares", 0, 2))[0] == 2
    ran, state = run_share(two_rounds(), tasks, Share("doubles", 0, 2))
    assert ran == 3
    assert state.tasks == (
        ("number-100", True),
        ("number-101", False),
        ("number-102", True),
        ("number-103", False),
        ("number-104", True),
    )
    assert run_share(two_rounds(), tasks, Share("doubles", 0, 2))[0] == 0
    assert run_rounds(two_rounds(), tasks) == 5


def test_rounds_are_listed_as_far_as_they_are_known(tmp_path: Path) -> None:
    declared = (SQUARES, DOUBLES)

    def listed() -> list[RoundState]:
        return list_rounds(declared, two_rounds(), TaskNotes(tmp_path / "notes"))

    assert listed() == [
        RoundState("squares", (("number-0", False), ("number-1", False), ("number-2", False))),
        RoundState("doubles", None),
    ]
    assert not (tmp_path / "notes").exists()
    run_share(two_rounds(), runner(tmp_path / "notes"), Share("squares", 0, 1))
    state = listed()[1]
    assert (state.done, len(state.tasks or ())) == (0, 5)
    run_rounds(two_rounds(), runner(tmp_path / "notes"))
    assert [(state.round, state.done) for state in listed()] == [("squares", 3), ("doubles", 5)]


def test_a_generator_is_not_resumed_after_its_last_round_is_listed(tmp_path: Path) -> None:
    def rounds() -> Rounds[None]:
        yield from SQUARES.run(numbers(1))
        pytest.fail("the results of the last round were used")

    run_share(rounds(), runner(tmp_path), Share("squares", 0, 1))
    assert list_rounds((SQUARES,), rounds(), TaskNotes(tmp_path))[0].done == 1
