from __future__ import annotations

import math
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.cleaning.rejects import RejectSample, histogram, judge, reject_schema, sample_keys, unanswered_text
from nmt_prep.cleaning.rule import Bounds
from tests.reference import cleaning as reference


def batch(rows: list[int], rule: str) -> pa.RecordBatch:
    count = len(rows)
    columns = {
        "source": [f"s{row}" for row in rows],
        "target": [f"t{row}" for row in rows],
        "corpus": pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), pa.array(["c"])),
        "row": rows,
        "rule": [rule] * count,
        "column": ["target"] * count,
        "value": [1.0] * count,
        "threshold": [None] * count,
        "kept_corpus": pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), pa.array(["d"])),
        "kept_row": rows,
        "unanswered": [None] * count,
    }
    arrays = [
        values if isinstance(values, pa.Array) else pa.array(values, field.type)
        for values, field in zip(columns.values(), reject_schema(), strict=True)
    ]
    return pa.record_batch(arrays, schema=reject_schema())


def sampled(batches: list[pa.RecordBatch], seed: int = 1) -> pa.RecordBatch:
    sample = RejectSample(seed, "c")
    for each in batches:
        sample.add(each)
    return sample.sample()


def test_a_sample_of_few_pairs_has_all_of_them_in_the_order_of_rows() -> None:
    sample = sampled([batch([7, 3], "length"), batch([5], "copy")])
    assert sample.column("row").to_pylist() == [3, 5, 7]
    assert sample.column("rule").to_pylist() == ["length", "copy", "length"]
    assert len(sampled([])) == 0
    assert sampled([]).schema == reject_schema()


def test_a_sample_has_the_smallest_keys_of_each_rule_in_any_order_of_work() -> None:
    rows = list(range(20_000))
    keys = sample_keys(np.array(rows), 1, "c")
    expected = sorted(np.argsort(keys)[:1000].tolist())
    draw = random.Random(1)
    for size in (100, 700, 20_000):
        draw.shuffle(rows)
        parts = [batch(rows[start : start + size], "length") for start in range(0, len(rows), size)]
        parts.insert(len(parts) // 2, batch([30_000, 30_001], "copy"))
        sample = sampled(parts)
        assert sample.column("row").to_pylist() == [*expected, 30_000, 30_001]
        assert sample.column("source")[0].as_py() == f"s{expected[0]}"


def test_the_sample_of_samples_is_the_sample_of_the_whole() -> None:
    parts = [batch(list(range(start, start + 2500)), "length") for start in range(0, 10_000, 2500)]
    assert sampled([sampled([part]) for part in reversed(parts)]) == sampled(parts)


def test_keys_depend_on_seed_and_corpus_and_never_repeat() -> None:
    rows = np.arange(100_000)
    keys = sample_keys(rows, 1, "c")
    assert len(np.unique(keys)) == len(rows)
    assert keys[:2].tolist() != sample_keys(rows, 2, "c")[:2].tolist()
    assert keys[:2].tolist() != sample_keys(rows, 1, "d")[:2].tolist()
    assert abs(float(np.mean(keys < np.uint64(1 << 63))) - 0.5) < 0.01


def test_words_that_are_not_answered_are_a_sentence() -> None:
    assert unanswered_text("source", "in the garden") == "no counterpart on the target side for “in the garden”"
    assert unanswered_text("target", "a" * 400) == f"no counterpart on the source side for “{'a' * 300}”"
    assert unanswered_text("source", None) == ""


# Decisions and histograms from the values of a rule.


NUMBERS = st.one_of(st.floats(), st.integers(-3, 300).map(float), st.just(math.nan))


def test_all_columns_must_be_within_their_bounds() -> None:
    values = np.array([[1.0, 2.0, 3.0, math.nan, 2.0], [5.0, 5.0, 5.0, 5.0, math.inf]])
    assert judge(values, [Bounds(1, 2), Bounds()]).tolist() == [True, True, False, False, True]
    assert judge(values, [Bounds(low=1, above=True), Bounds(high=9)]).tolist() == [False, True, True, False, False]
    assert judge(values, [Bounds(high=2, below=True), Bounds()]).tolist() == [True, False, False, False, False]


def test_histogram_of_dropped_and_kept_pairs_for_each_column() -> None:
    values = np.array([[-5.0, 0.0, 0.5, 1.0, 2.0, 9.0, math.nan, math.inf]])
    kept = np.array([True, True, False, True, True, False, True, True])
    assert histogram(values, (0, 1, 2), kept).tolist() == [[[1, 1], [2, 3]]]
    counts = histogram(np.array([[0.0, 3.0], [1.0, 1.0]]), (0, 1, 2), np.array([True, False]))
    assert counts.tolist() == [[[0, 1], [1, 0]], [[0, 1], [0, 1]]]


def test_edges_must_ascend_and_shapes_must_fit() -> None:
    for edges in ((0,), (0, 0), (1, 0), (0, math.nan)):
        with pytest.raises(ValueError, match="edges"):
            histogram(np.zeros((1, 1)), edges, np.array([True]))
    with pytest.raises(ValueError, match="bounds for each column"):
        judge(np.zeros((2, 1)), [Bounds()])
    with pytest.raises(ValueError, match="flag for each pair"):
        histogram(np.zeros((1, 2)), (0, 1), np.array([True]))


def passes(bounds: Bounds, value: float) -> bool:
    if math.isnan(value):
        return bounds == Bounds()
    above = value > bounds.low if bounds.above else value >= bounds.low
    return above and (value < bounds.high if bounds.below else value <= bounds.high)


@given(
    st.lists(NUMBERS, max_size=20),
    st.builds(Bounds, st.floats(allow_nan=False), st.floats(allow_nan=False), st.booleans(), st.booleans()),
)
def test_decisions_are_those_of_bounds(numbers: list[float], bounds: Bounds) -> None:
    assert judge(np.array([numbers]), [bounds]).tolist() == [passes(bounds, number) for number in numbers]


@given(
    st.lists(st.tuples(NUMBERS, st.booleans()), max_size=40), st.lists(st.integers(-2, 300), min_size=2, unique=True)
)
def test_bins(batch: list[tuple[float, bool]], edges: list[int]) -> None:
    edges.sort()
    expected = np.zeros((2, len(edges) - 1), np.int64)
    for number, kept in batch:
        if not math.isnan(number):
            expected[int(kept), reference.bin_of(number, edges)] += 1
    values = np.array([[number for number, _ in batch]], np.float64)
    counts = histogram(values, edges, np.array([kept for _, kept in batch], np.bool_))
    assert counts.tolist() == [expected.tolist()]
