from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from nmt_prep.errors import NmtPrepError, RecordsError
from nmt_prep.input.dataset import make_dataset

pytestmark = pytest.mark.tensorflow

EncodeRun = Callable[..., Path]
EOS = 1
PAIRS = [([*range(2, 3 + i % 13), 100 + i, EOS], [200 + i] * (i % 7) + [EOS]) for i in range(100)]


def literal(batch: Any) -> list[Any]:
    return [tensor.numpy().tolist() for tensor in batch[1:]]


def test_fields(encode_run: EncodeRun) -> None:
    run = encode_run({"a": [([7, 8, EOS], [9, EOS]), ([5, EOS], [4, 6, EOS])]}, "example")
    dataset = make_dataset(run, "train", shuffle=False)
    assert [literal(batch) for batch in dataset] == [
        [
            [[5, EOS, 0], [7, 8, EOS]],
            [[0, 4, 6], [0, 9, 0]],
            [[4, 6, EOS], [9, EOS, 0]],
            [2, 3],
            [3, 2],
        ]
    ]
    matrix, vector = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)
    assert tuple(dataset.element_spec)[1:] == (matrix, matrix, matrix, vector, vector)


def test_sos_comes_from_the_vocabulary_or_the_argument(encode_run: EncodeRun) -> None:
    run = encode_run({"a": [([5, EOS], [4, EOS])]}, bos_id=3)
    (batch,) = make_dataset(run, "train")
    assert batch.target_input.numpy().tolist() == [[3, 4]]
    (batch,) = make_dataset(run, "train", sos_id=2)
    assert batch.target_input.numpy().tolist() == [[2, 4]]


def test_some_processes_get_nothing_if_there_are_more_of_them_than_pairs(encode_run: EncodeRun) -> None:
    run = encode_run({"a": [([5, EOS], [4, EOS])]})
    assert sorted(len(list(make_dataset(run, "train", world_size=2, rank=rank))) for rank in range(2)) == [0, 1]


def test_batches_are_a_function_of_the_arguments(encode_run: EncodeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.batches.plan.WINDOW_PAIRS", 32)
    run = encode_run({"a": PAIRS}, "example", shards=4)

    def epoch(**arguments: int) -> list[list[Any]]:
        return [literal(batch) for batch in make_dataset(run, "train", batch_tokens=60, **arguments)]

    first = epoch(seed=1, epoch=0)
    assert first == epoch(seed=1, epoch=0)
    assert first != epoch(seed=1, epoch=1)
    assert first != epoch(seed=2, epoch=0)


def test_a_tensorflow_1_graph_gets_tensors_and_their_initializer(encode_run: EncodeRun) -> None:
    run = encode_run({"a": [([7, 8, EOS], [9, EOS])]})
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        batch = make_dataset(run, "train")
        for _epoch in range(2):
            session.run(batch.initializer)
            assert session.run(batch.target_input).tolist() == [[0, 9]]
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(batch.target_input)
        with pytest.raises(NmtPrepError, match="no place for the initializer"):
            make_dataset(run, "train", features="t2t")


def test_damage_is_reported_before_the_first_batch(encode_run: EncodeRun) -> None:
    run = encode_run({"a": PAIRS}, shards=4)
    shard = run / "records" / "toy-train-00003-of-00004"
    content = bytearray(shard.read_bytes())
    content[100] ^= 1
    shard.write_bytes(content)
    with pytest.raises(RecordsError, match="toy-train-00003-of-00004"):
        make_dataset(run, "train")
