from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from _nmt_prep_core import ROW_BITS, partition_records

from nmt_prep.cleaning.dedup import spill
from nmt_prep.cleaning.dedup.drops import DropWriter, mark_path, write_marks
from nmt_prep.cleaning.dedup.keys import Comparison, parts_of, rows_of
from nmt_prep.cleaning.dedup.spill import SpilledRange, SpillFiles, SpillWriter, range_bits, spill_path

COMPARISONS = (Comparison("pair", "exact", (), 1), Comparison("source", "exact", (), 2))


def test_ranges_of_keys_fit_the_memory() -> None:
    assert range_bits(0, 24, 1 << 30) == 0
    assert range_bits((64 << 20) // 24, 24, 1 << 30) == 0
    assert range_bits((64 << 20) // 24 + 1, 24, 1 << 30) == 1
    assert range_bits(500_000_000, 24, 2 << 30) == 8
    assert range_bits(500_000_000, 24, 100 << 20) == 9
    assert range_bits(10**15, 64, 1) == 12


@pytest.mark.parametrize("bits", [0, 1, 3])
@pytest.mark.parametrize("width", [3, 8])
def test_records_are_ordered_by_range(bits: int, width: int) -> None:
    records = np.random.default_rng(1).integers(0, 1 << 63, (40, width)).astype(np.uint64) * np.uint64(2)
    ordered, starts = partition_records(records, bits)
    ranges = records[:, 0] >> np.uint64(64 - bits) if bits else np.zeros(40, np.uint64)
    assert ordered.tolist() == records[np.argsort(ranges, kind="stable")].tolist()
    assert starts.tolist() == [int((ranges < number).sum()) for number in range((1 << bits) + 1)]


def test_records_that_cannot_be_divided_are_refused() -> None:
    with pytest.raises(ValueError, match="3 to 8 columns"):
        partition_records(np.zeros((1, 2), np.uint64), 0)
    with pytest.raises(ValueError, match="20 bits"):
        partition_records(np.zeros((1, 3), np.uint64), 21)


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


def test_no_spill_file_is_left_after_an_error(tmp_path: Path) -> None:
    with suppress(KeyError), SpillWriter(SpillFiles(tmp_path, 0, COMPARISONS, 0)) as writer:
        writer.add(pa.record_batch({"source": ["a"], "target": ["b"], "row": [0]}))
        raise KeyError
    assert [*tmp_path.iterdir()] == []


def test_monolingual_parts_may_have_nothing_to_spill(tmp_path: Path) -> None:
    with SpillWriter(SpillFiles(tmp_path, 0, (), 0)) as writer:
        writer.add(pa.record_batch({"source": ["a"], "target": ["b"], "row": [0]}))
    assert not spill_path(tmp_path, "pair", 0).exists()
