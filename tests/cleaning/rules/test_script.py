"""Rule ``script``: the share of letters of the right script."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference

BATCH = st.lists(st.tuples(lines(), lines()), max_size=4)


def test_script_of_the_language() -> None:
    rule = rule_of("script", languages=("ru", "ja"))
    assert values(rule, ("Привет, wor", "コーヒーを飲む ab"), ("123", "漢")) == [[6 / 9, 7 / 9], [1.0, 1.0]]
    assert values(rule_of("script", languages=("zh-TW", "ko")), ("漢字a", "한국어 漢字 ab")) == [[2 / 3, 5 / 7]]


def test_given_script() -> None:
    for name in ("Katakana", "kana", "KATAKANA"):
        assert values(rule_of("script", {"script": {"source": name, "target": None}}), ("コーヒー", "ab")) == [
            [0.5, 1.0]
        ]
    assert decisions("script", {"script": "Latin", "min": 1}, ("é", "ß"), ("éя", "ß")) == [True, False]


@given(BATCH, st.sampled_from(["Latin", "Han", "Cyrillic", "Thai", "Old_Italic"]))
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]], script: str) -> None:
    expected = [[reference.script_share(line, [script]) for line in pair] for pair in batch]
    assert values(rule_of("script", {"script": script}), *batch) == expected
