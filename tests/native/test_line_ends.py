"""Finding and hashing lines in blocks: equal to the readable twins."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from _nmt_prep_core import LineSampler, block_facts, block_hash, count_newlines, join_spans, scan_lines, split_lines
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.line_ends import hash_block, kept_lines, spans
from tests.reference.utf8 import first_invalid

BYTES = st.binary(max_size=200) | st.lists(st.sampled_from([b"\n", b"\r", b"ab", b"\xff", "中".encode()])).map(b"".join)


@pytest.mark.parametrize(
    ("data", "ends", "valid", "returns"),
    [
        (b"", [], True, False),
        (b"a\nb", [1], True, False),
        (b"a\r\n\n", [2, 3], True, True),
        (b"a\rb\r", [], True, False),
        (b"\r\r\n\xff", [2], False, True),
    ],
)
def test_literal_scans(data: bytes, ends: list[int], valid: bool, returns: bool) -> None:
    found, is_valid, has_returns = scan_lines(bytearray(data))
    assert (found.tolist(), is_valid, has_returns) == (ends, valid, returns)
    assert count_newlines(data) == len(ends)


@given(data=BYTES, repeat=st.integers(1, 9))
def test_scans_equal_those_of_the_twins(data: bytes, repeat: int) -> None:
    data *= repeat
    ends, valid, returns = scan_lines(data)
    assert ends.tolist() == [place for place, byte in enumerate(data) if byte == ord("\n")]
    assert valid == (first_invalid(data) == len(data))
    assert returns == (b"\r\n" in data)
    assert block_facts(data) == (data.count(b"\n"), hash_block(data))
    assert block_hash(data) == hash_block(data)


@given(
    data=BYTES, left_out=st.sets(st.integers(0, 30)), strip=st.booleans(), surplus=st.sampled_from([0, 0, -1, 1, 10**6])
)
def test_split_lines_are_those_of_the_twin(data: bytes, left_out: set[int], strip: bool, surplus: int) -> None:
    lines = kept_lines(data, left_out, strip)
    ranges = np.array([number for each in sorted(left_out) for number in (each, 1)], np.int64)
    if surplus and len(lines) + surplus >= 0:
        with pytest.raises(ValueError, match="the block has other lines than expected"):
            split_lines(data, len(lines) + surplus, ranges, strip)
    text, offsets = split_lines(data, len(lines), ranges, strip)
    assert [text[begin:end].tobytes() for begin, end in pairwise(offsets.tolist())] == lines


@given(data=BYTES, cuts=st.lists(st.integers(0, 200), max_size=40))
def test_joined_spans_are_those_of_the_twin(data: bytes, cuts: list[int]) -> None:
    places = sorted(min(cut, len(data)) for cut in cuts)
    starts, ends = (np.array(places[side : len(places) // 2 * 2 : 2], np.int64) for side in (0, 1))
    text, offsets = join_spans(data, starts, ends)
    expected = spans(data, starts.tolist(), ends.tolist())
    assert [text[begin:end].tobytes() for begin, end in pairwise(offsets.tolist())] == expected
    assert text.tobytes() == b"".join(expected)


@pytest.mark.parametrize(("starts", "ends"), [([-1], [2]), ([2], [1]), ([0, 1], [1, 4])])
def test_spans_outside_of_the_block(starts: list[int], ends: list[int]) -> None:
    with pytest.raises(ValueError, match="a span is not in the block"):
        join_spans(b"abc", np.array(starts), np.array(ends))
    with pytest.raises(ValueError, match="there must be as many starts as ends"):
        join_spans(b"abc", np.array([0]), np.array([1, 2]))


def test_literal_split_lines() -> None:
    text, offsets = split_lines(b"a\r\nb\nc\n\n\rd\r", 3, np.array([1, 2]), True)
    assert (text.tobytes(), offsets.tolist(), offsets.dtype) == (b"a\rd\r", [0, 1, 1, 4], np.int32)
    assert split_lines(b"", 0, np.empty(0, np.int64), False)[1].tolist() == [0]
    with pytest.raises(ValueError, match="left_out must have a first line and a number for each range"):
        split_lines(b"a", 1, np.array([1]), True)


def test_literal_facts() -> None:
    assert block_facts(b"") == (0, 1414850611196093534)
    assert block_facts(b"a\nb\n" * 100) == (200, 4593212515620848)


@given(data=st.binary(min_size=1, max_size=120), place=st.integers(0, 119), bit=st.integers(0, 7))
def test_a_changed_bit_changes_the_hash(data: bytes, place: int, bit: int) -> None:
    changed = bytearray(data)
    changed[place % len(data)] ^= 1 << bit
    assert block_facts(changed)[1] != block_facts(data)[1]
    assert block_facts(data + b"\0")[1] != block_facts(data)[1]


@pytest.mark.parametrize(("stride", "budget"), [(0, 1), (1, 0), (-1, 5)])
def test_strides_and_budgets_below_1(stride: int, budget: int) -> None:
    with pytest.raises(ValueError, match="stride and budget must be 1 or more"):
        LineSampler(stride, budget)


def test_views_of_a_sampler_outlive_its_name() -> None:
    taken = LineSampler(1, 10).feed(np.frombuffer(b" a \nb", np.uint8), last=True)
    assert bytes(taken) == b"a\nb\n"
