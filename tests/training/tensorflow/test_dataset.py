"""The fields and arguments of make_dataset. test_same_batches.py compares its batches with those of read_records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from nmt_prep.base.errors import NmtPrepError, RecordsError
from nmt_prep.training.batches import read_records
from nmt_prep.training.tensorflow import make_dataset, too_long_pairs

pytestmark = pytest.mark.tensorflow

EncodeRun = Callable[..., Path]
EOS = 1
PAIRS = [([*range(2, 3 + i % 13), 100 + i, EOS], [200 + i] * (i % 7) + [EOS]) for i in range(100)]


def literal(batch: Any) -> list[Any]:
    return [tensor.numpy().tolist() for tensor in batch[1:]]


def test_fields(encode_run: EncodeRun) -> None:
    run = encode_run({"a": [([7, 8, EOS], [9, EOS]), ([5, EOS], [4, 6, EOS])]}, "example", bos_id=3)
    dataset = make_dataset(run, "train", shuffle=False)
    assert [literal(batch) for batch in dataset] == [
        [
            [[5, EOS, 0], [7, 8, EOS]],
            [[3, 4, 6], [3, 9, 0]],
            [[4, 6, EOS], [9, EOS, 0]],
            [2, 3],
            [3, 2],
        ]
    ]
    matrix, vector = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)
    assert tuple(dataset.element_spec)[1:] == (matrix, matrix, matrix, vector, vector)


def test_some_processes_get_nothing_if_there_are_more_of_them_than_pairs(encode_run: EncodeRun) -> None:
    run = encode_run({"a": [([5, EOS], [4, EOS])]})
    empty = [rank for rank in range(2) if not list(read_records(run, "train", world_size=2, rank=rank))]
    assert len(empty) == 1
    assert list(make_dataset(run, "train", world_size=2, rank=empty[0])) == []


def test_static_shapes(encode_run: EncodeRun) -> None:
    run = encode_run({"a": PAIRS * 3})
    dataset = make_dataset(run, "train", pad_to=[24], batch_size=16, drop_remainder=True)
    assert dataset.element_spec.source.shape == [16, 24]
    assert dataset.element_spec.target_sequence_length.shape == [16]
    batches = list(make_dataset(run, "train", pad_to=[4, 8, 16], features="t2t"))
    assert {batch["targets"].shape.as_list()[1] for batch in batches} == {4, 8, 16}
    assert {tuple(sorted(batch)) for batch in batches} == {("inputs", "targets")}
    packed = make_dataset(run, "train", packed=True, features="t2t", batch_size=4, max_length=32, drop_remainder=True)
    assert {name: spec.shape.as_list() for name, spec in packed.element_spec.items()} == {
        side + suffix: [4, 32] for side in ("inputs", "targets") for suffix in ("", "_segmentation", "_position")
    }


def test_too_long_pairs_are_counted(encode_run: EncodeRun) -> None:
    run = encode_run({"a": PAIRS}, "packed")
    assert too_long_pairs(run, "train", 10) == sum(max(map(len, pair)) > 10 for pair in PAIRS) > 0
    with pytest.raises(RecordsError, match="has no split 'dev', only train"):
        too_long_pairs(run, "dev", 10)


def test_a_tensorflow_1_graph_gets_tensors_and_their_initializer(encode_run: EncodeRun) -> None:
    run = encode_run({"a": [([7, 8, EOS], [9, EOS])]})
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        batch = make_dataset(run, "train")
        for _epoch in range(2):
            session.run(batch.initializer)
            assert session.run(batch.target_input).tolist() == [[0, 9]]
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(batch.target_input)
        with pytest.raises(NmtPrepError, match="cannot hold the initializer"):
            make_dataset(run, "train", features="t2t")


def test_damage_is_reported_before_the_first_batch(encode_run: EncodeRun) -> None:
    run = encode_run({"a": PAIRS}, shards=4)
    shard = run / "records" / "toy-train-00003-of-00004"
    content = bytearray(shard.read_bytes())
    content[100] ^= 1
    shard.write_bytes(content)
    with pytest.raises(RecordsError, match="toy-train-00003-of-00004"):
        make_dataset(run, "train")


@pytest.mark.parametrize(
    ("layout", "arguments", "message"),
    [
        ("chunk", {"packed": True}, 'set features="t2t"'),
        ("packed", {"features": "nmt"}, 'set features="t2t"'),
        ("chunk", {"features": "T2T"}, "features is 'T2T'; it must be one of 'nmt', 't2t'"),
        ("chunk", {"epoch": -1}, "epoch is -1; it must be at least 0"),
    ],
)
def test_conflicting_arguments(encode_run: EncodeRun, layout: str, arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_dataset(encode_run({"a": PAIRS[:3]}, layout), "train", **arguments)
