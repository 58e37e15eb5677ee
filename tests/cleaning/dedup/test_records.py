from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from nmt_prep.base.errors import OutputError
from nmt_prep.cleaning.dedup.records import GroupedWriter, Records, slices_of


def numbers(*values: int) -> Records:
    return np.array(values, np.uint64)


def rows(*values: int) -> Records:
    return numbers(*values).reshape(-1, 2)


def write(path: Path) -> None:
    with GroupedWriter(path) as writer:
        writer.write(rows(1, 2, 3, 4, 5, 6), numbers(0, 1, 1, 3))
        writer.write(rows(), numbers(0, 0, 0, 0))
        writer.write(rows(7, 8), numbers(0, 0, 0, 1))


def test_each_group_is_read_from_all_runs(tmp_path: Path) -> None:
    write(tmp_path / "file")
    found = [[each.read(2).tolist() for each in slices_of(tmp_path / "file", group, 3, 2)] for group in range(3)]
    assert found == [[[[1, 2]]], [], [[[3, 4], [5, 6]], [[7, 8]]]]
    long, _ = slices_of(tmp_path / "file", 2, 3, 2)
    assert (long.rows, long.read(2, 1).tolist(), long.read(2, 0, 1).tolist()) == (2, [[5, 6]], [[3, 4]])
    with GroupedWriter(tmp_path / "empty"):
        pass
    assert slices_of(tmp_path / "empty", 0, 3, 2) == []


def test_a_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path)
    content = path.read_bytes()
    (whole,) = slices_of(path, 0, 3, 2)
    for size in (len(content) - 8, 40, 4, 0):
        path.write_bytes(content[:size])
        with pytest.raises(OutputError, match=r"file is cut off; run the stage again with --force clean"):
            slices_of(path, 0, 3, 2)
    with pytest.raises(OutputError, match="file is cut off"):
        whole.read(2)
    path.unlink()
    with pytest.raises(OutputError, match="file"):
        slices_of(path, 0, 3, 2)


def test_no_file_is_left_after_an_error(tmp_path: Path) -> None:
    with suppress(KeyError), GroupedWriter(tmp_path / "file") as writer:
        writer.write(rows(1, 2), numbers(0, 1))
        raise KeyError
    assert [*tmp_path.iterdir()] == []
