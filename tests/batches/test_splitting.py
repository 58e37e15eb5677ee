from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.batches import vectors
from nmt_prep.batches.splitting import WHOLE, Split, split_batches, split_into


def parts(sizes: list[int], split: Split) -> list[list[int]]:
    """Returns the sizes of the parts of each batch."""
    found = split_batches(np.array(sizes, np.int64), split, vectors)
    columns = zip(found.batch.tolist(), found.before.tolist(), found.sizes.tolist(), strict=True)
    of: list[list[int]] = [[] for _ in sizes]
    for batch, before, size in columns:
        assert before == sum(of[batch])
        of[batch].append(size)
    assert found.batch.tolist() == sorted(found.batch.tolist())
    return of


def test_the_last_batches_are_split() -> None:
    assert split_into(np.array([5, 5, 1, 4]), 4) == WHOLE
    assert split_into(np.array([5, 5, 1, 4]), 6) == Split(1, 2)
    assert parts([5, 5, 1, 4], Split(1, 2)) == [[5], [3, 2], [1], [2, 2]]


def test_more_parts_where_two_are_not_enough() -> None:
    assert split_into(np.array([5, 5, 1, 4]), 9) == Split(2, 2)
    assert parts([5, 5, 1, 4], Split(2, 2)) == [[3, 2], [2, 2, 1], [1], [2, 1, 1]]
    assert split_into(np.array([2, 1]), 3) == Split(2, 0)
    assert parts([2, 1], Split(2, 0)) == [[1, 1], [1]]


def test_no_batches() -> None:
    assert split_into(np.empty(0, np.int64), 0) == WHOLE
    assert parts([], WHOLE) == []


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.data())
def test_any_number_of_batches_up_to_that_of_pairs(sizes: list[int], data: st.DataObject) -> None:
    wanted = data.draw(st.integers(len(sizes), sum(sizes)))
    of = parts(sizes, split_into(np.array(sizes), wanted))
    assert sum(map(len, of)) == wanted
    assert [sum(part) for part in of] == sizes
    assert all(max(part) - min(part) <= 1 and part == sorted(part, reverse=True) for part in of)
    uncut = max(len(part) for part in of)
    assert all(len(part) >= min(size, uncut - 1) for part, size in zip(of, sizes, strict=True))
