from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from _nmt_prep_core import ROW_BITS, rank_records
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.cleaning.dedup.records import (
    Comparison,
    PartDrops,
    Records,
    partition_bits,
    parts_and_rows,
    read_partition,
    write_drops,
    write_spill,
)
from nmt_prep.errors import OutputError


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


@pytest.mark.parametrize(
    ("records", "kept", "corpora"),
    [
        (table((1, 2)), 1, [0]),
        (table((1, 2, 3)), 0, [0]),
        (table((1, 2, 1 << ROW_BITS)), 1, [0]),
        (table((1, 2, 3)), 1, [1]),
        (table((1, 2, *[3] * 7)), 1, [0]),
    ],
)
def test_what_cannot_be_ranked_is_refused(records: Records, kept: int, corpora: list[int]) -> None:
    with pytest.raises(ValueError, match=r"columns|does not exist"):
        rank_records(records, kept, corpora, 1)


def test_records_hold_key_descending_scores_and_place() -> None:
    pairs = pa.record_batch(
        {
            "source": ["a", "a", "a", "a"],
            "target": ["b", "b", "b", "c"],
            "row": [4, 5, 8, 9],
            "score:q": [0.5, None, 2.0, -0.0],
        }
    )
    records = Comparison("pair", "exact", ("q",)).records(pairs, 3)
    assert (records[0, :2] == records[2, :2]).all()
    assert not (records[0, :2] == records[3, :2]).all()
    assert np.argsort(records[:, 2]).tolist() == [2, 0, 3, 1]
    assert [each.tolist() for each in parts_and_rows(records[:, 3])] == [[3] * 4, [4, 5, 8, 9]]


def test_ranges_of_keys_fit_the_memory() -> None:
    assert partition_bits(0, 3, 1 << 30) == 0
    assert partition_bits((64 << 20) // 24, 3, 1 << 30) == 0
    assert partition_bits((64 << 20) // 24 + 1, 3, 1 << 30) == 1
    assert partition_bits(500_000_000, 3, 2 << 30) == 8
    assert partition_bits(500_000_000, 3, 100 << 20) == 9
    assert partition_bits(10**15, 8, 1) == 12


@pytest.mark.parametrize("bits", [0, 1, 3])
def test_spill_files_give_back_each_range(tmp_path: Path, bits: int) -> None:
    draw = np.random.default_rng(1)
    files = [tmp_path / str(number) for number in range(3)]
    written = [draw.integers(0, 1 << 63, (size, 3)).astype(np.uint64) * np.uint64(2) for size in (0, 5, 40)]
    for path, records in zip(files, written, strict=True):
        write_spill(path, [records[:2], records[2:]], 3, bits)
    found = [read_partition(files, partition, 3, bits) for partition in range(1 << bits)]
    for number, records in enumerate(found):
        assert bits == 0 or (records[:, 0] >> np.uint64(64 - bits) == number).all()
    assert sorted(np.concatenate(found).tolist()) == sorted(np.concatenate(written).tolist())


def test_a_spill_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    path = tmp_path / "spill"
    write_spill(path, [table((1, 2, 3), (4, 5, 6))], 3, 0)
    for size in (40, 4):
        path.write_bytes(path.read_bytes()[:size])
        with pytest.raises(OutputError, match=r"spill is cut off; run the stage again with --force clean"):
            read_partition([path], 0, 3, 0)
    path.unlink()
    with pytest.raises(OutputError, match="spill"):
        read_partition([path], 0, 3, 0)


def test_drops_are_found_by_part(tmp_path: Path) -> None:
    one, two = 1 << ROW_BITS, 2 << ROW_BITS
    write_drops(tmp_path / "a", table((5, 1), (one + 2, 1), (two + 9, 3)))
    write_drops(tmp_path / "b", np.zeros((0, 2), np.uint64))
    write_drops(tmp_path / "c", table((one + 1, 7)))
    drops = PartDrops({"same": (tmp_path / "a", tmp_path / "b"), "many": (tmp_path / "c",)}, 1)
    assert len(drops) == 2
    kept, reasons, survivors = drops.among(np.array([one, one + 1, one + 2, one + 4], np.uint64))
    assert kept.tolist() == [True, False, False, True]
    assert (reasons.tolist(), survivors.tolist()) == ([1, 0], [7, 1])
    assert drops.among(np.zeros(0, np.uint64))[0].tolist() == []
