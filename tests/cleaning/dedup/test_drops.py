from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from _nmt_prep_core import ROW_BITS

from nmt_prep.base.errors import OutputError
from nmt_prep.cleaning.dedup import drops as repeated
from nmt_prep.cleaning.dedup.drops import (
    DropWriter,
    Marks,
    PartDrops,
    cluster_sizes,
    mark_path,
    merged_clusters,
    read_survivors,
    with_repeated,
    write_marks,
)

ONE, TWO = 1 << ROW_BITS, 2 << ROW_BITS


def write(path: Path, *drops: tuple[int, int]) -> Path:
    with DropWriter(path, 3) as output:
        output.add(np.array(drops, np.uint64).reshape(-1, 2))
    return path


def test_drops_are_found_by_part(tmp_path: Path) -> None:
    a = write(tmp_path / "a", (5, 1), (ONE + 2, 1), (TWO + 9, 3))
    b, c = write(tmp_path / "b"), write(tmp_path / "c", (ONE + 1, 7))
    found = PartDrops({"same": (a, b), "many": (c,)}, 1, 3)
    assert len(found) == 2
    kept, reasons, survivors = found.among(np.array([ONE, ONE + 1, ONE + 2, ONE + 4], np.uint64))
    assert kept.tolist() == [True, False, False, True]
    assert (reasons.tolist(), survivors.tolist()) == ([1, 0], [7, 1])
    assert found.among(np.zeros(0, np.uint64))[0].tolist() == []
    assert len(PartDrops({}, 1, 3)) == 0
    assert len(PartDrops({"same": (b,)}, 1, 3)) == 0


def test_drops_are_found_batch_by_batch(tmp_path: Path) -> None:
    rows = np.array([row for row in range(200) if row % 7 and not 60 <= row < 90])
    chosen = {"a": [row for row in rows if row % 3 == 0], "b": [row for row in rows if row % 5 == 1 and row % 3]}
    paths = {name: (write(tmp_path / name, *[(ONE + row, row) for row in own]),) for name, own in chosen.items()}
    held = PartDrops(paths, 1, 3)
    assert len(held) == sum(map(len, chosen.values()))
    found: dict[str, list[int]] = {"a": [], "b": []}
    for batch in np.split(rows, [1, 4, 30, 31, 100, 150]):
        kept, reasons, survivors = held.among(batch.astype(np.uint64) + np.uint64(ONE))
        assert batch[~kept].tolist() == survivors.tolist()
        for reason, row in zip(reasons, survivors, strict=True):
            found[held.reasons[reason]].append(int(row))
    assert found == chosen
    write_marks(mark_path(tmp_path, "x", 1), paths, 1, 3)
    marked = Marks.read(tmp_path, "x", 1).among(np.arange(200, dtype=np.uint64) + np.uint64(ONE))
    assert np.flatnonzero(marked).tolist() == sorted(chosen["a"] + chosen["b"])


def test_marks_are_the_dropped_rows(tmp_path: Path) -> None:
    paths = write(tmp_path / "a", (ONE + 30, 1), (ONE + 47, 1)), write(tmp_path / "b", (5, 1), (ONE + 31, 1))
    for part in range(3):
        write_marks(mark_path(tmp_path, "pair", part), {"same": paths[:1], "many": paths[1:]}, part, 3)
    places = np.arange(ONE, ONE + 100, dtype=np.uint64)
    assert np.flatnonzero(Marks.read(tmp_path, "pair", 1).among(places)).tolist() == [30, 31, 47]
    assert np.flatnonzero(Marks.read(tmp_path, "pair", 0).among(places - np.uint64(ONE))).tolist() == [5]
    assert not Marks.read(tmp_path, "pair", 2).among(places + np.uint64(ONE)).any()
    with pytest.raises(OutputError, match="pair-00003"):
        Marks.read(tmp_path, "pair", 3)


def test_sizes_of_clusters_are_counted_in_bins() -> None:
    dropped = np.array([1, 1, 7, 8, 15, 16, 31, 32])
    assert cluster_sizes(dropped) == ((2, 2), (8, 1), (9, 2), (17, 2), (33, 1))
    assert cluster_sizes(dropped[:0]) == ()
    assert merged_clusters([((2, 1), (9, 4)), (), ((2, 2), (3, 1))]) == ((2, 3), (3, 1), (9, 4))


def test_clusters_of_a_file_are_those_of_all_its_runs(tmp_path: Path) -> None:
    with DropWriter(tmp_path / "a", 3) as output:
        output.add(np.array([(5, 1), (6, 2)], np.uint64))
        output.add(np.array([(ONE, 1), (ONE + 1, 7)], np.uint64))
    assert output.clusters() == ((2, 2), (3, 1))
    assert read_survivors(tmp_path / "a", 1, 3).tolist() == [1, 7]
    assert read_survivors(tmp_path / "a", 2, 3).tolist() == []
    with DropWriter(tmp_path / "b", 3) as output:
        pass
    assert output.clusters() == ()


# Duplicates in documents, which stay beside the next pair.


def batch_of(documents: list[str | None], rows: list[int]) -> pa.RecordBatch:
    names = pa.array(documents).dictionary_encode()
    sources, targets = ([f"{side}{row}" for row in rows] for side in "st")
    return pa.record_batch(
        [pa.array(sources), pa.array(targets), pa.array(rows), names], ["source", "target", "row", "document"]
    )


def before(batch: pa.RecordBatch, kept: str) -> dict[int, list[str]]:
    """Returns the rows of repeated segments before each kept row, given ``+`` and ``-`` for each row."""
    passing = np.array([letter == "+" for letter in kept])
    found = with_repeated(batch, passing).filter(pa.array(passing))
    assert found.schema.names[:4] == batch.schema.names[:4]
    sources, targets = (found.column(name).to_pylist() for name in ("before:source", "before:target"))
    assert [[text.replace("s", "t") for text in each] for each in sources] == targets
    return dict(zip(found.column("row").to_pylist(), sources, strict=True))


def test_duplicates_go_to_the_next_pair_of_their_document() -> None:
    batch = batch_of(["a", "a", "a", "a", "b", "b", "b"], [0, 1, 2, 3, 4, 5, 6])
    assert before(batch, "-+--+-+") == {1: ["s0"], 4: [], 6: ["s5"]}
    assert before(batch, "---+++-") == {3: ["s0", "s1", "s2"], 4: [], 5: []}


def test_a_missing_row_or_no_document_divides() -> None:
    assert before(batch_of(["a"] * 5, [0, 2, 3, 5, 6]), "--+-+") == {3: ["s2"], 6: ["s5"]}
    assert before(batch_of(["a"] * 3, [0, 1, 3]), "--+") == {3: []}
    assert before(batch_of([None] * 3, [0, 1, 2]), "--+") == {2: []}
    assert before(batch_of(["a"] * 2, [0, 1]), "--") == {}


def test_a_second_comparison_adds_to_the_segments_of_the_first() -> None:
    batch = batch_of(["a"] * 7, [0, 1, 2, 3, 4, 5, 6])
    passing = np.array([letter == "+" for letter in "+-+-++-"])
    first = with_repeated(batch, passing).filter(pa.array(passing))
    assert before(first, "+-++") == {0: [], 4: ["s1", "s2", "s3"], 5: []}
    assert before(first, "-+-+") == {2: ["s0", "s1"], 5: ["s3", "s4"]}


def test_the_last_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated, "MOST", 2)
    assert before(batch_of(["a"] * 5, [0, 1, 2, 3, 4]), "+---+") == {0: [], 4: ["s2", "s3"]}
