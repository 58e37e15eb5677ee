"""Passes over make_dataset with several epochs."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from nmt_prep.base.errors import ArgumentError
from nmt_prep.training.batches import read_records
from nmt_prep.training.tensorflow import make_dataset

pytestmark = pytest.mark.tensorflow

COUNT = 600


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.training.batches.batch_plan.WINDOW_PAIRS", 250)


@pytest.fixture
def run(encode_run: Callable[..., Path]) -> Path:
    rng = random.Random(1)
    pairs = [([100 + i, *[2] * rng.randrange(20), 1], [100 + i, *[3] * rng.randrange(20), 1]) for i in range(COUNT)]
    return encode_run({"a": pairs[:400], "b": pairs[400:]})


def pass_over(batches: Any) -> list[list[int]]:
    """Returns the first IDs of the pairs of each batch, which identify the pairs."""
    return [batch.source[:, 0].numpy().tolist() for batch in batches]


def order_of(batches: list[list[int]]) -> list[int]:
    return [pair for batch in batches for pair in batch]


def epoch_order(run: Path, epoch: int, **options: Any) -> list[int]:
    batches = read_records(run, "train", epoch=epoch, **options)
    return [int(row[0]) for batch in batches for row in batch.source]


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 40, "weights": {"b": 1.5}, "seed": 3},
        pytest.param({"batch_tokens": 300}, marks=pytest.mark.slow),
    ],
)
def test_each_pass_is_another_epoch(run: Path, options: dict[str, Any]) -> None:
    batches = make_dataset(run, "train", epochs=2, epoch=5, **options)
    passes = [pass_over(batches) for _ in range(3)]
    assert [order_of(found) for found in passes] == [epoch_order(run, epoch, **options) for epoch in (5, 6, 5)]
    assert passes[0] == passes[2] != passes[1]
    assert {len(found) for found in passes} == {int(batches.cardinality())}
    counts = [len(list(read_records(run, "train", epoch=epoch, **options))) for epoch in (5, 6)]
    assert int(batches.cardinality()) == max(counts)


def test_passes_without_end(run: Path) -> None:
    batches = make_dataset(run, "train", epochs=None, batch_tokens=300)
    passes = [pass_over(batches) for _ in range(3)]
    assert [order_of(found) for found in passes] == [epoch_order(run, epoch, batch_tokens=300) for epoch in range(3)]
    assert {len(found) for found in passes} == {int(batches.cardinality())}
    first = len(list(read_records(run, "train", batch_tokens=300)))
    assert first < int(batches.cardinality()) < first + 30


@pytest.mark.parametrize("epochs", [3, pytest.param(None, marks=pytest.mark.slow)])
def test_batches_of_one_size_are_left_out_instead(run: Path, epochs: int | None) -> None:
    options: dict[str, Any] = {"pad_to": [12, 24], "batch_size": 16, "drop_remainder": True}
    batches = make_dataset(run, "train", epochs=epochs, **options)
    passes = [pass_over(batches) for _ in range(3)]
    assert {len(found) for found in passes} == {int(batches.cardinality())}
    assert {len(batch) for found in passes for batch in found} == {16}
    assert passes[0] != passes[1] != passes[2]


def test_epochs_with_too_few_batches_of_one_size_are_refused(run: Path) -> None:
    with pytest.raises(ArgumentError, match=r"an epoch has only [0-9]+ batches, too few to skip some; set epochs to"):
        make_dataset(run, "train", epochs=None, batch_size=200, drop_remainder=True)


def test_passes_of_workers_have_equally_many_batches(run: Path) -> None:
    workers = [
        make_dataset(run, "train", epochs=2, batch_tokens=200, world_size=2, rank=index, equal_batches="split")
        for index in range(2)
    ]
    passes = [[pass_over(worker) for worker in workers] for _ in range(2)]
    assert {len(part) for found in passes for part in found} == {int(workers[0].cardinality())}
    for found in passes:
        assert sorted(pair for part in found for pair in order_of(part)) == [100 + i for i in range(COUNT)]


def test_what_does_not_go_together(run: Path) -> None:
    with pytest.raises(ArgumentError, match="skip_batches resumes within one epoch; begin several epochs at the start"):
        make_dataset(run, "train", epochs=2, skip_batches=3)
    with pytest.raises(ArgumentError, match="epochs is 0; it must be at least 1"):
        make_dataset(run, "train", epochs=0)


class Recorder(tf.keras.Model):  # type: ignore[misc]
    """Records the batches of sources that it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[int] = []

    def train_step(self, data: tf.Tensor) -> dict[str, float]:
        self.seen += data[:, 0].numpy().tolist()
        return {"loss": 0.0}


@pytest.mark.slow
@pytest.mark.parametrize("epochs", [3, None])
def test_keras_shuffles_each_epoch_anew(run: Path, epochs: int | None) -> None:
    model = Recorder()
    model.compile(run_eagerly=True)
    batches = make_dataset(run, "train", epochs=epochs, batch_tokens=300)
    model.fit(batches.map(lambda batch: batch.source), epochs=3, shuffle=False, verbose=0)
    parts = [model.seen[number * COUNT : (number + 1) * COUNT] for number in range(3)]
    assert parts == [epoch_order(run, epoch, batch_tokens=300) for epoch in range(3)]
    assert len(model.seen) == 3 * COUNT
