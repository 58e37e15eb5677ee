from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from _nmt_prep_core import ROW_BITS, drops_among, partition_records, rank_records, reduce_records
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.cleaning.dedup import spill
from nmt_prep.cleaning.dedup.drops import DropWriter, PartDrops, mark_path, write_marks
from nmt_prep.cleaning.dedup.records import Comparison, GroupedWriter, Records, parts_of, rows_of
from nmt_prep.cleaning.dedup.spill import (
    Corpora,
    SpilledRange,
    SpillFiles,
    SpillWriter,
    decide_range,
    range_bits,
    spill_path,
)
from tests.conftest import examples

COMPARISONS = (Comparison("pair", "exact", (), 1), Comparison("source", "exact", (), 2))


def test_ranges_of_keys_fit_the_memory() -> None:
    assert range_bits(0, 24, 1 << 30) == 0
    assert range_bits((16 << 20) // 24, 24, 1 << 30) == 0
    assert range_bits((16 << 20) // 24 + 1, 24, 1 << 30) == 1
    assert range_bits(500_000_000, 24, 2 << 30) == 10
    assert range_bits(500_000_000, 24, 30 << 20) == 11
    assert range_bits(10**15, 64, 1) == 12


@pytest.mark.parametrize("bits", [0, 1, 3])
@pytest.mark.parametrize("width", [3, 8])
def test_records_are_ordered_by_range(bits: int, width: int) -> None:
    records = np.random.default_rng(1).integers(0, 1 << 63, (40, width)).astype(np.uint64) * np.uint64(2)
    ordered, starts = partition_records(records, bits)
    ranges = records[:, 0] >> np.uint64(64 - bits) if bits else np.zeros(40, np.uint64)
    assert ordered.tolist() == records[np.argsort(ranges, kind="stable")].tolist()
    assert starts.tolist() == [int((ranges < number).sum()) for number in range((1 << bits) + 1)]


@pytest.fixture
def spilled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the spill files of two parts of 50 pairs each, in runs of 7 pairs and four ranges."""
    monkeypatch.setattr(spill, "RUN_ROWS", 7)
    for part in range(2):
        with SpillWriter(SpillFiles(tmp_path, part, COMPARISONS, 2)) as writer:
            for first in (0, 20):
                rows = range(first, 20 if first == 0 else 50)
                source = [f"{row % 10}" for row in rows]
                writer.add(pa.record_batch({"source": source, "target": [f"{row}" for row in rows], "row": [*rows]}))
    return tmp_path


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_every_pair_is_in_one_range(spilled: Path, comparison: Comparison) -> None:
    found = []
    for number in range(4):
        records = SpilledRange(spilled, comparison, (0, 1), 2, number, None).read()
        assert (records[:, 0] >> np.uint64(62) == number).all()
        found += records.tolist()
        batches = [*SpilledRange(spilled, comparison, (0, 1), 2, number, None).batches(2)]
        assert max(map(len, batches)) <= 2
        assert np.concatenate(batches).tolist() == records.tolist()
    places = np.sort(np.array(found, np.uint64)[:, 2])
    assert parts_of(places).tolist() == [0] * 50 + [1] * 50
    assert rows_of(places).tolist() == [*range(50)] * 2
    assert len({(high, low) for high, low, _ in found}) == (50 if comparison.compared == "pair" else 10)


def test_records_come_in_the_order_of_places_without_those_that_are_dropped(spilled: Path) -> None:
    drops = [(1 << ROW_BITS) + row for row in (9, 10, 40)]
    with DropWriter(spilled / "drops", 2) as output:
        output.add(np.array([(place, 0) for place in drops], np.uint64))
    for part in range(2):
        write_marks(mark_path(spilled, "pair", part), {"r": [spilled / "drops"]}, part, 2)
    every = [SpilledRange(spilled, COMPARISONS[1], (0, 1), 2, number, None).read() for number in range(4)]
    left = [SpilledRange(spilled, COMPARISONS[1], (0, 1), 2, number, "pair").read() for number in range(4)]
    for all_, some in zip(every, left, strict=True):
        assert (np.diff(all_[:, 2].astype(np.int64)) > 0).all()
        assert some.tolist() == [record for record in all_.tolist() if record[2] not in drops]
    assert sum(map(len, left)) == 97


def test_no_spill_file_is_left_after_an_error_or_without_comparisons(tmp_path: Path) -> None:
    batch = pa.record_batch({"source": ["a"], "target": ["b"], "row": [0]})
    with suppress(KeyError), SpillWriter(SpillFiles(tmp_path, 0, COMPARISONS, 0)) as writer:
        writer.add(batch)
        raise KeyError
    with SpillWriter(SpillFiles(tmp_path, 0, (), 0)) as writer:
        writer.add(batch)
    assert [*tmp_path.iterdir()] == []


def table(*rows: tuple[int, ...]) -> Records:
    return np.array(rows, np.uint64)


def test_the_smallest_of_each_key_stay_and_corpora_overlap() -> None:
    one, two = 0, 1 << ROW_BITS
    records = table((7, 1, two + 3), (7, 1, one + 5), (7, 2, one + 6), (9, 0, two + 1), (7, 1, one + 9))
    drops, overlap = rank_records(records, 1, [0, 1], 2)
    assert drops.tolist() == [[one + 9, one + 5], [two + 3, one + 5]]
    assert overlap.tolist() == [3, 2, 1, 2]
    drops, _ = rank_records(records, 2, [0, 1], 2)
    assert drops.tolist() == [[two + 3, one + 5]]


@given(
    st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=40),
    st.integers(1, 3),
    st.integers(0, 5),
)
def test_ranking_is_that_of_sorted_groups(rows: list[tuple[int, ...]], kept: int, scores: int) -> None:
    records = [(a, b, *[c] * scores, place) for place, (a, b, c) in enumerate(rows)]
    expected = []
    for key in {record[:2] for record in records}:
        group = sorted(record for record in records if record[:2] == key)
        expected += [[record[-1], group[0][-1]] for record in group[kept:]]
    held = np.array(records, np.uint64).reshape(-1, 3 + scores)
    drops, overlap = rank_records(held, kept, [0], 1)
    assert drops.tolist() == sorted(expected)
    assert overlap.tolist() == [len(rows)]


@pytest.mark.parametrize("keys", [3, 40, 100_000])
@pytest.mark.parametrize("width", [3, 4])
def test_many_records_are_reduced_in_order(keys: int, width: int) -> None:
    draw = np.random.default_rng(keys)
    known = draw.integers(0, 1 << 63, (keys, 2)).astype(np.uint64) | np.uint64(1 << 63)
    known[: keys // 2, 0] = known[0, 0]
    ranks = [draw.integers(0, 3, 5000).astype(np.uint64)] * (width - 3)
    records = np.column_stack([known[draw.integers(0, keys, 5000)], *ranks, draw.permutation(5000).astype(np.uint64)])
    expected = sorted(records.tolist())
    assert reduce_records(records, 5000, [0], 1) == 5000
    assert records.tolist() == expected


def test_reducing_keeps_the_best_and_counts_the_others() -> None:
    one, two = 0, 1 << ROW_BITS
    records = table((7, 1, two + 3), (7, 1, one + 5), (7, 2, one + 6), (7, 1, two + 8), (7, 1, one + 9))
    rows = reduce_records(records, 1, [0, 1], 2)
    count, most = 1 << 63, (1 << 64) - 1
    assert records[:rows].tolist() == [[7, 1, 5], [7, 1, count + 1], [7, 1, count + two + 2], [7, 2, 6]]
    drops, overlap = rank_records(records[:rows], 1, [0, 1], 2)
    assert (drops.tolist(), overlap.tolist()) == ([], [3, 2, 2, 2])
    scored = table((7, 1, most - 1, 2), (7, 1, 0, 1), (7, 1, 0, 0))
    assert reduce_records(scored, 2, [0], 1) == 3
    assert scored.tolist() == [[7, 1, 0, 0], [7, 1, 0, 1], [7, 1, most, count + 1]]


def test_drops_are_found_by_the_best_of_each_key() -> None:
    reduced = table((7, 1, 2), (7, 1, 5), (7, 2, 1), (9, 0, 3), (9, 0, 4))
    records = table((9, 0, 3), (7, 1, 5), (7, 1, 6), (7, 2, 1), (9, 0, 9), (7, 1, 7))
    assert drops_among(records, 2, reduced).tolist() == [[6, 2], [9, 3], [7, 2]]
    assert drops_among(records[:0], 2, reduced).tolist() == []
    assert drops_among(records, 2, reduced[:0]).tolist() == []


@pytest.mark.parametrize(
    ("records", "kept", "corpora"),
    [
        (table((1, 2)), 1, [0]),
        (table((1, 2, 3)), 0, [0]),
        (table((1, 2, 1 << ROW_BITS)), 1, [0]),
        (table((1, 2, (1 << 63) + (1 << ROW_BITS))), 1, [0, 0]),
        (table((1, 2, 3)), 1, [1]),
        (table((1, 2, *[3] * 7)), 1, [0]),
    ],
)
def test_records_that_cannot_be_ranked_are_refused(records: Records, kept: int, corpora: list[int]) -> None:
    with pytest.raises(ValueError, match=r"columns|does not exist|1 or more"):
        rank_records(records, kept, corpora, 1)
    with pytest.raises(ValueError, match=r"columns|does not exist|1 or more"):
        reduce_records(records, kept, corpora, 1)


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (partition_records, (table((1, 2)), 0), "3 to 8 columns"),
        (partition_records, (table((1, 2, 3)), 21), "20 bits"),
        (drops_among, (table((1, 2)), 1, table((1, 2))), "columns"),
        (drops_among, (table((1, 2, 3)), 1, table((1, 2, 3, 4))), "different numbers of columns"),
        (drops_among, (table((1, 2, 3)), 0, table((1, 2, 3))), "1 or more"),
    ],
)
def test_arguments_are_checked(call: Callable[..., object], arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(*arguments)


@settings(max_examples=examples(30))
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=30), min_size=1, max_size=4),
    st.integers(1, 4),
    st.integers(1, 200),
)
def test_little_memory_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[tuple[int, int]]], kept: int, memory: int
) -> None:
    directory = tmp_path_factory.mktemp("spills")
    comparison, width = Comparison("pair", "exact", ("score",), kept), 4
    for part, rows in enumerate(parts):
        with GroupedWriter(spill_path(directory, "pair", part)) as writer:
            records = [(5, key, rank, (part << ROW_BITS) + row) for row, (key, rank) in enumerate(rows)]
            writer.write(np.array(records, np.uint64).reshape(-1, width), np.array([0, len(rows)], np.uint64))
    corpora = Corpora(tuple(part % 2 for part in range(len(parts))), 2)
    found = SpilledRange(directory, comparison, tuple(range(len(parts))), 0, 0, None)
    results = []
    for held in (memory, 1 << 20):
        with DropWriter(directory / str(held), len(parts)) as output:
            overlap = decide_range(found, corpora, held, output)
        drops = [PartDrops({"r": [directory / str(held)]}, part, len(parts)) for part in range(len(parts))]
        every = [np.arange(len(rows), dtype=np.uint64) + np.uint64(part << ROW_BITS) for part, rows in enumerate(parts)]
        among = [each.among(places) for each, places in zip(drops, every, strict=True)]
        results.append((overlap.tolist(), [(kept.tolist(), survivors.tolist()) for kept, _, survivors in among]))
    assert results[0] == results[1]
