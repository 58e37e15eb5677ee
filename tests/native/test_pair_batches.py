"""Splitting of lines and shuffled batches: equal to the readable twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from _nmt_prep_core import PairBatches, distinct_words
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import pair_batches as reference

LINES = st.lists(st.text(" ab中\t", max_size=12).map(str.encode), max_size=20)
OPTIONS = {"buckets": 0, "bucket_width": 1, "source_width": 1, "drains": 1, "source_padding": -1, "sos": -2, "eos": -3}


def split(lines: list[bytes], longest: int) -> Any:
    return distinct_words(b"".join(lines), np.array([len(line) for line in lines], np.int32), longest)


def test_literal_words() -> None:
    words, numbers, lengths = split([b" b  a b", b"", b"c\tc b ", b"  "], 2)
    assert (words, numbers.tolist(), lengths.tolist()) == (b"b a c\tc ", [0, 1, 2, 0], [2, 0, 2, 0])


@given(lines=LINES, repeat=st.integers(1, 3), longest=st.integers(0, 5))
def test_words_equal_those_of_the_twin(lines: list[bytes], repeat: int, longest: int) -> None:
    lines = lines * repeat
    expected = [reference.words_of(line, longest) for line in lines]
    words, numbers, lengths = split(lines, longest)
    distinct = words.split(b" ")[:-1]
    assert distinct == list(dict.fromkeys(word for line in expected for word in line))
    assert lengths.tolist() == [len(line) for line in expected]
    assert [distinct[number] for number in numbers] == [word for line in expected for word in line]


def test_many_different_words_keep_their_numbers() -> None:
    words, numbers, _ = split([b" ".join(b"%d" % number for number in range(9999))] * 2, 20000)
    assert words.split() == [b"%d" % number for number in range(9999)]
    assert numbers.tolist() == [*range(9999)] * 2


@pytest.mark.parametrize("sizes", [[3], [1], [-1, 3]])
def test_sizes_of_another_text_are_refused(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match=r"the lines are (longer|shorter) than their text"):
        distinct_words(b"ab", np.array(sizes, np.int32), 9)


def columns(rows: list[list[int]], width: int) -> tuple[Any, Any]:
    flat = [number for row in rows for number in row]
    return np.array(flat, np.int32), np.array([len(row) // width for row in rows], np.int64)


def cut(found: Any) -> list[reference.Batch]:
    """Returns the batches of native arrays."""
    source, target_input, target_output, source_lengths, target_lengths, places = found
    batches, rows, source_ids, target_ids = [], 0, 0, 0
    for place in places.reshape(-1, 10).tolist():
        first, count, source_first, source_size, *source_shape = place[:6]
        target_first, target_size, *target_shape = place[6:]
        assert (first, source_first, target_first) == (rows, source_ids, target_ids)
        rows, source_ids, target_ids = rows + count, source_ids + source_size, target_ids + target_size
        target_part = slice(target_first, target_ids)
        batches.append(
            (
                source[source_first:source_ids].reshape(source_shape).tolist(),
                target_input[target_part].reshape(target_shape).tolist(),
                target_output[target_part].reshape(target_shape).tolist(),
                source_lengths[first:rows].tolist(),
                target_lengths[first:rows].tolist(),
            )
        )
    assert list(map(len, found[:5])) == [source_ids, target_ids, target_ids, rows, rows]
    return batches


def test_literal_batches() -> None:
    batches = PairBatches(**{**OPTIONS, "buckets": 1, "bucket_width": 3, "buffer_size": 2, "batch_size": 2})
    source, target = columns([[1], [2, 3, 4], [5], [6, 7]], 1), columns([[11], [12], [], [13]], 1)
    # The buffer holds two pairs, and the random number is the place in it: 0 leaves first, then 1, 3 and 2.
    found = cut(batches.add(*source, *target, np.array([0, 4, 1, 7], np.int64)))
    assert found == [([[1, -1], [6, 7]], [[-2, 11], [-2, 13]], [[11, -3], [13, -3]], [1, 2], [2, 2])]
    assert cut(batches.drain()) == [([[2, 3, 4]], [[-2, 12]], [[12, -3]], [3], [2])]


@given(data=st.data())
def test_batches_equal_those_of_the_twin(data: st.DataObject) -> None:
    width = data.draw(st.sampled_from([1, 1, 3]))
    lengths = data.draw(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=40))
    source = [[10 * row + i for i in range(width * words)] for row, (words, _) in enumerate(lengths)]
    target = [[1000 + 10 * row + i for i in range(words)] for row, (_, words) in enumerate(lengths)]
    random = data.draw(st.lists(st.integers(0, 2**32 - 1), min_size=len(lengths), max_size=len(lengths)))
    options = {
        "buffer_size": data.draw(st.integers(1, 50)),
        "batch_size": data.draw(st.integers(1, 5)),
        "buckets": data.draw(st.integers(0, 3)),
        "bucket_width": data.draw(st.integers(1, 4)),
    }
    drains, block = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 50))
    batches = PairBatches(**{**OPTIONS, **options, "source_width": width, "drains": drains})
    found = []
    for first in range(0, len(source), block):
        part = slice(first, first + block)
        sides = *columns(source[part], width), *columns(target[part], 1)
        found += cut(batches.add(*sides, np.array(random[part], np.int64)))
    for _ in range(drains):
        found += cut(batches.drain())
    special = {"source_width": width, "source_padding": -1, "sos": -2, "eos": -3}
    assert found == reference.batches(source, target, random, **options, **special)


def test_rows_that_the_other_side_lacks_are_left_out() -> None:
    batches = PairBatches(**OPTIONS, buffer_size=1, batch_size=1)
    [batch] = cut(batches.add(*columns([[1], [2]], 1), *columns([[3]], 1), np.array([5], np.int64)))
    assert batch[:2] == ([[1]], [[-2, 3]])
    assert cut(batches.drain()) == []


@pytest.mark.parametrize("option", ["buffer_size", "batch_size", "bucket_width", "source_width", "drains"])
def test_sizes_below_one_are_refused(option: str) -> None:
    with pytest.raises(ValueError, match="sizes and widths are at least 1"):
        PairBatches(**{**OPTIONS, "buffer_size": 1, "batch_size": 1, option: 0})


def test_columns_that_do_not_fit_together_are_refused() -> None:
    batches = PairBatches(**OPTIONS, buffer_size=1, batch_size=1)
    ids, lengths = columns([[1, 2]], 1)
    with pytest.raises(ValueError, match="there must be a random number for each pair"):
        batches.add(ids, lengths, ids, lengths, np.array([], np.int64))
    with pytest.raises(ValueError, match="the lengths do not match the ids"):
        batches.add(ids, lengths + 1, ids, lengths, np.array([1], np.int64))
    batches.drain()
    with pytest.raises(ValueError, match="everything was drained before"):
        batches.drain()
