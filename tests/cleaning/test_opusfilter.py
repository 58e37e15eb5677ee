"""Compares the scores and decisions of rules with those of OpusFilter 3.3.1, if it is installed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cleaning.rules.test_html import PARTS
from tests.cleaning.rules.values import lines, passed, rule_of, values
from tests.conftest import examples

filters = pytest.importorskip("opusfilter.filters", reason="compares with opusfilter of the extra benchmark")

LATIN_HAN, DISTANCE = {"source": "Latin", "target": "Han"}, {"measure": "distance"}
CASES: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("LengthFilter", {}, "length", {"unit": "token"}),
    ("LengthFilter", {"unit": "char", "max_length": 9}, "length", {"unit": "char", "max": 9}),
    ("LengthRatioFilter", {}, "length_ratio", {"unit": "token"}),
    ("LengthRatioFilter", {"unit": "char", "threshold": 2}, "length_ratio", {"unit": "char", "max": 2}),
    ("LongWordFilter", {"threshold": 9}, "longest_word", {"unit": "token", "max": 9}),
    ("AverageWordLengthFilter", {}, "average_word_length", {"unit": "token"}),
    ("HtmlTagFilter", {}, "html", {"tags": "any"}),
    ("RegExpFilter", {"regexps": r"\d\p{L}"}, "regex", {"digits": r"\d\p{L}"}),
    ("AlphabetRatioFilter", {}, "alphabetic", {"min": 0.75}),
    ("AlphabetRatioFilter", {"exclude_whitespace": True}, "alphabetic", {"min": 0.75, "spaces": False}),
    ("CharacterScoreFilter", {"scripts": ["Latin", "Han"]}, "script", {"script": LATIN_HAN, "min": 1}),
    ("TerminalPunctuationFilter", {}, "terminal_punctuation", {}),
    ("NonZeroNumeralsFilter", {}, "numerals", {}),
    ("LongestCommonSubstringFilter", {}, "copy", {"measure": "substring"}),
    ("SimilarityFilter", {}, "copy", DISTANCE),
    ("SimilarityFilter", {"unit": "word", "lowercase": True}, "copy", {**DISTANCE, "unit": "token", "lowercase": True}),
    ("RepetitionFilter", {}, "repetition", {}),
]


@pytest.mark.parametrize(("name", "theirs", "rule_name", "ours"), CASES)
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(batch=st.lists(st.tuples(lines(PARTS), lines(PARTS)), max_size=4))
def test_scores_and_decisions(
    name: str, theirs: dict[str, Any], rule_name: str, ours: dict[str, Any], batch: list[tuple[str, str]]
) -> None:
    judge = getattr(filters, name)(**theirs)
    scores = [*judge.score(batch)]
    rule = rule_of(rule_name, ours)
    found = values(rule, *batch)
    if rule_name == "repetition":  # one score for both sides
        found = [[max(sides)] for sides in found]
    assert found == [list(map(float, score if isinstance(score, list) else [score])) for score in scores]
    assert passed(rule, *batch) == [bool(judge.accept(score)) for score in scores]
