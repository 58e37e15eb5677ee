"""The interface of rules: bounds, options per side, batches."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.rule import Bounds, Context, Pairs, PerSide, Rule, SideRule, Values
from nmt_prep.cleaning.rules import RULES, make_rules
from nmt_prep.config import Languages, Section
from tests.cleaning.pairs import pairs
from tests.cleaning.rules.values import rule_of


def test_threshold_is_the_bound_that_is_violated() -> None:
    assert [Bounds(1, 2).threshold(value) for value in (0, 3)] == [1, 2]
    assert [Bounds(high=2, below=True).threshold(2), Bounds(high=2).threshold(math.nan)] == [2, 2]


def test_option_per_side() -> None:
    assert PerSide[int].model_validate(3) == PerSide[int](source=3, target=3)
    assert PerSide[int].model_validate({"source": 1, "target": 2}).of("target") == 2


def test_sides_and_scores_must_be_equally_long() -> None:
    with pytest.raises(ValueError, match=r"equally long, but have \[1, 2\] lines"):
        pairs(["a"], ["b", "c"])
    with pytest.raises(ValueError, match="equally long"):
        Pairs({"source": pa.array(["a"])}, {"score": np.zeros(2)})


def test_pairs_share_results() -> None:
    batch = pairs(["a"], ["b"])
    calls: list[int] = []
    for _ in range(2):
        batch.keep("key", lambda: calls.append(1))
    assert calls == [1]
    assert batch.lines("source") is batch.lines("source")


CONTEXT = Context(Languages(source="en", target="de"), ("source", "target"), Path())


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        ({"length": {"min": {"source": 1}}}, "length.min.target: this key is required"),
        ({"length_ratio": {"factors": "auto", "unit": "word"}}, "length_ratio: factors: auto needs the unit char"),
        ({"script": {"script": "Latim"}}, "script: there is no script 'Latim'"),
        ({"noise": {"kinds": ["noise"]}}, "noise.kinds.0: found the text 'noise'"),
        ({"repetition": {"min": 5, "max": 4}}, "repetition: min is greater than max"),
        ({"length": {"min": 5, "max": 3}}, "length: min 5 is greater than max 3, so no pair passes"),
        (
            {"length/b": {"min": {"source": 1, "target": 7.5}, "max": 7}},
            "length/b: min 7.5 is greater than max 7, so no pair passes",
        ),
        ({"regex": {"a": "("}}, "regex.patterns.a.pattern: found the text '('"),
        ({"regex": {"a": "(" * 5000 + ")" * 5000}}, "regex.patterns.a.pattern: found the text '(((((("),
        ({"copy": {"min_letters": 2**63}}, "copy.min_letters: found an integer of more than 64 bits"),
        ({"length": {"max": {"source": 10**400, "target": 9}}}, "length.max.source: found an integer of more than 64"),
        ({"repetition": {"times": -(2**63) - 1}}, "repetition.times: found an integer of more than 64 bits"),
        ({"script": {"script": ["Latin", 10**99]}}, "script.script.1: found an integer of more than 64 bits"),
        ({"score": {"laser": {}}}, "a score needs min, max, or both"),
        ({"language": {"margin": 2, "unknown": "keep"}}, "language.margin: "),
        ({"language": {"unknown": "maybe"}}, "language.unknown: "),
        ({"translation": {"min": "high"}}, "translation.min: "),
        ({"translation": {"least": 3}}, "translation.least: "),
        ({"translation": {"pairs": 10}}, "translation.pairs: "),
        ({"translation": {}}, "it needs a model, which nmt-prep align --save writes, and a number for min"),
        ({"top": {"score": "a"}}, "top.keep: this key is required: a share such as 80% or 0.8: how many of the pairs"),
        ({"top": {"score": "a", "keep": 0}}, "top.keep: found the number 0; allowed: a share such as 80% or 0.8"),
        ({"top": {"score": "a", "keep": "120%"}}, "top.keep: found the number 1.2; allowed: a share such as 80%"),
        ({"top": {"score": "a", "keep": 0.5, "kept": 1}}, "top.kept: unknown key; did you mean 'keep'?"),
        ({"top": "80%"}, "top: "),
        ({"word_list": {"source": "no", "target": "no"}}, "word_list: the word list no cannot be read: No such file"),
    ],
)
def test_wrong_options_are_named(specs: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as error:
        make_rules(specs, CONTEXT)
    assert message in str(error.value)


def test_all_problems_are_listed() -> None:
    with pytest.raises(ValueError, match=r"\w") as error:
        make_rules({"a": {}, "length": {"b": 1, "c": 2}}, CONTEXT)
    assert [line.partition(":")[0] for line in str(error.value).splitlines()] == ["a", "length.b", "length.c"]


def test_rules_that_are_off_are_left_out_and_so_are_comparisons_of_one_side() -> None:
    rules = make_rules({"html": True, "length": False, "copy": "off", "noise": None}, CONTEXT)
    assert [rule.key for rule in rules] == ["html", "noise"]
    one = Context(Languages(source="en", target="de"), ("target",), Path())
    rules = make_rules({"length": True, "copy": True, "brackets": True}, one)
    assert [(rule.key, rule.columns) for rule in rules] == [("length", ("target",)), ("brackets", ("target",))]


def needs_more(rule: type[Rule[Any]]) -> bool:
    """Tells whether a rule needs options, or a file of a model."""
    fields = rule.options.model_fields
    return "model" in fields or any(field.is_required() for field in fields.values())


def test_repeated_lines_are_judged_once() -> None:
    judged: list[int] = []

    class Counted(SideRule[Section]):
        edges = (0.0, 1.0)

        def line_values(self, pairs: Pairs, side: Side) -> Values:
            judged.append(len(pairs))
            return np.array([float(line) for line in pairs.arrow(side).to_pylist()])

    rule = Counted(Section(), CONTEXT)
    batch = pairs(["1", "2", "1", "1"], ["5", "6", "7", "8"])
    assert rule.values(batch).tolist() == [[1, 2, 1, 1], [5, 6, 7, 8]]
    assert rule.values(batch).tolist() == [[1, 2, 1, 1], [5, 6, 7, 8]]
    assert judged == [2, 4, 2, 4]


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if not needs_more(rule)])
def test_edges_and_values_of_every_rule(name: str) -> None:
    rule = rule_of(name)
    source, target = ["", "a", "I SAW 3 men.", "a"], ["Ich sah 3 Männer.", "b", "Ich sah 3 Männer.", "b"]
    alone = [rule.values(pairs([one], [other])) for one, other in zip(source, target, strict=True)]
    np.testing.assert_array_equal(rule.values(pairs(source, target)), np.concatenate(alone, axis=1))
    assert list(rule.edges) == sorted(set(rule.edges))
    assert len(rule.bounds) == len(rule.columns)
    values = rule.values(pairs(["", "a", "I saw 3 men."], ["", "b", "Ich sah 3 Männer."]))
    assert values.shape == (len(rule.columns), 3)
    assert values.dtype == np.float64
    assert not np.isnan(values).any()
    assert rule.values(pairs([], [])).shape == (len(rule.columns), 0)
