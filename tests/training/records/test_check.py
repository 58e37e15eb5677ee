from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from nmt_prep.base import digests
from nmt_prep.base.errors import RecordsError
from nmt_prep.training.batches import read_records
from nmt_prep.training.records.check import check_records
from nmt_prep.training.records.record_columns import index_path
from tests.training.records.conftest import make_pairs

LEVELS: list[Literal["full", "quick"]] = ["full", "quick"]
LONG_AGO = 1_000_000_000
SIZE, FIRST = 1249, 73  # bytes of the second shard, and of its first record


@pytest.fixture
def records(encode_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Returns a records directory of one split with three shards, beside its vocabulary."""
    monkeypatch.setenv("NMT_PREP_CACHE", str(tmp_path / "cache"))
    directory = encode_run({"made": make_pairs(50)}, "example", shards=3) / "records"
    for path in directory.iterdir():
        os.utime(path, (LONG_AGO, LONG_AGO))
    return directory


@pytest.fixture
def shard(records: Path) -> Path:
    return records / "toy-train-00001-of-00003"


def hashed_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns a list to which the names of shards are added when they are read in full."""
    names: list[str] = []
    original = digests.sha256_of

    def spy(path: Path) -> str:
        names.append(path.name)
        return original(path)

    monkeypatch.setattr(digests, "sha256_of", spy)
    return names


@pytest.mark.parametrize("level", LEVELS)
def test_whole_records_pass(records: Path, level: Literal["full", "quick"]) -> None:
    assert check_records(records, level=level).splits["train"].pairs == 50
    assert check_records(records, "train", level).name == "toy"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (Path.unlink, r"00001-of-00003: the shard cannot be read: No such file .*; restore it"),
        (lambda shard: shard.write_bytes(shard.read_bytes()[:FIRST]),  # between records
         rf"00001-of-00003: {FIRST} bytes, expected {SIZE} \(1 complete pairs, expected 17\)"),
        (lambda shard: shard.write_bytes(shard.read_bytes() + b"x"),
         rf"{SIZE + 1} bytes, expected {SIZE} \(record at byte {SIZE}: the file ends within it\)"),
        (lambda shard: shard.with_name("toy-train-00000-of-00007").write_bytes(b""),
         "toy-train-00000-of-00007: not a shard of this dataset"),
        (lambda shard: (shard.parents[1] / "vocab" / "plain").write_bytes(b"'<pad>_'\n'<EOS>_'\n'a_'\n"),
         "vocab/plain: not the vocabulary that the records were encoded with"),
        (lambda shard: (shard.parents[1] / "vocab" / "plain").unlink(),
         "vocab/plain: the vocabulary .* cannot be read: No such file"),
    ],
)  # fmt: skip
def test_damage_that_both_levels_find(
    records: Path, shard: Path, damage: Callable[[Path], object], message: str, level: Literal["full", "quick"]
) -> None:
    (records / "toy-dev-00000-of-00001").write_bytes(b"")  # of no split of the dataset
    damage(shard)
    with pytest.raises(RecordsError, match=message):
        check_records(records, level=level)


def test_any_flipped_bit_is_found(records: Path, shard: Path) -> None:
    content = shard.read_bytes()
    for at in range(0, len(content), 97):
        shard.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        with pytest.raises(
            RecordsError, match=r"00001-of-00003: sha256 .* \(record at byte \d+: the checksum of a record's"
        ):
            check_records(records)
    shard.write_bytes(content)
    check_records(records)


def test_a_shard_of_another_run(records: Path, shard: Path, tmp_path: Path) -> None:
    a = shard.read_bytes()
    other = shard.with_name("toy-train-00000-of-00003")
    first = 16 + int.from_bytes(a[:8], "little")
    shard.write_bytes(a[first:] + a[:first])  # same records, same size, another order
    with pytest.raises(RecordsError, match="all its records are complete, so it is from another run"):
        check_records(records)
    shard.write_bytes(other.read_bytes())
    with pytest.raises(RecordsError, match=r"1177 bytes, expected 1249 \(16 complete pairs, expected 17\)"):
        check_records(records)


def test_unknown_split_and_level(records: Path) -> None:
    with pytest.raises(RecordsError, match=r"dataset\.json: has no split 'test', only train"):
        check_records(records, "test")
    with pytest.raises(ValueError, match="level is 'full' or 'quick', got 'fast'"):
        check_records(records, level="fast")  # type: ignore[arg-type]


def test_a_full_check_is_remembered(records: Path, shard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_records(records)
    names = hashed_files(monkeypatch)
    check_records(records)
    assert names == []
    os.utime(shard, (LONG_AGO, LONG_AGO + 1))
    check_records(records)
    assert names == [shard.name]


def test_another_digest_in_the_dataset_is_checked_again(records: Path, shard: Path) -> None:
    check_records(records)
    path = records / "dataset.json"
    tree = json.loads(path.read_bytes())
    tree["splits"]["train"]["shards"][1]["sha256"] = "0" * 64
    path.write_text(json.dumps(tree))
    with pytest.raises(RecordsError, match=f"{shard.name}: sha256 .*, expected {'0' * 64}"):
        check_records(records)


def _with(index: bytes, place: int, value: int) -> bytes:
    """Returns the index with another number at an offset from its end."""
    return index[: len(index) + place] + struct.pack("<q", value) + index[len(index) + place + 8 :]


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (lambda index: index[:-1] + b"\1", "not the index of a shard"),
        (lambda index: _with(_with(index, -16, 28), -8, -1), "not the index of a shard"),
        (lambda index: _with(index, -56, 1 << 43), "does not fit its shard"),  # the offset of the last block
        (lambda index: _with(index, -56, -1), "does not fit its shard"),
        (lambda index: _with(index, -48, 1 << 62), "does not fit its shard"),  # its numbers of records and pairs
        (lambda index: _with(index, -40, 9), "does not fit its shard"),
        (lambda index: index[:4] + b"\7" + index[5:], "has a pair of corpus 7, of 1"),
    ],
)
def test_a_damaged_index(records: Path, shard: Path, damaged: Callable[[bytes], bytes], message: str) -> None:
    """A quick check notices it by its digest; reading does even if the digest fits."""
    path, described = index_path(shard), records / "dataset.json"
    whole = path.read_bytes()
    path.write_bytes(damaged(whole))
    with pytest.raises(RecordsError, match=f"{path}: sha256 "):
        read_records(records.parent, "train", check="quick", batch_tokens=100)
    old, new = (hashlib.sha256(content).hexdigest() for content in (whole, path.read_bytes()))
    described.write_text(described.read_text().replace(old, new))
    with pytest.raises(RecordsError, match=message):
        list(read_records(records.parent, "train", check="quick", batch_tokens=100, corpus_ids=True))


def test_checking_writes_nothing_beside_the_records(records: Path) -> None:
    before = sorted(records.iterdir())
    check_records(records)
    assert sorted(records.iterdir()) == before
