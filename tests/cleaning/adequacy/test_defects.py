from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.cleaning.adequacy.defects import KINDS, Draws, MarkedPairs, Words, defective, exchanged, good, joined

WORD, STOP, QUOTE = 1 << 4, 2 | 1 << 4, 7 | 1 << 4


def words(lines: list[list[int]]) -> Words:
    """Lines of numbers of words, where 1 is a full stop, and 2 a quote."""
    flat = [word for line in lines for word in line]
    marks = {1: STOP, 2: QUOTE}
    return Words(
        np.array(flat, np.int32),
        np.array([marks.get(word, WORD) for word in flat], np.uint32),
        np.cumsum([0, *map(len, lines)]).astype(np.int64),
    )


def lines_of(side: Words) -> list[list[int]]:
    return [line.tolist() for line in np.split(side.numbers, side.offsets[1:-1])]


SOURCE = [[2, 10, 11, 12, 1, 13, 14, 3, 1, 2], [20, 21, 22, 23, 24, 25, 1], [30, 31, 32, 3, 1]]
TARGET = [[2, 110, 111, 112, 1, 113, 114, 3, 1, 2], [120, 121, 122, 123, 1], [130, 131, 3, 132, 1]]


def pairs() -> MarkedPairs:
    return MarkedPairs(words(SOURCE), words(TARGET))


def test_stretches_of_words_are_joined() -> None:
    side = words(SOURCE)
    made = side.joined(np.array([[0, 8], [10, 16]]), np.array([[2, 10], [10, 17]]))
    assert lines_of(made) == [[2, 10, 1, 2], [1]]
    assert made.marks.tolist() == [QUOTE, WORD, STOP, QUOTE, STOP]


def test_good_pairs_are_pairs_and_two_pairs_joined() -> None:
    made = good(pairs(), np.array([2, 0]))
    assert lines_of(made.pairs.target) == [TARGET[2], TARGET[0]]
    assert (made.origins.tolist(), made.kinds.tolist()) == ([[2, -1], [0, -1]], [-1, -1])
    both = joined(pairs(), np.arange(3), Draws(1))
    for row, (source, target) in enumerate(zip(lines_of(both.pairs.source), lines_of(both.pairs.target), strict=True)):
        other = int(both.origins[row, 1])
        assert (source, target) == (SOURCE[row] + SOURCE[other], TARGET[row] + TARGET[other])


def test_targets_are_exchanged_for_others() -> None:
    keys = np.array([1, 2, 3], np.uint64)
    made = exchanged(pairs(), np.arange(3), Draws(1), (keys, keys))
    assert len(made.pairs) == 3
    for row, (first, second) in enumerate(made.origins.tolist()):
        assert first != second
        assert lines_of(made.pairs.source)[row] == SOURCE[first]
        assert lines_of(made.pairs.target)[row] == TARGET[second]


@given(st.integers(0, 1 << 63))
def test_defects_change_one_side_within_its_punctuation(seed: int) -> None:
    made = defective(pairs(), np.arange(3).repeat(20), Draws(seed))
    assert len(made.pairs) > 20
    for row, (first, second) in enumerate(made.origins.tolist()):
        source, target = (lines_of(side)[row] for side in (made.pairs.source, made.pairs.target))
        changed = source if target == TARGET[first] else target
        before = SOURCE[first] if target == TARGET[first] else TARGET[first]
        other = (SOURCE if target == TARGET[first] else TARGET)[second]
        assert (source == SOURCE[first]) != (target == TARGET[first])
        kind = KINDS[made.kinds[row]]
        if kind == "joined":
            assert changed in (before + other, other + before)
            continue
        ending = 2 if before[-1] == 2 else 1
        assert changed[-ending:] == before[-ending:]
        assert (changed[0] == 2) == (before[0] == 2)
        if kind in ("cut", "gap", "sentence"):
            assert len(changed) < len(before)
        else:
            assert kind == "clause"
            assert len(changed) > len(before)
            assert [word for word in changed if word not in other] == [word for word in before if word not in other]


def test_a_sentence_is_left_out() -> None:
    made = defective(pairs(), np.zeros(200, np.int64), Draws(1))
    kept = made.pairs.source.take(np.flatnonzero(made.kinds == KINDS.index("sentence")))
    sources = {tuple(line) for line in lines_of(kept)} - {tuple(SOURCE[0])}
    assert sources == {(2, 13, 14, 3, 1, 2), (2, 10, 11, 12, 1, 2)}


def test_every_defect_is_made() -> None:
    made = defective(pairs(), np.zeros(300, np.int64), Draws(2))
    assert {*made.kinds.tolist()} == {*range(1, len(KINDS))}


def test_the_same_seed_gives_the_same_draws() -> None:
    assert Draws(7).integers(2).tolist() == Draws(7).integers(2).tolist() != Draws(8).integers(2).tolist()
    assert Draws(7).below(np.array([1, 1])).tolist() == [0, 0]
