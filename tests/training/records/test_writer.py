from __future__ import annotations

import errno
import hashlib
import os
import resource
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from _nmt_prep_core import Bucket, SpillBuffer, crc32c
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt_prep.base import artefacts
from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import OutputError, RecordsError
from nmt_prep.training.records import writer
from nmt_prep.training.records.dataset_json import IndexInfo, PairStats, ShardInfo
from nmt_prep.training.records.shard_reader import read_shard
from nmt_prep.training.records.shuffle_plan import GlobalShuffle, ShardPlan
from nmt_prep.training.records.writer import SpillWriter, write_shards
from tests.conftest import examples
from tests.reference import records as reference
from tests.reference.shuffle import shard_contents
from tests.training.records.conftest import SEED, Pairs, columns, lengths_of, make_pairs, write_split


def plan(rows: int, shards: int = 2, buckets: int = 2, seed: int = 1) -> ShardPlan:
    return ShardPlan(GlobalShuffle(rows, seed, "train"), shards, buckets)


def make_spill(path: Path, plan: ShardPlan, pairs: Pairs, first: int = 0) -> Path:
    with SpillWriter(path, plan) as spill:
        spill.add(first, *columns(pairs))
        spill.close()
    return path


@pytest.mark.parametrize("portable", [False, True])
def test_crc32c_check_values(portable: bool) -> None:
    # RFC 3720, appendix B.4, and the standard check value.
    assert crc32c(b"123456789", portable) == 0xE3069283
    assert crc32c(bytes(32), portable) == 0x8A9136AA
    assert crc32c(b"\xff" * 32, portable) == 0x62A8AB43
    assert crc32c(bytes(range(32)), portable) == 0x46DD794E
    assert crc32c(b"", portable) == 0


@given(st.binary(max_size=100))
def test_crc32c_equals_the_reference(data: bytes) -> None:
    assert crc32c(data) == crc32c(data, True) == reference.crc32c(data)


@pytest.mark.parametrize("offsets", [[], [0, 11], [-1, 3], [0, 5, 4]])
def test_bad_offsets_are_refused(offsets: list[int], tmp_path: Path) -> None:
    bad = Ragged(np.arange(10, dtype=np.int32), np.array(offsets, np.int64))
    with SpillWriter(tmp_path / "spill", plan(10)) as spill, pytest.raises(ValueError, match="offsets must"):
        spill.add(0, bad, bad)


def test_index_entries_count_as_memory() -> None:
    one = np.array([0, 1], np.int64)
    payloads: tuple[tuple[Literal["example", "ids"], int], ...] = (("example", 12), ("ids", 18))
    for payload, size in payloads:
        buffer = SpillBuffer(plan(10).shuffle.keys, 10, 2, 2, payload)
        for row in range(3):
            buffer.add(row, np.array([5], np.int32), one, np.array([7], np.int32), one, 0)
        assert (buffer.bytes, buffer.held) == (3 * size, 3 * (size + 24))
        buffer.drain(np.empty(3 * size, np.uint8))
        assert (buffer.bytes, buffer.held) == (0, 0)


def test_rows_outside_the_split_are_refused(tmp_path: Path) -> None:
    two, three = columns(make_pairs(2)), columns(make_pairs(3))
    with SpillWriter(tmp_path / "spill", plan(10)) as spill:
        for first in (-1, 9, 2**62):
            with pytest.raises(ValueError, match="of a split of 10"):
                spill.add(first, *two)
        with pytest.raises(ValueError, match="2 rows of inputs, 3 of targets"):
            spill.add(0, two[0], three[1])


@pytest.mark.parametrize(("before", "after"), [((), (1,)), ((7, 300), (1,)), ((70_000,), ()), ((), ())])
def test_frames_are_as_ids_of_the_rows(before: tuple[int, ...], after: tuple[int, ...], tmp_path: Path) -> None:
    pairs = [*make_pairs(9), ([], [])]
    framed = [(source, [*before, *target, *after]) for source, target in pairs]
    with SpillWriter(tmp_path / "inside", plan(10), frames=(((), ()), (before, after))) as spill:
        assert spill.add(0, *columns(pairs)) == PairStats.of(*lengths_of(framed)) == spill.close()
    assert (tmp_path / "inside").read_bytes() == make_spill(tmp_path / "whole", plan(10), framed).read_bytes()


@given(st.integers(1, 2**40), st.integers(1, 2**10), st.integers(1, 2**10), st.integers(0, 2**20))
@example(49, 5, 1, 1)  # an estimated quotient is too small at the first position of the shard
@example(2**40, 2**16, 1, 40_000)  # and too large before it
def test_rows_are_in_the_bucket_of_their_position(rows: int, shards: int, buckets: int, number: int) -> None:
    cut = plan(rows, shards, buckets)
    start = cut.bucket_range(number % cut.buckets).start
    nothing, ids = np.zeros(2, np.int64), np.empty(0, np.int32)
    for position in {max(start - 1, 0), min(start, rows - 1), rows - 1}:
        buffer = SpillBuffer(cut.shuffle.keys, rows, shards, buckets, "ids")
        buffer.add(cut.shuffle.rows_at([position]).item(), ids, nothing, ids, nothing, 0)
        [[bucket, _, _]] = buffer.drain(np.empty(buffer.bytes, np.uint8)).reshape(-1, 3).tolist()
        assert position in cut.bucket_range(bucket)


def test_close_returns_the_counts_and_publishes(tmp_path: Path) -> None:
    path = tmp_path / "spill"
    pairs = make_pairs(10)
    with SpillWriter(path, plan(10), buffer_bytes=1) as spill:
        spill.add(4, *columns(pairs[4:]))
        spill.add(0, *columns(pairs[:4]))
        assert not path.exists()
        stats = spill.close()
    assert stats == PairStats.of(*lengths_of(pairs))
    assert [entry.name for entry in tmp_path.iterdir()] == ["spill"]


def test_leaving_without_close_leaves_nothing(tmp_path: Path) -> None:
    with SpillWriter(tmp_path / "spill", plan(10)) as spill:
        spill.add(0, *columns(make_pairs(10)))
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_path_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"cannot write .*/file"):
        SpillWriter(tmp_path / "file" / "spill", plan(10))


def test_damaged_spill_files_are_named(tmp_path: Path) -> None:
    path, out = make_spill(tmp_path / "spill", plan(10), make_pairs(10)), tmp_path / "shard"
    whole = path.read_bytes()
    for other in (plan(10, seed=2), plan(11), plan(10, shards=3), plan(10, buckets=1)):
        with pytest.raises(RecordsError, match="spill: not a usable spill file: it was not written under this plan"):
            write_shards([out], other, 0, [path])
    negative = whole[:-97] + b"\x80" + whole[-96:]  # the number of entries
    for damaged in (whole[:-1], whole[1:], whole[: len(whole) // 2], b"", whole[:-10] + b"x" * 10, negative):
        path.write_bytes(damaged)
        with pytest.raises(RecordsError, match="spill"):
            write_shards([out], plan(10), 0, [path])
    path.unlink()
    with pytest.raises(RecordsError, match=r"spill: not a usable spill file: .*No such file"):
        write_shards([out], plan(10), 0, [path])
    assert [entry for entry in tmp_path.rglob("*") if entry.is_file()] == []


@pytest.mark.parametrize("payload", ["example", "ids", "text"])
@pytest.mark.parametrize("length", [2, 4, 2**31, 2**62, 2**63, 2**64 - 1])
def test_records_with_other_lengths_are_refused(payload: Any, length: int) -> None:
    """A bucket adds the lengths up."""
    ids = bytes([1, 0, 0, 0])[: 1 if payload in ("example", "text") else 4]
    for lengths in ([1, 1], [length, 1], [1, length]):
        record = b"".join(map(reference.varint, [0, *lengths, 0, len(ids), len(ids)])) + 2 * ids
        data = np.frombuffer(record + struct.pack("<I", reference.masked_crc32c(record)), np.uint8)
        if lengths == [1, 1]:
            assert Bucket(data, 0, 1, payload).source_tokens == 1
        else:
            with pytest.raises(RuntimeError, match="a record's size differs from its header"):
                Bucket(data, 0, 1, payload)


@given(st.data())
def test_no_damage_to_a_spill_file_crashes(new_directory: Callable[[], Path], data: st.DataObject) -> None:
    directory = new_directory()
    path = make_spill(directory / "spill", plan(6, 1, 2), make_pairs(6))
    content = bytearray(path.read_bytes())
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=4)):
        content[at] = byte
    path.write_bytes(content)
    try:
        write_shards([directory / "shard"], plan(6, 1, 2), 0, [path])
    except RecordsError:
        assert not (directory / "shard").exists()


def test_a_failed_flush_of_a_buffer_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushes: list[int] = []

    def fail_first(handle: int) -> None:
        flushes.append(handle)
        if len(flushes) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail_first)
    monkeypatch.setattr(artefacts, "_FLUSHED_EARLY", 1)
    with SpillWriter(tmp_path / "spill", plan(10), buffer_bytes=1) as spill:
        spill.add(0, *columns(make_pairs(10)))
        with pytest.raises(OutputError, match="the disk is full"):
            spill.close()
    assert list(tmp_path.iterdir()) == []


def test_given_positions_are_those_of_the_split(tmp_path: Path) -> None:
    cut, pairs = plan(4, 2, 1), make_pairs(4)
    inputs, targets = columns(pairs)
    arguments = (inputs.values, inputs.offsets, targets.values, targets.offsets, 0)
    for wrong in ([0, 1, 2], [0, 1, 2, 4], [-1, 1, 2, 3]):
        buffer = SpillBuffer(cut.shuffle.keys, 4, 2, 1, "ids")
        with pytest.raises(ValueError, match="each row has one position in the split"):
            buffer.add(0, *arguments, np.array(wrong, np.int64))
    buffer = SpillBuffer(cut.shuffle.keys, 4, 2, 1, "ids")
    buffer.add(0, *arguments, np.array([2, 0, 3, 1], np.int64))
    data = np.empty(buffer.bytes, np.uint8)
    (first, second) = buffer.drain(data).reshape(-1, 3).tolist()
    for bucket, offset, size in (first, second):
        held = Bucket(data[offset : offset + size].copy(), 2 * bucket, 2 * bucket + 2, "ids")
        _, index = held.index()
        lengths = [[len(pairs[row][0]), len(pairs[row][1])] for row in ((1, 3), (0, 2))[bucket]]
        assert index.reshape(-1, 3)[:, :2].tolist() == lengths


def test_the_bytes_never_change(tmp_path: Path) -> None:
    done = write_split(tmp_path / "records", [([5, 300, 1], [70_000, 1]), ([1], [-1, 2**31 - 1, 1])], shards=1)
    assert done.contents == [
        bytes.fromhex(
            "34000000000000005e33175c0a320a0f0a06696e7075747312051a030a01010a1f0a077461726765747312141a120a10"
            "ffffffffffffffffff01ffffffff0701ec4bc0792b00000000000000861bc34b0a290a120a06696e7075747312081a06"
            "0a0405ac02010a130a077461726765747312081a060a04f0a2040172a6fbfa"
        )
    ]
    index = (tmp_path / "records" / "index" / "toy-train-00000-of-00001.index").read_bytes()
    assert index == struct.pack("<6H4q8s2q", 1, 3, 0, 3, 2, 0, 0, 2, 2, 0, b"nmtindx1", 2, 1)
    assert done.shards == [
        ShardInfo(
            file="toy-train-00000-of-00001",
            records=2,
            pairs=2,
            source_tokens=4,
            target_tokens=5,
            bytes=len(done.contents[0]),
            sha256=hashlib.sha256(done.contents[0]).hexdigest(),
            index=IndexInfo(bytes=len(index), sha256=hashlib.sha256(index).hexdigest()),
        )
    ]


IDS = st.lists(st.one_of(st.integers(0, 300), st.integers(-(2**31), 2**31 - 1)), max_size=20)


@settings(max_examples=examples(40))
@given(
    st.lists(st.tuples(IDS, IDS), max_size=30),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(4, 12),
    st.integers(4, 12),
    st.sampled_from([1, 500, 1 << 20]),
)
def test_equals_the_reference_however_the_work_is_divided(
    new_directory: Callable[[], Path],
    pairs: Pairs,
    shards: int,
    buckets: int,
    task_pairs: int,
    batch: int,
    buffer_bytes: int,
) -> None:
    done = write_split(
        new_directory(),
        pairs,
        shards=shards,
        buckets=buckets,
        task_pairs=task_pairs,
        batch=batch,
        buffer_bytes=buffer_bytes,
    )
    assert done.contents == shard_contents(pairs, shards, SEED, "train")
    assert done.stats.pairs == len(pairs) == sum(shard.pairs for shard in done.shards)
    assert done.stats.source_tokens == sum(shard.source_tokens for shard in done.shards)
    assert done.stats.target_tokens == sum(shard.target_tokens for shard in done.shards)


def test_a_record_larger_than_a_chunk(tmp_path: Path) -> None:
    pairs = [([300] * 3_000_000 + [1], [1]), ([2, 1], [3, 1])]
    write_split(tmp_path / "records", pairs, shards=1)
    inputs, targets = read_shard(tmp_path / "records" / "toy-train-00000-of-00001")
    assert sorted(inputs.lengths.tolist()) == [2, 3_000_001]
    assert sorted(targets.to_lists()) == [[1], [3, 1]]


def test_a_missing_or_repeated_spill_file_is_found(tmp_path: Path) -> None:
    pairs = make_pairs(20)
    cut = plan(20, 1, 1)
    spills = [make_spill(tmp_path / "a", cut, pairs[:12]), make_spill(tmp_path / "b", cut, pairs[12:], 12)]
    with pytest.raises(RecordsError, match="do not cover positions 0 to 20 once: 8 of 20 records are missing"):
        write_shards([tmp_path / "shard"], cut, 0, spills[:1])
    with pytest.raises(RecordsError, match="two records have position"):
        write_shards([tmp_path / "shard"], cut, 0, [*spills, spills[1]])
    assert sorted(entry.name for entry in tmp_path.rglob("*") if entry.is_file()) == ["a", "b"]


def test_a_failing_write_is_an_output_error(tmp_path: Path) -> None:
    cut = plan(20, 1, 1)
    spill = make_spill(tmp_path / "spill", cut, make_pairs(20))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        with pytest.raises(OutputError, match=r"cannot write .*/shard: File too large"):
            write_shards([tmp_path / "shard"], cut, 0, [spill])
        with pytest.raises(OutputError, match=r"cannot write .*/again: File too large"):
            make_spill(tmp_path / "again", cut, make_pairs(20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [entry for entry in tmp_path.iterdir() if entry.is_file()] == [spill]
    assert list(tmp_path.rglob(".*")) == []


class Failing:
    """Makes the nth step of an atomic write fail."""

    def __init__(self, step: int, error: Callable[[], BaseException]) -> None:
        self.left = step
        self.error = error

    def wrap(self, monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
        original = getattr(owner, name)

        def call(*arguments: object, **options: object) -> object:
            self.left -= 1
            if self.left == 0:
                raise self.error()
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, call)


def no_space() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("error", [no_space, KeyboardInterrupt])
def test_a_failure_at_any_step_leaves_no_partial_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Callable[[], BaseException]
) -> None:
    pairs = make_pairs(20)
    cut = plan(20, 1, 3)
    spill = make_spill(tmp_path / "spill", cut, pairs)
    expected = shard_contents(pairs, 1, SEED, "train")[0]
    shard = tmp_path / "shard"
    outcomes = []
    for step in range(1, 20):
        with monkeypatch.context() as patch:
            failing = Failing(step, error)
            for owner, name in [(writer, "Bucket"), (os, "open"), (os, "fsync"), (Path, "replace")]:
                failing.wrap(patch, owner, name)
            with suppress(KeyboardInterrupt, OutputError):
                write_shards([shard], cut, 0, [spill])
        outcomes.append(shard.exists())
        assert not shard.exists() or shard.read_bytes() == expected
        assert list(tmp_path.rglob(".*")) == []
        shard.unlink(missing_ok=True)
        if failing.left > 0:
            break
    # Three buckets, open and fsync of both files, two renames; then open and fsync of both directories, and no failure.
    assert outcomes == [False] * 9 + [True] * 5
