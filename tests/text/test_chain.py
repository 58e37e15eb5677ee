"""Chains: the specs of steps, their order, counts, the way back, steps of other packages, and protected text."""

from __future__ import annotations

import os
import re
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pyarrow as pa
import pytest

from nmt_prep.base.errors import MissingPackageError, NmtPrepError, TokenizerError
from nmt_prep.text import line_program, steps
from nmt_prep.text.chain import Chain
from nmt_prep.text.step import Step, StepContext, StepOptions


class Reversed(Step[StepOptions]):
    options = StepOptions

    def __init__(self, options: StepOptions, context: StepContext) -> None:
        del options, context

    def apply(self, lines: pa.Array, threads: int = 1) -> pa.Array:
        del threads
        return pa.array([line[::-1] for line in lines.to_pylist()], pa.large_string())


@pytest.fixture
def context(tmp_path: Path) -> StepContext:
    (tmp_path / "prefixes").write_text("# a comment\nDr\nNo #NUMERIC_ONLY#\n\nDr #NUMERIC_ONLY#\n")
    (tmp_path / "model").write_text("Weg (2/3) weg (1)\nder (1/1)\n")
    (tmp_path / "patterns").write_text("\\d+/\\d+\n\n<\\S+>\n")
    return StepContext("de_AT", tmp_path)


MOSES = {"moses": {"prefixes": "prefixes"}}


def test_steps_are_applied_in_order_and_undone_in_reverse(context: StepContext) -> None:
    chain = Chain.of([{"pipes": "delete"}, MOSES, {"truecase": "model"}, "lowercase"], context)
    lines = pa.array(["Der Weg|.", "", "a"])
    assert chain.apply(lines, 2).lines.to_pylist() == ["der weg .", "", "a"]
    assert chain.apply(lines).altered == (1, 1, 1, 1)
    assert chain.undo(pa.array(["der weg . &quot; a &quot;"])).to_pylist() == ['Der weg. "A"']
    assert Chain.of(["lowercase", {"pipes": "delete"}], context).undo(pa.array(["A|b"])).to_pylist() == ["A|b"]
    assert sorted(chain.steps[1].files) == ["prefixes"]
    assert chain.apply(pa.array([], pa.string())) == (pa.array([], pa.large_string()), (0, 0, 0, 0), ((), (), (), ()))


def test_the_last_line_of_a_prefix_counts(context: StepContext) -> None:
    made = Chain.of([MOSES], context).apply(pa.array(["Dr. X Dr. 5 No. X No. 5 A. X"])).lines
    assert made.to_pylist() == ["Dr . X Dr. 5 No . X No. 5 A . X"]


def test_protected_text_stays_in_one_piece(context: StepContext) -> None:
    chain = Chain.of([{"moses": {"prefixes": "prefixes", "protected": "patterns", "skip_tags": True}}], context)
    lines = ["1/2/3 <b> 4/5, THISISPROTECTED000", "a/b", "<1/2 >", " \t"]
    assert chain.apply(pa.array(lines)).lines.to_pylist() == [
        "1/2 / 3 &lt;b&gt; 4/5 , 1/2",
        "a / b",
        "<1/2 >",
        " \t",
    ]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("mosses", "there is no step 'mosses'; did you mean 'moses'?"),
        ({"pipes": "keep"}, "pipes.change: found the text 'keep'; allowed: delete"),
        ({"lowercase": 5}, "lowercase: found 5; the step takes no single value"),
        ({"a": 1, "b": 2}, "{'a': 1, 'b': 2} is not a step; write a name, or one name and its options"),
        ({"truecase": "patterns"}, "patterns, line 1: not a line of a truecasing model"),
        ({"truecase": "absent"}, "absent: No such file or directory"),
        ({"truecase": "train"}, "truecase: train is for vocab.words, where a run learns a model; name a model"),
        ({"moses": {"prefixes": "latin"}}, "latin, line 2: not UTF-8; convert the file to UTF-8"),
        ({"moses": {"prefixes": "model", "protected": "open"}}, "open, line 1: not a regular expression: missing )"),
    ],
)
def test_wrong_steps(context: StepContext, spec: object, problem: str) -> None:
    (context.base_dir / "latin").write_bytes(b"a\n\xe9\n")
    (context.base_dir / "open").write_text("(\n")
    with pytest.raises(ValueError, match="there is no step 'none'") as caught:
        Chain.of([spec, "lowercase", "none"], context)
    assert problem in str(caught.value)


def test_prefixes_need_sacremoses_or_a_file(context: StepContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses._data_nonbreaking_prefixes", None)
    with pytest.raises(MissingPackageError, match=r"the option prefixes names a file.*\.\[moses\]"):
        Chain.of(["moses"], context)


def test_a_step_of_another_package(context: StepContext, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("reversed", f"{__name__}:Reversed", "nmt_prep.steps")
    monkeypatch.setattr(steps, "entry_points", lambda group: EntryPoints([entry]).select(group=group))
    chain = Chain.of(["lowercase", "reversed", {"pipes": "delete"}], context)
    assert chain.apply(pa.array(["A|b", "X"])) == (
        pa.array(["ba", "x"], pa.large_string()),
        (2, 1, 1),
        ((0, 1), (0,), (0,)),
    )


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (
            ["a"],
            "the step reversed returned no lines, or not as many as it got; it must return 1 lines as an Arrow array",
        ),
        (pa.array(["a"]), "the step reversed returned no lines"),
        (pa.array(["a", "b"], pa.large_string()), "the step reversed returned no lines"),
        (pa.array([None], pa.large_string()), "the step reversed returned no lines"),
        (pa.array(["a\nb"], pa.large_string()), "the step reversed made two lines of one; its lines must have no line"),
    ],
)
def test_what_a_step_returns_is_checked(
    context: StepContext, monkeypatch: pytest.MonkeyPatch, made: object, problem: str
) -> None:
    entry = EntryPoint("reversed", f"{__name__}:Reversed", "nmt_prep.steps")
    monkeypatch.setattr(steps, "entry_points", lambda group: EntryPoints([entry]).select(group=group))
    monkeypatch.setattr(Reversed, "apply", lambda *_: made)
    with pytest.raises(TokenizerError, match="^" + re.escape(problem)):
        Chain.of(["reversed"], context).apply(pa.array(["x"]))


CODE = """
def words(line): return line.split("-")
def breaks(line): return line + "\\n"
def fails(line): raise RuntimeError("no dictionary")
"""


COUNT = """
import sys
for number, line in enumerate(sys.stdin):
    print(number, line, end="")
"""


@pytest.mark.parametrize(
    ("function", "made"),
    [("words", ["a b", "", "c"]), ("breaks", "must return one line"), ("fails", "RuntimeError: no dictionary")],
)
def test_functions_of_lines(context: StepContext, function: str, made: list[str] | str) -> None:
    (context.base_dir / "segment.py").write_text(CODE)
    chain = Chain.of([{"python": f"segment:{function}"}], context)
    assert [*chain.steps[0].files.values()] == [context.base_dir / "segment.py"]
    if isinstance(made, list):
        assert chain.apply(pa.array(["a-b", "", "c"])) == (pa.array(made, pa.large_string()), (1,), ((0,),))
        return
    with pytest.raises(TokenizerError, match=made):
        chain.apply(pa.array(["a-b"]))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_program_is_kept_running(context: StepContext) -> None:
    (context.base_dir / "count.py").write_text(COUNT)
    chain = Chain.of([{"program": f"{sys.executable} -u count.py"}, "lowercase"], context)
    assert chain.apply(pa.array(["A\u2028", ""])) == (
        pa.array(["0 a\u2028", "1 "], pa.large_string()),
        (2, 1),
        ((0, 1), (0,)),
    )
    many = ["x" * 1000] * 3000  # more than pipes hold
    assert chain.apply(pa.array(many)).lines.to_pylist() == [f"{n} {line}" for n, line in enumerate(many, 2)]
    if (forked := os.fork()) == 0:
        os._exit(chain.apply(pa.array(["b"])).lines.to_pylist() != ["0 b"])
    assert os.waitpid(forked, 0)[1] == 0
    assert chain.apply(pa.array(["c"])).lines.to_pylist() == ["3002 c"]


def test_an_argument_longer_than_file_names(context: StepContext) -> None:
    chain = Chain.of([{"program": f"sed -u 's/a/{'b' * 300}/'"}], context)
    assert chain.apply(pa.array(["a"])).lines.to_pylist() == ["b" * 300]


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("absent", "there is no program 'absent' on the PATH"),
        ("sh -c 'read x; echo oh no >&2; exit 3'", "ended after 0 of 2 lines, at the line 'a': oh no"),
        ("sh -c 'while read x; do printf \"\\\\377\\\\n\"; done'", "line 1 is not UTF-8"),
        ("yes", "wrote more than 2 lines"),
        ("sort", "it must flush its output after each line"),
    ],
)
def test_wrong_programs(context: StepContext, command: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_program, "SILENT_SECONDS", 1.0)
    with pytest.raises((ValueError, NmtPrepError), match=problem):
        Chain.of([{"program": command}], context).apply(pa.array(["a", "b"]))


def test_words_of_rjieba(context: StepContext) -> None:
    pytest.importorskip("rjieba")
    made = Chain.of(["rjieba"], context).apply(pa.array(["我来到北京清华大学 abc", ""])).lines
    assert made.to_pylist() == ["我 来到 北京 清华大学   abc", ""]


def test_words_of_fugashi(context: StepContext) -> None:
    ipadic = pytest.importorskip("ipadic")
    pytest.importorskip("fugashi")
    made = Chain.of([{"fugashi": ipadic.MECAB_ARGS}], context).apply(pa.array(["東京は 晴れです。", ""])).lines
    assert made.to_pylist() == ["東京 は 晴れ です 。", ""]
