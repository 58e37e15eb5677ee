"""Pairs of text through spill files: the same permutation as for IDs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import RecordsError
from nmt_prep.training.outputs.output_pairs import TextPairs
from nmt_prep.training.records.shuffle_plan import GlobalShuffle, ShardPlan
from nmt_prep.training.records.writer import SpillWriter

TEXTS = [(f"source {n}" * (n % 4), f"译文{n}") for n in range(50)]


def spilled(directory: Path, shards: int, buckets: int) -> ShardPlan:
    """Spills the texts in two files, of corpora 0 and 1."""
    plan = ShardPlan(GlobalShuffle(len(TEXTS), 7, "train"), shards, buckets, "text")
    for number, (first, last) in enumerate(((0, 20), (20, 50))):
        with SpillWriter(directory / str(number), plan, buffer_bytes=300) as writer:
            sides = [pa.array([pair[side] for pair in TEXTS[first:last]]) for side in range(2)]
            writer.add_text(first, *sides, number)
            assert writer.close().pairs == last - first
    return plan


def read(directory: Path, plan: ShardPlan, shard: int) -> list[tuple[str, str, int]]:
    pairs = TextPairs(plan, shard, (directory / "0", directory / "1"))
    return [
        row
        for batch in pairs.batches(directory / "x")
        for row in zip(batch.sources.to_pylist(), batch.targets.to_pylist(), batch.corpora.tolist(), strict=True)
    ]


@pytest.mark.parametrize(("shards", "buckets"), [(1, 1), (3, 4), (60, 2)])
def test_text_is_in_the_order_of_the_global_shuffle(tmp_path: Path, shards: int, buckets: int) -> None:
    plan = spilled(tmp_path, shards, buckets)
    expected = [("", "", 0)] * len(TEXTS)
    for row, position in enumerate(plan.shuffle.positions(0, len(TEXTS)).tolist()):
        expected[position] = (*TEXTS[row], int(row >= 20))
    assert [pair for shard in range(shards) for pair in read(tmp_path, plan, shard)] == expected


def test_batches_of_text_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = spilled(tmp_path, 1, 1)
    whole = read(tmp_path, plan, 0)
    monkeypatch.setattr("nmt_prep.training.outputs.output_pairs._TEXT_BYTES", 40)
    batches = list(TextPairs(plan, 0, (tmp_path / "0", tmp_path / "1")).batches(tmp_path / "x"))
    assert len(batches) > 20
    assert [text for batch in batches for text in batch.targets.to_pylist()] == [pair[1] for pair in whole]


def test_a_damaged_spill_file_is_found(tmp_path: Path) -> None:
    plan = spilled(tmp_path, 1, 1)
    content = bytearray((tmp_path / "1").read_bytes())
    content[40] ^= 1
    (tmp_path / "1").write_bytes(content)
    with pytest.raises(RecordsError, match="a record's checksum does not match"):
        read(tmp_path, plan, 0)


def test_ids_do_not_go_into_a_buffer_of_text(tmp_path: Path) -> None:
    ids = Ragged.from_lists([[1, 2]])
    text = pa.array(["a"])
    shuffle = GlobalShuffle(1, 1, "train")
    with (
        SpillWriter(tmp_path / "a", ShardPlan(shuffle, 1, 1, "text")) as writer,
        pytest.raises(ValueError, match="eit"),
    ):
        writer.add(0, ids, ids)
    with (
        SpillWriter(tmp_path / "b", ShardPlan(shuffle, 1, 1, "chunk")) as writer,
        pytest.raises(ValueError, match="eit"),
    ):
        writer.add_text(0, text, text)
    with SpillWriter(tmp_path / "c", ShardPlan(shuffle, 1, 1, "text")) as writer:
        writer.add_text(0, text, text)
        writer.close()
    pairs = TextPairs(ShardPlan(shuffle, 1, 1, "chunk"), 0, (tmp_path / "c",))
    with pytest.raises(RecordsError, match="it was not written under this plan"):
        list(pairs.batches(tmp_path / "x"))
