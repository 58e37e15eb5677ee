"""Rule ``regex``: custom patterns."""

from __future__ import annotations

import pytest

from nmt_prep.cleaning.rule import PairError
from nmt_prep.cleaning.rules import regex as regex_rule
from tests.cleaning.rules.values import passed, rule_of, values
from tests.guard import must_end


def test_patterns_by_name() -> None:
    rule = rule_of("regex", {"ads": "click here", "end": {"pattern": r"\p{P}$", "side": "target", "match": "keep"}})
    assert rule.columns == ("ads.source", "ads.target", "end.target")
    batch = [("click here", "b."), ("a", "b"), ("a", "b!")]
    assert values(rule, *batch) == [[1, 0, 1], [0, 0, 0], [0, 0, 1]]
    assert passed(rule, *batch) == [False, False, True]


def test_a_search_without_end_is_an_error_that_names_the_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_rule, "SECONDS", 0.01)
    rule = rule_of("regex", {"slow": {"pattern": "(x+x+)+y", "side": "target"}})
    with must_end(60), pytest.raises(PairError) as error:
        values(rule, ("x", "a"), ("a", "x" * 30_000))
    assert error.value.pair == 1
    assert str(error.value) == (
        "the search for the pattern slow takes more than 0.01 s per core; write it without nested repetitions such as "
        "(x+x+)+ (the line begins with 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx')"
    )
