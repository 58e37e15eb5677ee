"""Rule ``regex``: custom patterns."""

from __future__ import annotations

from tests.cleaning.rules.values import passed, rule_of, values


def test_patterns_by_name() -> None:
    rule = rule_of("regex", {"ads": "click here", "end": {"pattern": r"\p{P}$", "side": "target", "match": "keep"}})
    assert rule.columns == ("ads.source", "ads.target", "end.target")
    batch = [("click here", "b."), ("a", "b"), ("a", "b!")]
    assert values(rule, *batch) == [[1, 0, 1], [0, 0, 0], [0, 0, 1]]
    assert passed(rule, *batch) == [False, False, True]
