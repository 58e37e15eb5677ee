"""Rule ``url_only``: text that consists of addresses."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference

PARTS = ["http://", "www.", "a.de", "b.co.uk/x?y=1", "me@x.org", ".", "HTTPS://"] * 2
BATCH = st.lists(st.tuples(lines(PARTS), lines(PARTS)), max_size=4)


def test_shares() -> None:
    rule = rule_of("url_only")
    pairs = [("https://a.org/b", "see www.a.de."), ("(mail me@x.org)", "e.g. U.S. 3.5 etc."), ("", "字http://a.b字")]
    assert values(rule, *pairs) == [[1.0, 8 / 12], [8 / 14, 0.0], [0.0, 10 / 12]]
    assert decisions("url_only", True, ("a.de", "x"), ("hello a.de", "x")) == [False, True]


@given(BATCH)
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]]) -> None:
    expected = [[reference.address_share(line) for line in pair] for pair in batch]
    assert values(rule_of("url_only"), *batch) == expected
