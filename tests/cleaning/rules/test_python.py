from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.base.errors import CleaningError
from nmt_prep.base.sides import Side
from nmt_prep.cleaning.rule import YES_OR_NO, Bounds, Context, Pairs, Rule
from nmt_prep.cleaning.rules import make_rules
from nmt_prep.config import Languages
from tests.cleaning.pairs import pairs

MODULE = """
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from helper import SHORT

looks_fine = lambda source, target: pc.less(pc.utf8_length(source), SHORT)
length = lambda source: pc.utf8_length(source).to_numpy()
spoken = lambda source, target, languages: np.full(len(source), languages.target == "zh")
chunked = lambda **text: pa.chunked_array([[True] * len(text["source"])])
short = lambda source, target: [True]
square = lambda source, target: np.ones((2, 2))
words = lambda source, target: source
nulls = lambda source, target: pa.array([None] * len(source), pa.bool_())
half = lambda source: np.full(len(source), 0.5)
gap = lambda source, target: pa.array([1, None])
ragged = lambda source, target: [[1], [1, 2]]
unknown = lambda source: np.array([0.5, np.nan])
strange = lambda lines: lines
number = 3

def fails(source, target):
    raise RuntimeError("oh no")

def leaves(source, target):
    raise SystemExit(3)
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "my_rules.py").write_text(MODULE)
    (tmp_path / "helper.py").write_text("SHORT = 4\n")
    return tmp_path


def rules(directory: Path, spec: object, sides: tuple[Side, ...] = ("source", "target")) -> tuple[Rule[object], ...]:
    return make_rules({"python": spec}, Context(Languages(source="en", target="zh"), sides, directory))


def test_a_function_beside_the_config_says_which_pairs_pass(directory: Path) -> None:
    (rule,) = rules(directory, "my_rules:looks_fine")
    assert rule.values(pairs(["abc", "abcd"], ["x", "y"])).tolist() == [[1.0, 0.0]]
    assert (rule.columns, rule.bounds, rule.edges) == (("pair",), (Bounds(low=1.0),), YES_OR_NO)
    assert rule.files == {"python my_rules:looks_fine": directory / "my_rules.py"}


def test_a_function_of_one_side_may_return_numbers_with_bounds(directory: Path) -> None:
    (rule,) = rules(directory, {"function": "my_rules:length", "min": 2, "max": 3})
    assert rule.values(pairs(["abc", "abcd"], ["x", "y"])).tolist() == [[3.0, 4.0]]
    assert (rule.columns, rule.bounds) == (("source",), (Bounds(2.0, 3.0),))
    assert (rule.edges[0], rule.edges[-1], len(rule.edges)) == (0.0, 5.0, 21)


def test_a_function_may_ask_for_the_languages_and_return_any_kind_of_array(directory: Path) -> None:
    for name in ("spoken", "chunked"):
        (rule,) = rules(directory, f"my_rules:{name}")
        assert rule.values(pairs(["a", "b"], ["x", "y"])).tolist() == [[1.0, 1.0]]


def test_corpora_without_a_side_that_a_function_takes_are_cleaned_without_it(directory: Path) -> None:
    assert rules(directory, "my_rules:looks_fine", ("target",)) == ()
    assert rules(directory, {"function": "my_rules:length", "max": 9}, ("target",)) == ()
    (rule,) = rules(directory, {"function": "my_rules:length", "max": 9}, ("source",))
    only = Pairs({"source": pairs(["ab"], ["x"]).arrow("source")})
    assert rule.values(only).tolist() == [[2.0]]


def test_a_changed_file_is_loaded_again(directory: Path) -> None:
    rules(directory, "my_rules:looks_fine")
    (directory / "my_rules.py").write_text("def looks_fine(source, target):\n    return [True] * len(source)\n")
    (rule,) = rules(directory, "my_rules:looks_fine")
    assert rule.values(pairs(["abcd"], ["x"])).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("my_rules:fails", "my_rules:fails failed: RuntimeError: oh no"),
        ("my_rules:short", "my_rules:short returned 1 values for 2 pairs; return one value for each pair"),
        ("my_rules:square", "my_rules:square returned an array of the shape (2, 2) for 2 pairs; return one value"),
        ("my_rules:words", "my_rules:words returned values of type object; return booleans or numbers"),
        ("my_rules:nulls", "my_rules:nulls returned 2 nulls; return a value for each pair"),
        ("my_rules:ragged", "my_rules:ragged returned no array: "),
        ("my_rules:leaves", "my_rules:leaves failed: SystemExit: 3"),
        ({"function": "my_rules:gap", "min": 0}, "my_rules:gap returned 1 nulls; return a value for each pair"),
        ({"function": "my_rules:unknown", "min": 0}, "my_rules:unknown returned NaN for 'b'; return a number for each"),
        ("my_rules:half", "my_rules:half returned numbers, such as 0.5; give the rule min or max"),
    ],
)
def test_a_wrong_result_is_an_error(directory: Path, spec: object, message: str) -> None:
    (rule,) = rules(directory, spec)
    with pytest.raises(CleaningError) as error:
        rule.values(pairs(["a", "b"], ["x", "y"]))
    assert str(error.value).startswith(message)


def test_an_error_names_the_line_of_the_function_that_called_a_library(directory: Path) -> None:
    (directory / "my_rules.py").write_text("import json\n\n\ndef parses(source):\n    return json.loads('[')\n")
    (rule,) = rules(directory, "my_rules:parses")
    with pytest.raises(CleaningError) as error:
        rule.values(pairs(["a"], ["x"]))
    assert str(error.value).startswith("my_rules:parses failed: JSONDecodeError: Expecting value: ")
    assert str(error.value).endswith(f" ({directory / 'my_rules.py'}, line 5)")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("my_rule:looks_fine", "python: there is no module my_rule, neither beside the config in"),
        ("my_rules:looks", "python: my_rules has no function looks"),
        ("my_rules:", "python: my_rules has no function (none is named after the colon)"),
        ("my_rules:number", "python: my_rules has no function number"),
        ("my_rules:strange", "python: my_rules:strange must take arguments named source and target, or one of them"),
        ("looks_fine", "python: looks_fine is no entry point of the group nmt_prep.rules"),
        (
            "broken:f",
            "python: cannot import broken: ZeroDivisionError: division by zero ({directory}/broken.py, line 1)",
        ),
        ("leaving:f", "python: cannot import leaving: SystemExit: 4 ({directory}/leaving.py, line 1)"),
        ("needy:f", "python: cannot import needy: No module named 'no_such_module'"),
        ({"function": "my_rules:length", "min": 3, "max": 2}, "python: min is greater than max"),
        ({"min": 3}, "python.function: this key is required"),
    ],
)
def test_wrong_names_and_signatures_are_errors_before_any_work(directory: Path, spec: object, message: str) -> None:
    (directory / "broken.py").write_text("1 / 0\n")
    (directory / "leaving.py").write_text("raise SystemExit(4)\n")
    (directory / "needy.py").write_text("import no_such_module\n")
    with pytest.raises(ValueError, match=r"^python") as error:
        rules(directory, spec)
    assert str(error.value).startswith(message.replace("{directory}", str(directory)))
