from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.digests import sha256_of
from nmt_prep.base.errors import CorpusError
from nmt_prep.corpora import PairBatch, iter_pairs, row_groups
from nmt_prep.corpora import parts as module
from nmt_prep.corpora.formats.plain import save_part
from nmt_prep.corpora.parts import BatchFile, KeptPart, PairFile, other_columns, part_schema, write_parts


def batch(sources: list[str], targets: list[str], first_row: int = 0) -> PairBatch:
    rows = np.arange(first_row, first_row + len(sources))
    return PairBatch(pa.array(sources, pa.large_string()), pa.array(targets, pa.large_string()), rows=rows)


@pytest.fixture(autouse=True)
def small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROW_GROUP_BYTES", 10)
    monkeypatch.setattr(module, "PART_BYTES", 25)


def test_sizes_of_row_groups_and_parts(tmp_path: Path) -> None:
    batches = [batch(["abc"] * 5, ["中"] * 5), batch(["x" * 30, "", "y"], ["", "z", "u"])]
    assert write_parts(batches, "c", tmp_path, "part-007") == [
        PairFile("part-007-00000.parquet", 6, "c", 60, sha256=sha256_of(tmp_path / "part-007-00000.parquet")),
        PairFile("part-007-00001.parquet", 2, "c", 3, sha256=sha256_of(tmp_path / "part-007-00001.parquet")),
    ]
    assert row_groups(tmp_path / "part-007-00000.parquet") == [2, 2, 2]
    assert row_groups(tmp_path / "part-007-00001.parquet") == [2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part-007-00000.parquet", "part-007-00001.parquet"]


def test_parts_of_one_side_leave_room_for_the_other(tmp_path: Path) -> None:
    lines = [batch(["abcde"] * 7, [""] * 7)]
    assert [part.pairs for part in write_parts(lines, "c", tmp_path, "p", sides=1)] == [4, 3]
    assert [part.pairs for part in write_parts(lines, "c", tmp_path, "p")] == [6, 1]


def test_reading(tmp_path: Path) -> None:
    write_parts([batch(list("abcdef"), ["1234"] * 6, first_row=2**40)], "news-v1", tmp_path, "p")
    path = tmp_path / "p-00000.parquet"
    assert [read.schema for read in iter_pairs(str(path))] == [part_schema()] * 3
    assert [read.column("source").to_pylist() for read in iter_pairs(path, [2, 0])] == [["e", "f"], ["a", "b"]]
    assert next(iter_pairs(path)).to_pylist() == [
        {"source": "a", "target": "1234", "corpus": "news-v1", "row": 2**40},
        {"source": "b", "target": "1234", "corpus": "news-v1", "row": 2**40 + 1},
    ]
    assert [read.to_pydict() for read in iter_pairs(path, [2], ["target", "row"])] == [
        {"target": ["1234", "1234"], "row": [2**40 + 4, 2**40 + 5]}
    ]


def test_row_numbers_take_less_than_a_bit_each_if_few_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROW_GROUP_BYTES", 1 << 20)
    monkeypatch.setattr(module, "PART_BYTES", 1 << 20)
    count = 60_000
    pairs = batch(["a"] * count, ["b"] * count, first_row=10**9)
    write_parts([pairs.filter(np.arange(count) % 1000 != 7)], "c", tmp_path, "p")
    column = pq.read_metadata(tmp_path / "p-00000.parquet").row_group(0).column(3)
    assert (column.path_in_schema, column.num_values) == ("row", 59_940)
    assert column.total_compressed_size < count / 8


def test_a_row_group_of_short_lines_is_read_in_batches_of_few_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parts([batch(list("abcdefg"), [""] * 7)], "c", tmp_path, "p")
    path = tmp_path / "p-00000.parquet"
    assert row_groups(path) == [7]
    monkeypatch.setattr(module, "LINES_PER_CHUNK", 3)
    assert [read.column("source").to_pylist() for read in iter_pairs(path)] == [list("abc"), list("def"), ["g"]]


@given(data=st.data(), lengths=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=30))
def test_bytes_do_not_depend_on_the_batches(
    new_directory: Callable[[], Path], data: st.DataObject, lengths: list[tuple[int, int]]
) -> None:
    sources, targets = ["a" * source for source, _ in lengths], ["b" * target for _, target in lengths]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(lengths)), max_size=5)))
    bounds = [0, *cuts, len(lengths)]
    batches = [batch(sources[i:j], targets[i:j], i) for i, j in pairwise(bounds)]
    whole, pieces = new_directory(), new_directory()
    assert write_parts([batch(sources, targets)], "c", whole, "p") == write_parts(batches, "c", pieces, "p")
    names = sorted(path.name for path in whole.iterdir())
    assert [(whole / name).read_bytes() for name in names] == [(pieces / name).read_bytes() for name in names]
    read = [row for name in names for group in iter_pairs(whole / name) for row in group.to_pylist()]
    assert [(row["source"], row["target"]) for row in read] == list(zip(sources, targets, strict=True))
    assert [row["row"] for row in read] == list(range(len(lengths)))


def test_no_rows_give_no_part(tmp_path: Path) -> None:
    assert write_parts([batch([], [])], "c", tmp_path, "p") == []
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_only_whole_parts(tmp_path: Path) -> None:
    def failing() -> object:
        yield batch(["x" * 30, "y" * 11], ["", ""])
        raise CorpusError("line 3")

    with pytest.raises(CorpusError, match="line 3"):
        write_parts(failing(), "c", tmp_path, "p")  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["p-00000.parquet"]


def test_damaged_part(tmp_path: Path) -> None:
    write_parts([batch(["abc"], ["def"])], "c", tmp_path, "p")
    path = tmp_path / "p-00000.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(CorpusError, match=r"cannot read the compiled part .*p-00000\.parquet"):
        list(iter_pairs(path))
    with pytest.raises(CorpusError, match="cannot read the compiled part"):
        row_groups(path)


def part_batch(*sources: str) -> pa.RecordBatch:
    rows = [{"source": source, "target": "t", "corpus": "c", "row": row} for row, source in enumerate(sources)]
    return pa.RecordBatch.from_pylist(rows, schema=part_schema())


def test_a_part_names_pairs_of_another_part_that_stay(tmp_path: Path) -> None:
    write_parts([batch([f"s{n}" for n in range(9)], ["t"] * 9, 100)], "c", tmp_path, "part")
    assert row_groups(tmp_path / "part-00000.parquet") == [4, 4, 1]
    kept = KeptPart.of("../part-00000.parquet", [4, 4, 1], np.array([1, 0, 0, 1, 0, 0, 0, 0, 1], np.bool_))
    path = tmp_path / "train" / "part.kept"
    path.parent.mkdir()
    assert save_part(kept, path) == sha256_of(path)
    assert path.read_text() == (
        '{"groups":[{"left_out":[1,2],"number":0,"pairs":2},{"left_out":[],"number":2,"pairs":1}],'
        '"part":"../part-00000.parquet"}\n'
    )
    assert row_groups(path) == [2, 1]
    assert [found["row"].to_pylist() for found in iter_pairs(path)] == [[100, 103], [108]]
    assert [found.to_pydict() for found in iter_pairs(path, [1], ["source"])] == [{"source": ["s8"]}]
    assert other_columns(path) == {}
    path.write_text(path.read_text().replace('[1,2],"number":0,"pairs":2', '[],"number":2,"pairs":2'))
    with pytest.raises(CorpusError, match="has 2 pairs instead of 3"):
        list(iter_pairs(path))


def test_each_batch_is_a_row_group_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    with BatchFile(tmp_path / "below" / "x.parquet") as file:
        for written in (part_batch(), part_batch("a", "b"), part_batch(), part_batch("c")):
            file.write(written)
        assert list((tmp_path / "below").glob("x.parquet")) == []
    assert file.pairs == 3
    metadata = pq.read_metadata(tmp_path / "below" / "x.parquet")
    assert [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)] == [2, 1]
    assert pq.read_table(tmp_path / "below" / "x.parquet").column("source").to_pylist() == ["a", "b", "c"]


@pytest.mark.parametrize(("compressed", "expected"), [(True, "ZSTD"), (False, "UNCOMPRESSED")])
def test_a_file_that_is_read_once_need_not_be_compressed(compressed: bool, expected: str, tmp_path: Path) -> None:
    with BatchFile(tmp_path / "x.parquet", compressed=compressed) as file:
        file.write(part_batch("a", "b"))
    assert pq.read_metadata(tmp_path / "x.parquet").row_group(0).column(0).compression == expected
    (batch,) = iter_pairs(tmp_path / "x.parquet")
    assert batch == part_batch("a", "b")


def test_without_pairs_there_is_no_file(tmp_path: Path) -> None:
    with BatchFile(tmp_path / "x.parquet") as file:
        file.write(part_batch())
    assert (file.pairs, list(tmp_path.iterdir())) == (0, [])


def test_after_an_error_nothing_is_left(tmp_path: Path) -> None:
    def fail() -> None:
        with BatchFile(tmp_path / "x.parquet") as file:
            file.write(part_batch("a"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []
