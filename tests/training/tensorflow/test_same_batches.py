"""make_dataset and read_records with the same options give the same batches."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import ArgumentError
from nmt_prep.training.batches import IdBatch, read_records
from nmt_prep.training.tensorflow import make_dataset

pytestmark = pytest.mark.tensorflow

PADDING, SOS = 0, 7


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.training.batches.batch_plan.WINDOW_PAIRS", 200)


def make_pairs(count: int, first: int = 0) -> list[tuple[list[int], list[int]]]:
    rng = random.Random(first)
    return [
        ([100 + first + i, *[2] * rng.randrange(20), 1], [100 + first + i, *[3] * rng.randrange(20), 1])
        for i in range(count)
    ]


def padded(side: Ragged, width: int | None) -> list[list[int]]:
    most = max(side.lengths) if width is None else width
    return [[*row, *[PADDING] * (most - len(row))] for row in side.to_lists()]


def as_batched_input(batch: IdBatch) -> list[Any]:
    outputs = padded(batch.target, batch.width)
    inputs = [
        [SOS, *row[: length - 1], *[PADDING] * (len(row) - length)]
        for row, length in zip(outputs, batch.target.lengths, strict=True)
    ]
    lengths = batch.source.lengths.tolist(), batch.target.lengths.tolist()
    columns = [column.tolist() for column in (batch.corpora, batch.language_pairs) if column is not None]
    return [padded(batch.source, batch.width), inputs, outputs, *lengths, *columns]


def as_features(batch: IdBatch) -> dict[str, Any]:
    """Returns Tensor2Tensor's features of packed rows, computed pair by pair."""
    assert batch.row_pairs is not None
    assert batch.width is not None
    found: dict[str, Any] = {}
    for name, side in (("inputs", batch.source), ("targets", batch.target)):
        columns = found[name], found[f"{name}_segmentation"], found[f"{name}_position"] = [
            np.full((len(batch.row_pairs), batch.width), PADDING) for _ in range(3)
        ]
        ids = iter(side.to_lists())
        for row, pairs in enumerate(batch.row_pairs.tolist()):
            at = 0
            for segment in range(1, pairs + 1):
                pair = next(ids)
                for column, values in zip(columns, (pair, [segment] * len(pair), range(len(pair))), strict=True):
                    column[row, at : at + len(pair)] = values
                at += len(pair)
    for name in ("corpora", "language_pairs"):
        if (column := getattr(batch, name)) is not None:
            most = batch.row_pairs.max()
            rows = np.split(column, np.cumsum(batch.row_pairs)[:-1])
            found[name] = np.array([[*row, *[-1] * (most - len(row))] for row in rows])
    return {name: column.tolist() for name, column in found.items()}


ROWS: dict[str, Any] = {"features": "t2t"}
GRID: list[tuple[str, dict[str, Any]]] = [
    ("example", {}),
    ("example", {"batch_tokens": 300, "world_size": 3, "rank": 1, "equal_batches": True, "skip_batches": 4}),
    ("example", {"packed": True, "batch_tokens": 900, "max_length": 25, "corpus_ids": True, **ROWS}),
    ("chunk", {"batch_size": 7, "drop_remainder": True, "seed": 2**62, "epoch": 3}),
    ("chunk", {"bucketing": "optimal", "num_buckets": 4, "max_length": 15, "too_long": "truncate", "seed": -1}),
    ("chunk", {"bucketing": "t2t", "batch_tokens": 200, "world_size": 2, "rank": 1, "skip_batches": 9}),
    ("chunk", {"pad_to": [8, 24], "batch_size": 16, "drop_remainder": True}),
    ("chunk", {"weights": {"a": 0.3, "b": 2.5}, "batch_tokens": 300, "epoch": 2, "skip_batches": 11}),
    ("chunk", {"world_size": 2, "equal_batches": "split", "batch_tokens": 90, "skip_batches": 3, "corpus_ids": True}),
    ("packed", {"world_size": 3, "equal_batches": "split", "batch_size": 4, "corpus_ids": True, **ROWS}),
    ("chunk", {"one_pair": True, "batch_tokens": 300, "corpus_ids": True, "temperature": 3, "skip_batches": 5}),
    ("chunk", {"language_pairs": ["de-en"], "corpus_ids": True, "batch_tokens": 200}),
    ("chunk", {"one_pair": True, "bucketing": "optimal", "batch_size": 16, "num_buckets": 3, "corpus_ids": True}),
]


MORE: list[tuple[str, dict[str, Any]]] = [
    ("chunk", {"shuffle": False, "max_length": None}),
    ("packed", {"packed": False, "bucketing": "optimal", "batch_tokens": 300}),
    ("chunk", {"one_pair": True, "batch_size": 16, "drop_remainder": True, "world_size": 2, "equal_batches": True}),
    ("chunk", {"temperature": 5, "world_size": 2, "too_long": "truncate", "max_length": 9, "batch_size": 30}),
    ("example", {"world_size": 3, "rank": 2, "equal_batches": "split", "batch_size": 9, "corpus_ids": True}),
    ("chunk", {"packed": True, "batch_tokens": 900, "max_length": 30, "weights": {"a": 2}, "skip_batches": 2, **ROWS}),
    ("packed", {"batch_size": 4, "drop_remainder": True, "skip_batches": 30, **ROWS}),
    ("packed", {"world_size": 3, "rank": 2, "equal_batches": True, "shuffle": False, "batch_size": 9, **ROWS}),
]


@pytest.mark.parametrize(
    ("layout", "options"), [*GRID, *(pytest.param(*more, marks=pytest.mark.slow) for more in MORE)]
)
def test_both_loaders_give_the_same_batches(
    encode_run: Callable[..., Path], layout: str, options: dict[str, Any]
) -> None:
    corpora = {"a": make_pairs(300), "b": make_pairs(170, 5000), "c": make_pairs(40, 7000)}
    run = encode_run(corpora, layout, bos_id=SOS + 1, languages=["en-de", "de-en", "en-de"])
    shared = {name: value for name, value in options.items() if name != "features"}
    expected = list(read_records(run, "train", **shared))
    found = list(make_dataset(run, "train", sos_id=SOS, **options))
    assert len(found) == len(expected) > 2
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, dict):
            assert {name: field.numpy().tolist() for name, field in one.items()} == as_features(other)
        else:
            assert [field.numpy().tolist() for field in one[1:] if field is not None] == as_batched_input(other)


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        ({"batch_tokens": 300, "corpus_ids": True, "skip_batches": 3}, [None, None]),
        ({"row_length": 64, "batch_size": 3, "corpus_ids": True, "world_size": 2, "rank": 1}, [None, 64]),
        ({"row_length": 64, "batch_size": 3, "drop_remainder": True, "one_pair": False}, [3, 64]),
        ({"pad_to": [32], "batch_size": 8, "drop_remainder": True, "one_pair": True}, [8, 32]),
    ],
)
def test_both_loaders_give_the_same_sequences(
    encode_run: Callable[..., Path], options: dict[str, Any], shape: list[int | None]
) -> None:
    sequences = [(ids, [min(4, len(ids) - 1), len(ids)]) for ids, _ in make_pairs(500)]
    run = encode_run({"a": sequences[:300], "b": sequences[300:]}, "causal", languages=["en-de", "de-en"])
    expected = list(read_records(run, "train", features="causal", **options))
    dataset: Any = make_dataset(run, "train", features="causal", **options)
    assert dataset.element_spec["labels"].shape.as_list() == shape
    found = list(dataset)
    assert {name: field.dtype.name for name, field in found[0].items()} == dict.fromkeys(expected[0], "int32")
    assert len(found) == len(expected) > 2
    for one, other in zip(found, expected, strict=True):
        assert {name: field.numpy().tolist() for name, field in one.items()} == {
            name: array.tolist() for name, array in other.items()
        }
    if "skip_batches" not in options:
        passes: Any = make_dataset(run, "train", features="causal", epochs=2, **options)
        assert [len(list(passes)), len(list(passes))] == [passes.cardinality().numpy()] * 2
    with pytest.raises(ArgumentError, match="sos_id begins the input of a decoder"):
        make_dataset(run, "train", features="causal", sos_id=1)
