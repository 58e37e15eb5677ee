from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.cleaning.corpus_rules.translation import other_targets


def _keys(*values: int) -> npt.NDArray[np.uint64]:
    return np.array(values, np.uint64)


def test_next_by_length() -> None:
    sources, targets = other_targets(np.array([30, 10, 20]), _keys(1, 2, 3), _keys(1, 2, 3), _keys(4, 5, 6))
    assert dict(zip(sources.tolist(), targets.tolist(), strict=True)) == {1: 2, 2: 0, 0: 2}


def test_random_among_equal_lengths() -> None:
    sources, targets = other_targets(np.full(3, 7), _keys(30, 10, 20), _keys(1, 2, 3), _keys(4, 5, 6))
    assert dict(zip(sources.tolist(), targets.tolist(), strict=True)) == {1: 2, 2: 0, 0: 2}


def test_equal_texts_are_passed_over() -> None:
    """Pairs 0 and 1 have the same target, 1 and 2 the same source."""
    sources, targets = other_targets(np.array([1, 2, 3, 4]), _keys(1, 2, 3, 4), _keys(1, 2, 2, 3), _keys(5, 5, 6, 7))
    assert dict(zip(sources.tolist(), targets.tolist(), strict=True)) == {0: 2, 1: 3, 2: 3, 3: 2}


def test_nothing_to_exchange() -> None:
    for count in (0, 1, 5):
        same = np.full(count, 9, np.uint64)
        sources, targets = other_targets(np.full(count, 3), np.arange(count, dtype=np.uint64), same, same)
        assert (len(sources), len(targets)) == (0, 0)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 3), st.integers(0, 3)), max_size=60))
def test_never_a_pair_with_itself(pairs: list[tuple[int, int, int]]) -> None:
    lengths, sources, targets = (np.array(column) for column in zip(*pairs, strict=True)) if pairs else ([],) * 3
    keys = np.asarray(sources, np.uint64), np.asarray(targets, np.uint64)
    order = np.arange(len(pairs), dtype=np.uint64) * np.uint64(7919) % np.uint64(104729)
    own, other = other_targets(np.asarray(lengths, np.int64), order, *keys)
    assert len(set(own.tolist())) == len(own)
    assert not (keys[0][own] == keys[0][other]).any()
    assert not (keys[1][own] == keys[1][other]).any()
