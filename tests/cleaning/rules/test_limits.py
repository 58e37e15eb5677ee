"""Limits of tokens, as clean-corpus-n.perl applies them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_prep.base.errors import ConfigError
from nmt_prep.config.vocab import steps_of_tokens
from tests.cleaning.rules.values import passed, rule_of, values
from tests.stages.runs import config_of

INF = float("inf")


def test_literal_values() -> None:
    rule = rule_of("limits/tokens", {"words": {"source": ("lowercase",)}})
    assert rule.columns == ("source", "target", "ratio", "longest source", "longest target")
    pairs = [("a b", "c\u3000d e"), ("| a|b |", "x"), ("", "x"), ("a\x1cb\x85c", "İİ"), (" \t", "|")]
    assert values(rule, *pairs) == [
        [2, 3, 1.5, 1, 1],
        [1, 1, 1, 2, 1],
        [0, 1, INF, 0, 1],
        [2, 1, 2, 3, 2],
        [0, 0, 1, 0, 0],
    ]
    factored = rule_of("limits/tokens", {"factors": True})
    assert values(factored, ("ab|N|x c|V", "|")) == [[2, 1, 2, 2, 0]]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [True, True, True, False]),  # a ratio of 9 stays
        ({"ratio": 8.99}, [True, True, False, False]),
        ({"ratio": None, "max": 2}, [True, True, False, False]),
        ({"min": 2}, [False, True, False, False]),
        ({"longest": 2}, [True, False, True, False]),
    ],
)
def test_decisions(options: dict[str, Any], expected: list[bool]) -> None:
    pairs = [("a", "b"), ("a bcd", "e f"), ("a", "b c d e f g h i j"), ("a", "b c d e f g h i j k")]
    assert passed(rule_of("limits/tokens", options), *pairs) == expected


@pytest.mark.parametrize(
    ("name", "folder", "options"),
    [
        ("pairs-80", "pairs.x pairs.y", {"max": 80}),
        ("pairs-100-r1.5", "pairs.x pairs.y", {"max": 100, "ratio": 1.5}),
        ("pairs-3-20", "pairs.x pairs.y", {"min": 3, "max": 20, "ratio": 3}),
        ("pairs-ignore", "pairs.x pairs.y", {"max": 50, "ratio": None, "longest": 20}),
        ("m30k-15-r1.3", "m30k.en m30k.de", {"min": 4, "max": 15, "ratio": 1.3}),
        ("w22-r9", "w22.en w22.zh", {"max": 40}),
        ("factored", "factored.x factored.y", {"max": 80, "factors": True}),
    ],
)
def test_the_lines_that_the_original_retains(shared: Path, name: str, folder: str, options: dict[str, Any]) -> None:
    recipes = shared / "golden" / "recipes"
    first, second = ((recipes / "in" / file).read_text("utf-8").split("\n")[:-1] for file in folder.split())
    kept = np.flatnonzero(passed(rule_of("limits/tokens", options), *zip(first, second, strict=True))) + 1
    assert kept.tolist() == [*map(int, (recipes / "clean" / f"{name}.lines").read_text().split())]


@pytest.mark.parametrize(
    ("vocab", "problem"),
    [
        ({"kind": "subword_nmt", "words": [{"truecase": "train"}, "moses"]}, "put it after the other steps"),
        ({"from": "x.words.json"}, "x.words.json has its own steps"),
    ],
)
def test_tokens_that_are_not_known(vocab: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        config_of(Path(), {"name": "x", "url": "x.tsv"}, limits={"tokens": {}}, vocab=vocab)


def test_steps_that_only_change_characters_are_left_out() -> None:
    moses: tuple[Any, ...] = ("moses", {"pipes": "delete"})
    assert steps_of_tokens((*moses, "lowercase", {"truecase": "train"})) == moses
    assert steps_of_tokens(("lowercase",)) == ()
    assert steps_of_tokens(("lowercase", "moses")) == ("lowercase", "moses")
