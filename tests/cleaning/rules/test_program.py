from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nmt_prep.base.errors import CleaningError
from nmt_prep.base.runtime import end_children
from nmt_prep.base.sides import Side
from nmt_prep.cleaning.rule import Bounds, Context, Pairs, Rule
from nmt_prep.cleaning.rules import make_rules
from nmt_prep.config import Languages
from tests.cleaning.pairs import pairs
from tests.guard import must_end

EQUAL = """#!/usr/bin/env python3
import sys
for line in sys.stdin:
    source, target = line.rstrip("\\n").split("\\t")
    print(int(source == target))
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    program = tmp_path / "equal.py"
    program.write_text(EQUAL)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def rule(directory: Path, sides: tuple[Side, ...] = ("source", "target"), **spec: object) -> Rule[object]:
    (made,) = make_rules({"program": spec}, Context(Languages(source="en", target="zh"), sides, directory))
    return made


def test_a_program_reads_pairs_and_writes_a_line_for_each(directory: Path) -> None:
    made = rule(directory, command=("./equal.py",))
    assert made.values(pairs(["a b", "c\td", "é"], ["a b", "c d", "e"])).tolist() == [[1.0, 1.0, 0.0]]
    assert (made.columns, made.bounds) == (("pair",), (Bounds(low=1.0),))
    assert made.files == {"program ./equal.py": directory / "equal.py"}


def test_a_program_may_write_numbers_and_is_found_on_the_path(directory: Path) -> None:
    made = rule(directory, command="awk -F '\\t' '{ print length($1) / 2 }'", min=1, max=2)
    assert made.values(pairs(["ab", "a"], ["x", "y"])).tolist() == [[1.0, 0.5]]
    assert made.bounds == (Bounds(1.0, 2.0),)


def test_a_corpus_of_one_side_is_sent_as_lines(directory: Path) -> None:
    made = rule(directory, ("target",), command="awk '{ print NF }'", min=1)
    assert made.values(Pairs({"target": pairs(["a"], ["b c"]).arrow("target")})).tolist() == [[2.0]]


def test_a_program_beside_a_config_in_the_current_directory_is_found(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(directory)
    assert rule(Path(), command=("./equal.py",)).values(pairs(["a"], ["a"])).tolist() == [[1.0]]


def test_more_than_a_pipe_holds_goes_through_and_need_not_be_read(directory: Path) -> None:
    sides = [f"{number} " + "abcdefgh" * 10 for number in range(20_000)]
    assert rule(directory, command="sed s/.*/1/").values(pairs(sides, sides)).tolist() == [[1.0] * 20_000]
    made = rule(directory, command="sh -c 'exec <&-; seq 20000'", max=5)
    assert sorted(made.values(pairs(sides, sides))[0].tolist())[:3] == [1.0, 2.0, 3.0]


def test_messages_are_not_kept_in_full(directory: Path) -> None:
    made = rule(directory, command="sh -c 'head -c 3000000 /dev/zero >&2; echo the end >&2; exit 3'")
    with pytest.raises(CleaningError) as error:
        made.values(pairs(["a"], ["b"]))
    assert str(error.value).endswith("the end")
    assert len(str(error.value)) < 500_000


def test_children_of_a_program_may_hold_its_output_open(directory: Path) -> None:
    made = rule(directory, command="sh -c 'sleep 3600 & echo $! >pid; sed s/.*/1/'")
    try:
        with must_end(60):
            assert made.values(pairs(["a", "b"], ["x", "y"])).tolist() == [[1.0, 1.0]]
    finally:
        os.kill(int((directory / "pid").read_text()), signal.SIGKILL)


@pytest.mark.parametrize(
    ("waits", "end", "message"),
    [
        ("sleep 3600", end_children, "ended with status -9"),
        ("yes; sleep 3600", None, r"bytes or more for 1 lines; it must write a line for each$"),
        ("yes >&2; sleep 3600", None, r"bytes or more to standard error for 1 lines; it may write 67,108,864: let it"),
    ],
)
def test_a_program_that_does_not_end_is_ended(
    directory: Path, waits: str, end: Callable[[], None] | None, message: str
) -> None:
    """Either from another thread, or because its output or its messages are too long."""
    os.mkfifo(directory / "alive")
    made = rule(directory, command=f"sh -c 'exec 9>alive; echo go >&9; {waits}'")
    with must_end(60), ThreadPoolExecutor(1) as pool:
        failing = pool.submit(made.values, pairs(["a"], ["b"]))
        with (directory / "alive").open() as alive:
            assert alive.readline() == "go\n"
            if end:
                end()
            assert alive.read() == ""  # nobody holds the other end open
        with pytest.raises(CleaningError, match=message):
            failing.result()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("head -n 1", "head -n 1 wrote 1 lines for 2 lines, at the line 'b\\ty'; it must write a line for each"),
        ("sh -c 'echo wrong >&2; exit 3'", "sh -c 'echo wrong >&2; exit 3' ended with status 3: wrong"),
        ("sed s/.*/maybe/", "sed 's/.*/maybe/' wrote 'maybe' for 'a\\tx'; each answer must be a number"),
        ("sed s/.*/2/", "sed 's/.*/2/' returned numbers, such as 2; give the rule min or max"),
        ("sed s/.*/nan/", "sed 's/.*/nan/' wrote 'nan' for 'a\\tx'"),
    ],
)
def test_a_failure_or_wrong_output_is_an_error(directory: Path, command: str, message: str) -> None:
    with pytest.raises(CleaningError) as error:
        rule(directory, command=command).values(pairs(["a", "b"], ["x", "y"]))
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("./equals.py",), "program: there is no program './equals.py' in "),
        (("no-such-program",), "program: there is no program 'no-such-program' on the PATH"),
        ((), "program.command: found an empty list; allowed: a list of words"),
        (("cat", "\0"), "program.command.1: found the text '\\x00'; allowed: a list of words"),
    ],
)
def test_a_missing_program_is_an_error_before_any_work(directory: Path, command: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=r"^program") as error:
        rule(directory, command=command)
    assert str(error.value).startswith(message)
