from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_prep.corpora.batch_file import BatchFile
from nmt_prep.corpora.parts import part_schema


def batch(*sources: str) -> pa.RecordBatch:
    rows = [{"source": source, "target": "t", "corpus": "c", "row": row} for row, source in enumerate(sources)]
    return pa.RecordBatch.from_pylist(rows, schema=part_schema())


def test_each_batch_is_a_row_group_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    with BatchFile(tmp_path / "below" / "x.parquet") as file:
        for each in (batch(), batch("a", "b"), batch(), batch("c")):
            file.write(each)
        assert list((tmp_path / "below").glob("x.parquet")) == []
    assert file.pairs == 3
    metadata = pq.read_metadata(tmp_path / "below" / "x.parquet")
    assert [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)] == [2, 1]
    assert pq.read_table(tmp_path / "below" / "x.parquet").column("source").to_pylist() == ["a", "b", "c"]


def test_without_pairs_there_is_no_file(tmp_path: Path) -> None:
    with BatchFile(tmp_path / "x.parquet") as file:
        file.write(batch())
    assert (file.pairs, list(tmp_path.iterdir())) == (0, [])


def test_after_an_error_nothing_is_left(tmp_path: Path) -> None:
    def fail() -> None:
        with BatchFile(tmp_path / "x.parquet") as file:
            file.write(batch("a"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []
