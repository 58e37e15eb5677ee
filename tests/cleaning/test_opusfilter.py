from __future__ import annotations

from typing import Any

import pytest

from nmt_prep.cleaning.opusfilter import opusfilter_rules
from nmt_prep.cleaning.rules import rule_problems
from nmt_prep.errors import ConfigError


def config_of(*filters: dict[str, Any]) -> dict[str, Any]:
    return {"steps": [{"type": "filter", "parameters": {"inputs": ["a", "b"], "filters": list(filters)}}]}


@pytest.mark.parametrize(
    ("name", "options", "rule", "spec"),
    [
        ("LengthFilter", None, "length", {"unit": "token", "min": 1, "max": 100}),
        (
            "LengthFilter",
            {"unit": ["word", "char"], "max_length": [80, 400]},
            "length",
            {"unit": {"source": "token", "target": "char"}, "min": 1, "max": {"source": 80, "target": 400}},
        ),
        ("LengthRatioFilter", {"threshold": 2.5, "unit": "char"}, "length_ratio", {"unit": "char", "max": 2.5}),
        ("LongWordFilter", None, "longest_word", {"unit": "token", "max": 40}),
        ("AverageWordLengthFilter", None, "average_word_length", {"unit": "token", "min": 2, "max": 20}),
        ("HtmlTagFilter", {}, "html", {"tags": "any"}),
        ("RegExpFilter", {"regexps": "x"}, "regex", {"patterns": {"pattern": {"pattern": "x", "match": "drop"}}}),
        (
            "RegExpFilter",
            {"regexps": ["x", "y"], "accept_match": True},
            "regex",
            {
                "patterns": {
                    "source": {"pattern": "x", "side": "source", "match": "keep"},
                    "target": {"pattern": "y", "side": "target", "match": "keep"},
                }
            },
        ),
        ("AlphabetRatioFilter", {"exclude_whitespace": True}, "alphabetic", {"spaces": False, "min": 0.75}),
        (
            "CharacterScoreFilter",
            {"scripts": ["Latin", "Han"], "thresholds": [0.9, 0.8]},
            "script",
            {"script": {"source": "Latin", "target": "Han"}, "min": {"source": 0.9, "target": 0.8}},
        ),
        ("TerminalPunctuationFilter", None, "terminal_punctuation", {"min": -2}),
        ("NonZeroNumeralsFilter", {"threshold": 0.6}, "numerals", {"min": 0.6}),
        ("LongestCommonSubstringFilter", None, "copy", {"measure": "substring", "max": 0.9}),
        (
            "SimilarityFilter",
            {"unit": "word", "lowercase": True},
            "copy",
            {"measure": "distance", "unit": "token", "lowercase": True, "max": 0.9},
        ),
        ("RepetitionFilter", {"threshold": 3}, "repetition", {"times": 3, "min": 3, "max": 100}),
    ],
)
def test_filters_become_rules(name: str, options: Any, rule: str, spec: dict[str, Any]) -> None:
    found = opusfilter_rules(config_of({name: options}))
    assert (found.rules, found.left_out) == ({rule: spec}, ())
    assert list(rule_problems(found.rules)) == []


def test_filters_of_one_kind_get_labels() -> None:
    lengths = [{"LengthFilter": {"max_length": n, **name}} for n, name in ((1, {}), (2, {"name": "a b"}), (3, {}))]
    rules = opusfilter_rules(config_of(*lengths)).rules
    assert {key: spec["max"] for key, spec in rules.items()} == {"length": 1, "length/a-b": 2, "length/2": 3}


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ({"CrossEntropyFilter": {}}, "CrossEntropyFilter: needs a model, and no model runs within cleaning; score the"),
        ({"FastTextFilter": {}}, "FastTextFilter: decides otherwise than the rule language; name that in the section"),
        ({"NewFilter": {}}, "NewFilter: there is no such rule"),
        ({"Mine": {}, "module": "mine"}, "Mine: a filter of the module mine; use the rule python"),
        ({"SimilarityFilter": {"weights": [1, 1, 2]}}, "SimilarityFilter: weights: all edits weigh 1"),
        ({"LengthFilter": {"pass_empty": True}}, "LengthFilter: pass_empty: pairs with an empty side are always"),
    ],
)
def test_what_is_not_taken_over_is_named(entry: dict[str, Any], line: str) -> None:
    (left_out,) = opusfilter_rules(config_of(entry)).left_out
    assert left_out.startswith(f"step 1, {line}")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ([], "it has no list 'steps'; is this an OpusFilter config?"),
        ({"steps": "filter"}, "it has no list 'steps'"),
        ({"steps": [{"type": "filter"}]}, "step 1: it has no list parameters.filters"),
        (config_of({"LengthFilter": {}, "HtmlTagFilter": {}}), "step 1: expected a filter and its options, found"),
        (config_of({"LengthFilter": {"unit": "line"}}), "step 1, LengthFilter: there is no unit 'line'"),
        (
            config_of({"LengthFilter": {"max_length": [1, 2, 3]}}),
            "step 1, LengthFilter: max_length has 3 values; a pair has two sides",
        ),
        (
            {"steps": [{"type": "filter", "parameters": {"filters": [], "filterfalse": True}}]},
            "step 1: filterfalse keeps what filters refuse",
        ),
    ],
)
def test_what_is_no_config_of_filters_of_pairs(config: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        opusfilter_rules(config)
    assert str(caught.value).startswith(message)
