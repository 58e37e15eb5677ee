from __future__ import annotations

import stat
from pathlib import Path

import pytest

from nmt_prep.cleaning.rule import Bounds, Context, Pairs, Rule
from nmt_prep.cleaning.rules import make_rules
from nmt_prep.config import Languages
from nmt_prep.errors import CleaningError
from nmt_prep.sides import Side
from tests.cleaning.pairs import pairs

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


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("head -n 1", "head -n 1 wrote 1 lines for 2 pairs; it must write a line for each"),
        ("sh -c 'echo wrong >&2; exit 3'", "sh -c 'echo wrong >&2; exit 3' ended with status 3: wrong"),
        ("sed s/.*/maybe/", "sed 's/.*/maybe/' wrote 'maybe' in line 1; each line must be 0 or 1; for other numbers"),
        ("sed s/.*/2/", "sed 's/.*/2/' wrote '2' in line 1; each line must be 0 or 1"),
        ("sed s/.*/nan/", "sed 's/.*/nan/' wrote 'nan' in line 1"),
    ],
)
def test_a_failure_or_wrong_output_is_an_error(directory: Path, command: str, message: str) -> None:
    with pytest.raises(CleaningError) as error:
        rule(directory, command=command).values(pairs(["a", "b"], ["x", "y"]))
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("./equals.py",), "program: there is no program ./equals.py in "),
        (("no-such-program",), "program: there is no program no-such-program on the PATH"),
        ((), "program.command: found an empty list; allowed: a list of words"),
    ],
)
def test_a_missing_program_is_an_error_before_any_work(directory: Path, command: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=r"^program") as error:
        rule(directory, command=command)
    assert str(error.value).startswith(message)
