"""Rule ``terminal_punctuation``: unequal or many terminal punctuation marks."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tests.cleaning.rules.values import decisions, lines, rule_of, values
from tests.reference import cleaning as reference

PARTS = list(".?!…")
BATCH = st.lists(st.tuples(lines(PARTS), lines(PARTS)), max_size=4)


def test_penalty() -> None:
    rule = rule_of("terminal_punctuation")
    assert values(rule, ("A.", "B."), ("A", "B."), ("A...", "B")) == [[-math.log(1)], [-math.log(2)], [-math.log(6)]]
    assert decisions("terminal_punctuation", True, ("A...", "…"), ("A!!!!!", "B")) == [True, False]


@given(BATCH)
def test_values_are_those_of_the_twin(batch: list[tuple[str, str]]) -> None:
    expected = [[reference.terminal_punctuation(*pair)] for pair in batch]
    assert values(rule_of("terminal_punctuation"), *batch) == expected
