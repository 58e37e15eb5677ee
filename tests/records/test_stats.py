from __future__ import annotations

from collections import Counter

from nmt_prep.columns import Ragged
from nmt_prep.records import PairStats


def test_counts_a_batch() -> None:
    stats = PairStats.of(Ragged.from_lists([[5, 1], [1], [7, 8, 1]]), Ragged.from_lists([[1], [1], [4, 4, 4, 1]]))
    assert stats == PairStats(3, 6, 6, Counter({2: 1, 1: 1, 3: 1}), Counter({1: 2, 4: 1}), Counter({2: 1, 1: 1, 4: 1}))


def test_adds_up() -> None:
    one = PairStats.of(Ragged.from_lists([[5, 1]]), Ragged.from_lists([[1]]))
    assert one + one + PairStats() == PairStats(2, 4, 2, Counter({2: 2}), Counter({1: 2}), Counter({2: 2}))
    empty = Ragged.from_lists([])
    assert PairStats.of(empty, empty) == PairStats()
