from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from nmt_prep.base.errors import ComputedError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config import ComputedValue, Languages
from nmt_prep.text.computed import Column, close_columns

LENGTH = """
import sys
with open("calls", "a") as calls:
    print("start", file=calls)
for line in sys.stdin:
    with open("calls", "a") as calls:
        print(repr(line.rstrip("\\n")), file=calls)
    print(len(line) - 1)
"""

MARKED = """
import os, sys
batch = []
for line in sys.stdin:
    if line.strip("\\n"):
        batch.append(line.strip("\\n"))
        continue
    with open("sizes", "a") as sizes:
        print(*map(len, batch), file=sizes)
    for text in batch:
        print(text.upper(), text.lower(), sep="\\t")
    print()
    batch.clear()
"""


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NMT_PREP_CACHE", str(tmp_path / "cache"))


def column(directory: Path, code: str, sides: tuple[Side, ...] = SIDES, **keys: Any) -> Column:
    (directory / "program.py").write_text(code)
    value = ComputedValue(program=(sys.executable, "-S", "program.py"), **keys)
    return Column("v", value, Languages(source="en", target="de"), sides, directory)


def pairs(source: list[str], target: list[str]) -> dict[Side, pa.Array]:
    return {"source": pa.array(source), "target": pa.array(target)}


def calls(directory: Path) -> list[str]:
    return (directory / "calls").read_text().splitlines()


def test_each_distinct_text_is_computed_once(tmp_path: Path) -> None:
    made, ticks = column(tmp_path, LENGTH), list[int]()
    assert made.numbers(pairs(["a", "bc", "a", "d\te"], ["x", "y", "x", "é"]), ticks.append).tolist() == [3, 4, 3, 5]
    assert ticks == [3, 1]  # what is computed is reported at once
    assert calls(tmp_path) == ["start", "'a\\tx'", "'bc\\ty'", "'d e\\té'"]
    assert made.numbers(pairs(["f", "bc"], ["x", "y"])).tolist() == [3, 4]
    assert calls(tmp_path)[4:] == ["'f\\tx'"]  # it was kept running
    close_columns()
    again = column(tmp_path, LENGTH, workers=3, batch=1)
    known, new = again.count(pairs(["a", "g", "g"], ["x", "x", "x"]))
    assert (len(known), len(new), again.stored) == (2, 1, 4)
    assert again.numbers(pairs(["a"], ["x"])).tolist() == [3]
    assert len(calls(tmp_path)) == 5
    changed = (column(tmp_path, LENGTH, version=2), column(tmp_path, LENGTH + "#"))
    assert [each.count(pairs(["a"], ["x"]))[1].shape for each in changed] == [(1, 2), (1, 2)]


def test_sides_and_candidates(tmp_path: Path) -> None:
    made = column(tmp_path, MARKED, end="mark", output="text", input="target", candidates=2, batch=2, by_length=True)
    text = pairs(["x"] * 4, ["Ccc", "A", "Bbbb", "Dd"])
    assert made.texts(text).to_pylist() == ["CCC\tccc", "A\ta", "BBBB\tbbbb", "DD\tdd"]
    assert (tmp_path / "sizes").read_text().split("\n") == ["1 2", "3 4", ""]
    assert (made.label, made.program.version) == ("target", "")
    assert column(tmp_path, MARKED, ("source",), input="target").sides == ()
    assert column(tmp_path, MARKED, ("source",)).sides == ()
    assert column(tmp_path, MARKED, ("source",), input="any").sides == ("source",)


def test_many_threads_compute_a_text_once(tmp_path: Path) -> None:
    made = column(tmp_path, LENGTH, batch=3, workers=2)
    text = pairs([str(number) for number in range(20)], ["x"] * 20)
    with ThreadPoolExecutor(4) as pool:
        results = [future.result() for future in [pool.submit(made.numbers, text) for _ in range(4)]]
    assert all(result.tolist() == [3] * 10 + [4] * 10 for result in results)
    assert sorted(calls(tmp_path))[:20] == sorted(f"'{number}\\tx'" for number in range(20))


def test_devices_are_shared_by_the_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    code = "import os, sys\nfor line in sys.stdin: print(os.environ['CUDA_VISIBLE_DEVICES'])"
    made = column(tmp_path, code, workers=2, batch=1)
    found = made.numbers(pairs([str(number) for number in range(8)], ["x"] * 8)).tolist()
    assert {*found} <= {4.0, 7.0}


def answering(code: str) -> str:
    return f"import os, sys, time\nfor number, line in enumerate(sys.stdin):\n    line = line[:-1]\n    {code}\n"


@pytest.mark.parametrize(
    ("code", "keys", "message"),
    [
        ("print('x')", {}, r"wrote 'x' for 'a\\tx'; each answer must be a number"),
        ("print('0.5\\0')", {}, r"wrote '0.5\\x00' for 'a\\tx'; each answer must be a number"),
        ("print('nan')", {}, r"wrote 'nan' for 'a\\tx'; each answer must be a number"),
        ("print(1); print(1); time.sleep(0.2)", {}, r"wrote more than .* after the line 'c\\tz'"),
        ("print('1_0')", {}, r"wrote '1_0' for 'a\\tx'; each answer must be a number"),
        ("print(1) if number < 2 else None", {"seconds": 0.5}, r"wrote 2 of 3 lines, .* at the line 'c\\tz'"),
        ("sys.stdout.buffer.write(b'\\xff\\n')", {}, r"line 1 is not UTF-8, its answer to 'a\\tx'"),
        ("print(1) if number < 1 else sys.exit(4)", {"restarts": 1}, r"ended after 1 of 3 lines, at the line 'b"),
        ("print('9' * 20_000_000)", {}, r"wrote [\d,]+ bytes or more for 3 lines"),
        ("print(1)", {"end": "mark", "seconds": 1}, r"wrote more than 3 lines for as many lines \(then '1'\)"),
        ("print(1)", {"echo": True}, r"wrote '1' for 'a\\tx'; each answer must be followed by a tab and its"),
        ("print(1, 'b\\ty', sep='\\t')", {"echo": True}, r"wrote '1\\tb\\ty' for 'a\\tx'"),
        ("print('a', 'b', sep='\\t')", {"output": "text"}, r"wrote 'a\\tb' for 'a\\tx'; each answer must be a text"),
        ("print('a')", {"output": "text", "candidates": 2}, r"wrote 'a' for 'a\\tx'; each answer must be 2 texts"),
        ("print(1) if number < 2 else None", {"end": "exit"}, r"wrote 2 lines for 3 lines, at the line 'c\\tz'"),
        (
            "number < 2 or os.close(1) or time.sleep(9)",
            {"end": "exit", "seconds": 0.3},
            "it must end when its input ends",
        ),
    ],
)
def test_wrong_answers_name_the_text(tmp_path: Path, code: str, keys: dict[str, Any], message: str) -> None:
    made = column(tmp_path, answering(code), **keys)
    some = 10 if "output" in keys else 3  # of fewer texts, all may have another number of candidates than promised
    text = pairs([*"abcdefghij"[:some]], [*"xyzuvwrstq"[:some]])
    with pytest.raises(ComputedError, match=message):
        made.texts(text) if "output" in keys else made.numbers(text)
    assert made.count(text)[1].shape == (some, 2)  # nothing was stored
    close_columns()


def test_a_program_that_dies_is_started_again(tmp_path: Path) -> None:
    code = LENGTH.replace(
        "for line in sys.stdin:", "for number, line in enumerate(sys.stdin):\n    number > 2 and exit()"
    )
    made = column(tmp_path, code, batch=2, restarts=1)
    text = pairs(["a", "b", "c", "d", "e"], ["x"] * 5)
    assert made.numbers(text).tolist() == [3] * 5
    assert calls(tmp_path).count("start") == 2
    assert made.stored == 5


def test_values_of_a_program_that_wrote_too_much_are_not_kept(tmp_path: Path) -> None:
    code = answering("print(1)\n    if number == 3: print(1)")
    made = column(tmp_path, code, batch=2)
    with pytest.raises(ComputedError, match="more"):
        made.numbers(pairs(list("abcdef"), ["x"] * 6))
    assert made.stored == 0  # the fourth text may have got the answer to the third one


def test_an_answer_after_the_last_one_is_noticed_when_the_input_ends(tmp_path: Path) -> None:
    made = column(tmp_path, "import sys\nfor line in sys.stdin: print(1)\nprint(2)")
    assert made.numbers(pairs(["a"], ["x"])).tolist() == [1]
    with pytest.raises(ComputedError, match=r"wrote more than it had lines to answer, after the line 'a\\tx'"):
        close_columns()
    assert made.stored == 0


FUNCTIONS = """
import numpy as np
import pyarrow.compute as pc
lengths = lambda source, target: pc.add(pc.utf8_length(source), pc.utf8_length(target))
both = lambda source, languages: [[each, languages.target] for each in source.to_pylist()]
broken = lambda source: ["a\\nb"] * len(source)
"""


def test_a_program_may_get_the_languages(tmp_path: Path) -> None:
    value = ComputedValue(program=("sh", "-c", "sed s/.*/{source}-{target}/"), output="text", end="exit")
    made = Column("v", value, Languages(source="en", target="de"), SIDES, tmp_path)
    assert made.texts(pairs(["a"], ["b"])).to_pylist() == ["en-de"]


def test_functions(tmp_path: Path) -> None:
    (tmp_path / "fn.py").write_text(FUNCTIONS)
    languages = Languages(source="en", target="de")

    def made(name: str, **keys: Any) -> Column:
        return Column("v", ComputedValue(python=f"fn:{name}", **keys), languages, SIDES, tmp_path)

    text = pairs(["ab", "c"], ["xyz", "x"])
    assert made("lengths").numbers(text).tolist() == [5, 2]
    assert made("both", output="text", candidates=2).texts(text).to_pylist() == ["ab\tde", "c\tde"]
    with pytest.raises(ComputedError, match=r"fn:broken wrote 'a\\nb' for 'ab'; each answer must be on one line"):
        made("broken", output="text").texts(text)
    with pytest.raises(ValueError, match="fn:both takes source, but input is pair"):
        made("both", input="pair")
