from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.errors import RecordsError
from nmt_prep.training.records.shard_reader import read_shard
from tests.reference import records as reference
from tests.reference.records import frame, message, serialize_example, serialize_feature, varint
from tests.training.records.conftest import Pairs, Written, make_pairs, write_split


def read(path: Path) -> Pairs:
    inputs, targets = read_shard(path)
    return list(zip(inputs.to_lists(), targets.to_lists(), strict=True))


def write(directory: Path, *examples: bytes) -> Path:
    path = directory / "shard"
    path.write_bytes(b"".join(map(frame, examples)))
    return path


def feature(key: str, *lists: bytes) -> bytes:
    return message(0x0A, message(0x0A, key.encode()) + b"".join(message(0x12, content) for content in lists))


def unpacked(*ids: int) -> bytes:
    return message(0x1A, b"".join(b"\x08" + varint(i) for i in ids))


def packed(*ids: int) -> bytes:
    return message(0x1A, message(0x0A, b"".join(map(varint, ids))))


def test_reads_what_was_written(tmp_path: Path) -> None:
    pairs = [*make_pairs(30), ([], []), ([-1, -(2**31), 2**31 - 1], [0])]
    write_split(tmp_path / "records", pairs, shards=2)
    read_back = [pair for shard in sorted((tmp_path / "records").glob("toy-*")) for pair in read(shard)]
    assert sorted(read_back) == sorted(pairs)


BOTH = serialize_feature("inputs", [5, 1]) + serialize_feature("targets", [300, 1])
PAIR = ([5, 1], [300, 1])


@pytest.mark.parametrize(
    "example",
    [
        message(0x0A, BOTH),
        message(0x0A, serialize_feature("targets", [300, 1]) + serialize_feature("inputs", [5, 1])),
        message(0x0A, feature("inputs", unpacked(5, 1)) + feature("targets", unpacked(300, 1))),
        message(0x0A, serialize_feature("inputs", [5, 1])) + message(0x0A, serialize_feature("targets", [300, 1])),
        message(0x0A, BOTH + serialize_feature("other", [7]) + feature("text", message(0x0A, message(0x0A, b"abc")))),
        message(0x0A, serialize_feature("inputs", [9, 9, 9]) + BOTH),
        message(0x0A, feature("inputs", unpacked(5), packed(1)) + serialize_feature("targets", [300, 1])),
        message(
            0x0A, feature("inputs", packed(8), message(0x0A, b""), packed(5, 1)) + feature("targets", packed(300, 1))
        ),
        b"\x9a\x01\x02ab" + b"\x08\x05" + b"\x15abcd" + b"\x11abcdefgh" + message(0x0A, BOTH),
        message(
            0x0A, feature("inputs", message(0x1A, b"\x08\x05\x0a\x02\x81\x00")) + serialize_feature("targets", [300, 1])
        ),
    ],
    ids=[
        "ours",
        "other order",
        "unpacked",
        "two Features",
        "more features",
        "repeated key",
        "both packings",
        "other kind between",
        "unknown fields",
        "overlong varint",
    ],
)
def test_any_valid_encoding_is_read(tmp_path: Path, example: bytes) -> None:
    assert read(write(tmp_path, example)) == [PAIR]
    assert reference.parse_example(example) == PAIR


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        (b"", "the Example has no int64 feature 'inputs'"),
        (message(0x0A, serialize_feature("inputs", [1])), "the Example has no int64 feature 'targets'"),
        (message(0x0A, BOTH + feature("inputs", message(0x0A, b""))), "the Example has no int64 feature 'inputs'"),
        (message(0x0A, feature("inputs", packed(2**31)) + BOTH), "an id does not fit 32 bits"),
        (message(0x0A, feature("inputs", unpacked(-(2**31) - 1)) + BOTH), "an id does not fit 32 bits"),
        (b"\x0a\x05abc", "a field is longer than its message"),
        (b"\x0a\x80", "a number is cut off"),
        (b"\x0a" + b"\x80" * 10 + b"\x01", "a number is longer than ten bytes"),
        (b"\x0b", "a field has an unknown wire type"),
        (b"\x02\x00", "a field has an impossible number"),
        (message(0x0A, feature("inputs", message(0x1A, message(0x0A, b"\x80"))) + BOTH), "a number is cut off"),
    ],
)
def test_unexpected_content_is_an_error_that_names_the_byte(tmp_path: Path, example: bytes, reason: str) -> None:
    path = write(tmp_path, serialize_example([1], [1]), example)
    with pytest.raises(RecordsError) as raised:
        read_shard(path)
    assert str(raised.value) == f"{path}: record at byte 53: {reason}; restore the file or encode again"
    with pytest.raises(reference.DamagedError, match=f"^record at byte 53: {reason}$"):
        reference.parse_shard(path.read_bytes())


def test_records_across_reads_and_larger_than_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = write_split(tmp_path / "records", make_pairs(50), shards=1)
    path = tmp_path / "records" / written.shards[0].file
    expected = read(path)
    monkeypatch.setattr("nmt_prep.training.records.shard_reader._READ_BYTES", 16)
    assert read(path) == expected


def test_empty_and_missing_files(tmp_path: Path) -> None:
    assert read(write(tmp_path)) == []
    with pytest.raises(RecordsError, match="absent: cannot be read: No such file or directory"):
        read_shard(tmp_path / "absent")


def test_a_cut_within_a_record_names_its_byte(tmp_path: Path, written: Written) -> None:
    path = tmp_path / "records" / written.shards[0].file
    content = path.read_bytes()
    for cut in (1, 11, 12, 40):
        path.write_bytes(content[:cut])
        with pytest.raises(RecordsError, match="record at byte 0: the file ends within it"):
            read_shard(path)


@given(st.data())
def test_damaged_bytes_read_like_the_reference(new_directory: Callable[[], Path], data: st.DataObject) -> None:
    content = bytearray(b"".join(frame(serialize_example(a, b)) for a, b in make_pairs(4)))
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=3)):
        content[at] = byte
    del content[data.draw(st.integers(0, len(content))) : data.draw(st.integers(0, len(content)))]
    compare(new_directory() / "shard", bytes(content))


@given(st.data())
def test_damaged_examples_in_valid_frames_read_like_the_reference(
    new_directory: Callable[[], Path], data: st.DataObject
) -> None:
    content = bytearray(serialize_example([5, 300, -1, 1], [70_000, 1]))
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=3)):
        content[at] = byte
    for at, more in data.draw(st.lists(st.tuples(st.integers(0, len(content)), st.binary(max_size=3)), max_size=2)):
        content[at:at] = more
    compare(new_directory() / "shard", frame(bytes(content)))


def test_a_number_of_ten_bytes_without_end_is_too_long(tmp_path: Path) -> None:
    content = bytearray(serialize_example([-1], [1]))
    end = content.index(b"\xff" * 9 + b"\x01") + 9
    content[end] = 0x80  # the last byte of the number, and of the list
    compare(tmp_path / "shard", frame(bytes(content)))
    with pytest.raises(RecordsError, match="a number is longer than ten bytes"):
        read(tmp_path / "shard")


def compare(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert outcome(lambda: read(path)) == outcome(lambda: reference.parse_shard(content), path)


def outcome(parse: Callable[[], Pairs], path: Path | None = None) -> Pairs | str:
    """Returns the pairs or the message of the error; the message of the reference is put in the package's words."""
    try:
        return parse()
    except RecordsError as error:
        return str(error)
    except reference.DamagedError as error:
        return f"{path}: {error}; restore the file or encode again"


@pytest.mark.tensorflow
def test_shards_of_tensorflow_are_read(tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")
    pairs = make_pairs(20)
    path = tmp_path / "shard"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for sides in pairs:
            lists = {
                key: tf.train.Feature(int64_list=tf.train.Int64List(value=ids))
                for key, ids in zip(("targets", "inputs"), reversed(sides), strict=True)
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=lists)).SerializeToString())
    assert read(path) == pairs
