from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from nmt_prep.batches.prefetch import prefetched


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "nmt_prep batches"]


@pytest.mark.parametrize("ahead", [1, 3, 16, 100])
@pytest.mark.parametrize("count", [0, 1, 2, 57])
def test_all_items_in_order(ahead: int, count: int) -> None:
    assert list(prefetched(lambda: iter(range(count)), ahead)) == list(range(count))
    assert readers() == []


def test_an_error_follows_the_items_before_it() -> None:
    def numbers() -> Iterator[int]:
        yield from range(10)
        raise ValueError("no more")

    iterator = prefetched(numbers, 16)
    assert [next(iterator) for _ in range(10)] == list(range(10))
    with pytest.raises(ValueError, match="no more"):
        next(iterator)
    assert readers() == []


def test_a_closed_iterator_ends_its_thread() -> None:
    made = []

    def numbers() -> Iterator[int]:
        for number in range(10**9):
            made.append(number)
            yield number

    iterator = prefetched(numbers, 8)
    assert [next(iterator) for _ in range(3)] == [0, 1, 2]
    iterator.close()  # type: ignore[attr-defined]
    assert readers() == []
    assert len(made) < 50
