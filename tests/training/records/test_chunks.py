from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from _nmt_prep_core import ChunkWriter, pack_best_fit, pack_rounds, pack_sequences, parse_chunks
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.errors import RecordsError
from nmt_prep.training.records.record_columns import ShardIndex
from nmt_prep.training.records.shard_reader import read_shard, read_span
from nmt_prep.training.records.shuffle_plan import GlobalShuffle, Layout, ShardPlan
from nmt_prep.training.records.writer import SpillWriter, write_shards
from tests.conftest import examples
from tests.reference import chunks as reference
from tests.reference import row_packing
from tests.reference.records import frame
from tests.reference.shuffle import position, round_keys
from tests.training.records.conftest import SEED, Pairs, columns

LENGTHS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=60)


def drawn_pairs(count: int, longest: int = 30) -> Pairs:
    rng = random.Random(count)
    return [([i, *range(rng.randrange(longest)), 1], [i, *range(rng.randrange(longest)), 1]) for i in range(count)]


def write(directory: Path, pairs: Pairs, layout: Layout, *, buckets: int = 1, row_length: int = 64) -> Path:
    plan = ShardPlan(GlobalShuffle(len(pairs), SEED, "train"), 1, buckets, layout, row_length)
    with SpillWriter(directory / "spill", plan) as spill:
        half = len(pairs) // 2
        spill.add(0, *columns(pairs[:half]), 0)
        spill.add(half, *columns(pairs[half:]), 1)
        spill.close()
    write_shards([directory / "shard"], plan, 0, [directory / "spill"])
    return directory / "shard"


def in_order(pairs: Pairs) -> tuple[Pairs, list[int]]:
    keys = round_keys(SEED, "train")
    rows = sorted(range(len(pairs)), key=lambda row: position(row, len(pairs), keys))
    return [pairs[row] for row in rows], [int(row >= len(pairs) // 2) for row in rows]


@settings(max_examples=examples(150))
@given(LENGTHS, st.integers(1, 40))
def test_packing_equals_the_reference(lengths: list[tuple[int, int]], length: int) -> None:
    source, target = (np.array([pair[side] for pair in lengths], np.int32) for side in (0, 1))
    assert pack_best_fit(source, target, length).tolist() == reference.pack_best_fit(lengths, length)


@settings(max_examples=examples(150))
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=80), st.integers(20, 60))
def test_packing_in_rounds_equals_the_reference(lengths: list[tuple[int, int]], length: int) -> None:
    source, target = (np.array([pair[side] for pair in lengths], np.int32) for side in (0, 1))
    rows = pack_rounds(source, target, length)
    assert rows.tolist() == row_packing.pack_rounds(source, target, length).tolist()
    for side in (source, target):
        assert np.bincount(rows, side).max(initial=0) <= length


@settings(max_examples=examples(150))
@given(st.lists(st.integers(0, 70), max_size=80), st.sampled_from([70, 127, 128, 9000]))
def test_packing_of_sequences_equals_the_reference(lengths: list[int], length: int) -> None:
    rows = pack_sequences(np.array(lengths, np.int32), length)
    assert rows.tolist() == row_packing.pack_sequences(lengths, length)
    assert np.bincount(rows, lengths).max(initial=0) <= length
    assert pack_sequences(np.array(lengths[::-1], np.int32), length).max(initial=-1) == rows.max(initial=-1)


@pytest.mark.parametrize(("length", "fill"), [(2048, 0.995), (4096, 0.998), (8192, 0.998)])
def test_sequences_fill_their_rows(length: int, fill: float) -> None:
    rng = np.random.default_rng(1)
    lengths = np.clip(rng.lognormal(4.2, 0.6, 131_072) + 20, 24, 600).astype(np.int32)  # prompts and pairs
    assert lengths.sum() / (length * (int(pack_sequences(lengths, length).max()) + 1)) >= fill
    documents = np.clip(rng.lognormal(6, 0.8, 20_000), 30, length).astype(np.int32)
    assert documents.sum() / (length * (int(pack_sequences(documents, length).max()) + 1)) >= 0.98


@pytest.mark.parametrize("layout", ["chunk", "packed"])
@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 1500])
def test_shards_equal_the_reference_for_any_buckets(tmp_path: Path, layout: Layout, count: int) -> None:
    pairs = drawn_pairs(count)
    records = reference.chunks(*in_order(pairs), 64 if layout == "packed" else None)
    expected = b"".join(map(frame, records))
    for buckets in (1, 7):
        shard = write(tmp_path, pairs, layout, buckets=buckets)
        assert shard.read_bytes() == expected
    index = ShardIndex.load(shard)
    inputs, targets = read_shard(shard, layout)
    assert index.pairs[:, 0].tolist() == inputs.lengths.tolist()
    assert index.pairs[:, 1].tolist() == targets.lengths.tolist()
    assert index.pairs[:, 2].sum() == count - count // 2
    assert index.blocks[:, 2].sum() == count
    assert sorted(zip(inputs.to_lists(), targets.to_lists(), strict=True)) == sorted(pairs)


def test_a_range_of_blocks_can_be_read(tmp_path: Path) -> None:
    pairs = drawn_pairs(1000)
    ordered, corpora = in_order(pairs)
    for layout in ("example", "chunk"):
        shard = write(tmp_path, pairs, layout)
        blocks = ShardIndex.load(shard).blocks
        assert blocks[:, 2].tolist() == [256, 256, 256, 232]
        span = read_span(shard, int(blocks[1, 0]), int(blocks[3, 0]), layout)
        assert list(zip(span.inputs.to_lists(), span.targets.to_lists(), strict=True)) == ordered[256:768]
        assert span.corpora is None if layout == "example" else span.corpora.tolist() == corpora[256:768]
    with pytest.raises(RecordsError, match="the file ends within it"):
        read_span(shard, 0, int(blocks[1, 0]) - 1, "chunk")


def test_the_bytes_never_change() -> None:
    record = reference.chunk([([5, 1], [7, 8, 1])], [3], [1])
    assert record.hex() == (
        "4e4d5443010000000100000001000000020000000300000003000000010000000500000001000000070000000800000001000000"
    )


@given(st.data())
def test_damaged_chunks_are_refused_or_read(data: st.DataObject) -> None:
    content = bytearray(reference.chunk([([5, 1], [7, 8, 1]), ([], [9])], [0, 1], [1, 1]))
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=3)):
        content[at] = byte
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    *_, records, consumed, error = parse_chunks(np.frombuffer(frame(bytes(content)), np.uint8), 9)
    assert (records, consumed) == ((0, 0) if error else (1, len(content) + 16))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (b"abcd", "it is not a chunk"),
        (reference.chunk([([1], [1])], [0], [1]).replace(b"C\x01", b"C\x02"), "another version"),
        (reference.chunk([([1], [1])], [0], [])[:-4], "its lengths do not add up to its number of ids"),
        (reference.chunk([([1], [1])], [0], [2]), "its rows do not add up to its number of pairs"),
        (reference.chunk([([1], [1])], [0], [0, 1]), "a row without pairs"),
        (reference.chunk([([1], [1])], [0], [])[:20], "its counts exceed its size"),
    ],
)
def test_errors(tmp_path: Path, record: bytes, message: str) -> None:
    (tmp_path / "shard").write_bytes(frame(record))
    with pytest.raises(RecordsError, match=f"record at byte 0: .*{message}"):
        read_shard(tmp_path / "shard", "chunk")


def test_spills_of_another_layout_are_refused(tmp_path: Path) -> None:
    write(tmp_path, drawn_pairs(9), "example")
    with pytest.raises(RecordsError, match="not written under this plan"):
        write_shards(
            [tmp_path / "b"], ShardPlan(GlobalShuffle(9, SEED, "train"), 1, 1, "chunk"), 0, [tmp_path / "spill"]
        )


def test_arguments_out_of_range() -> None:
    with pytest.raises(ValueError, match="1 to 1024"):
        ChunkWriter(256, 1025)
    with pytest.raises(ValueError, match="negative"):
        pack_best_fit(np.array([-1], np.int32), np.array([1], np.int32), 5)
    with pytest.raises(ValueError, match="a length is above that of the rows"):
        pack_rounds(np.array([1], np.int32), np.array([6], np.int32), 5)
    with pytest.raises(ValueError, match="the sides have different numbers of pairs"):
        pack_rounds(np.array([1], np.int32), np.array([], np.int32), 5)
    with pytest.raises(ValueError, match="rows are 1 to"):
        pack_rounds(np.array([0], np.int32), np.array([0], np.int32), 0)
    for lengths, row_length in (([-1], 5), ([6], 5), ([0], 0), ([0], 2**24 + 1)):
        with pytest.raises(ValueError, match=r"lengths are from 0 to that of a row|rows are 1 to 2\*\*24 ids long"):
            pack_sequences(np.array(lengths, np.int32), row_length)
