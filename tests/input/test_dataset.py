from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from nmt_prep.errors import NmtPrepError, RecordsError
from nmt_prep.input.dataset import make_dataset

pytestmark = pytest.mark.tensorflow

WriteRun = Callable[..., Path]
EOS = 1


def pair(number: int) -> tuple[list[int], list[int]]:
    return [*range(2, 3 + number % 13), 100 + number, EOS], [200 + number] * (number % 7) + [EOS]


SHARDS = [[pair(number) for number in range(*bounds)] for bounds in ((0, 40), (40, 41), (41, 41), (41, 100))]
PAIRS = [pair for shard in SHARDS for pair in shard]


def literal(batch: Any) -> list[Any]:
    return [tensor.numpy().tolist() for tensor in batch[1:]]


def pairs_of(dataset: Any) -> list[tuple[list[int], list[int]]]:
    pairs = []
    for batch in dataset:
        source, _, output, source_lengths, target_lengths = literal(batch)
        sources = (row[:length] for row, length in zip(source, source_lengths, strict=True))
        targets = (row[:length] for row, length in zip(output, target_lengths, strict=True))
        pairs += zip(sources, targets, strict=True)
    return pairs


def counted(pairs: list[tuple[list[int], list[int]]]) -> Counter[str]:
    return Counter(map(str, pairs))


def test_fields_of_tensor2tensor_records(write_run: WriteRun) -> None:
    run = write_run([[([7, 8, EOS], [9, EOS]), ([5, EOS], [4, 6, EOS])]])
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


def test_sos_comes_from_the_vocabulary_or_the_argument(write_run: WriteRun) -> None:
    run = write_run([[([5, EOS], [4, EOS])]], bos_id=3)
    (batch,) = make_dataset(run, "train")
    assert batch.target_input.numpy().tolist() == [[3, 4]]
    (batch,) = make_dataset(run, "train", sos_id=2)
    assert batch.target_input.numpy().tolist() == [[2, 4]]


def test_an_epoch_gives_every_pair_once_to_one_worker(write_run: WriteRun) -> None:
    run = write_run(SHARDS)
    parts = [
        pairs_of(make_dataset(run, "train", batch_tokens=60, seed=5, epoch=2, num_shards=2, shard_index=index))
        for index in range(2)
    ]
    assert counted([pair for part in parts for pair in part]) == counted(PAIRS)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_some_workers_get_nothing_if_there_are_more_workers_than_pairs(write_run: WriteRun) -> None:
    run = write_run([[([5, EOS], [4, EOS])]])
    sizes = [len(pairs_of(make_dataset(run, "train", num_shards=2, shard_index=index))) for index in range(2)]
    assert sorted(sizes) == [0, 1]


def test_batches_are_a_function_of_the_arguments(write_run: WriteRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.input.dataset.WINDOW_PAIRS", 32)
    run = write_run(SHARDS)

    def epoch(**arguments: int) -> list[list[Any]]:
        return [literal(batch) for batch in make_dataset(run, "train", batch_tokens=60, **arguments)]

    first = epoch(seed=1, epoch=0)
    assert first == epoch(seed=1, epoch=0)
    assert first != epoch(seed=1, epoch=1)
    assert first != epoch(seed=2, epoch=0)


def test_batches_stay_within_the_limit(write_run: WriteRun) -> None:
    run = write_run(SHARDS)
    batches = list(make_dataset(run, "train", batch_tokens=60))
    assert all(len(b.source) * max(b.source.shape[1], b.target_output.shape[1]) <= 60 for b in batches)
    assert len(batches) < 40
    sizes = [len(batch.source) for batch in make_dataset(run, "train", batch_size=30, shuffle=False)]
    assert sizes == [30, 30, 30, 10]


def test_pairs_longer_than_max_length_are_left_out(write_run: WriteRun) -> None:
    run = write_run(SHARDS)
    fitting = [pair for pair in PAIRS if max(map(len, pair)) <= 6]
    assert counted(pairs_of(make_dataset(run, "train", max_length=6))) == counted(fitting)
    assert 0 < len(fitting) < len(PAIRS)
    assert list(make_dataset(run, "train", max_length=1)) == []


def test_a_tensorflow_1_graph_gets_tensors_and_their_initializer(write_run: WriteRun) -> None:
    run = write_run([[([7, 8, EOS], [9, EOS])]])
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        batch = make_dataset(run, "train")
        for _epoch in range(2):
            session.run(batch.initializer)
            assert session.run(batch.target_input).tolist() == [[0, 9]]
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(batch.target_input)


def test_feature_dictionaries_are_refused_in_a_tensorflow_1_graph(write_run: WriteRun) -> None:
    run = write_run([[([7, 8, EOS], [9, EOS])]])
    with tf.Graph().as_default(), pytest.raises(NmtPrepError, match="no place for the initializer"):
        make_dataset(run, "train", features="t2t")


def test_damage_is_reported_before_the_first_batch(write_run: WriteRun) -> None:
    run = write_run(SHARDS)
    shard = run / "records" / "toy-train-00003-of-00004"
    content = bytearray(shard.read_bytes())
    content[100] ^= 1
    shard.write_bytes(content)
    with pytest.raises(RecordsError, match="toy-train-00003-of-00004"):
        make_dataset(run, "train")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch_tokens": 0}, "batch_tokens is 0; it must be at least 1"),
        ({"batch_size": -2}, "batch_size is -2; it must be at least 1"),
        ({"max_length": 0}, "max_length is 0; it must be at least 1"),
        ({"batch_tokens": 9, "batch_size": 9}, "bounded by one of them"),
        ({"num_shards": 2, "shard_index": 2}, "it must be from 0 to 1"),
    ],
)
def test_arguments_out_of_range_are_refused(tmp_path: Path, arguments: dict[str, int], message: str) -> None:
    with pytest.raises(NmtPrepError, match=message) as caught:
        make_dataset(tmp_path, "train", **arguments)
    assert isinstance(caught.value, ValueError)
