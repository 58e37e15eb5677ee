"""Epochs of make_dataset: all pairs, resume, mixing, packing, shapes.

test_same_batches.py compares the batches with those of read_records, whose tests have further cases.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from _nmt_prep_core import pack_rounds
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.errors import NmtPrepError
from nmt_prep.input import make_dataset, too_long_pairs
from nmt_prep.input.tensors import pack_rows
from tests.conftest import examples

pytestmark = pytest.mark.tensorflow

EncodeRun = Callable[..., Path]
Pair = tuple[tuple[int, ...], tuple[int, ...]]
EOS = 1
LAYOUTS = ["example", "chunk", "packed"]


def make_pairs(count: int, first: int = 0) -> list[tuple[list[int], list[int]]]:
    rng = random.Random(first)
    return [
        ([100 + first + i, *[2] * rng.randrange(20), EOS], [100 + first + i, *[3] * rng.randrange(20), EOS])
        for i in range(count)
    ]


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.batches.plan.WINDOW_PAIRS", 600)


def literal(batch: Any) -> Any:
    return tf.nest.map_structure(lambda tensor: None if tensor is None else tensor.numpy().tolist(), batch)


def batches_of(run: Path, **arguments: Any) -> list[Any]:
    if run.name.startswith("packed"):
        arguments = {"features": "t2t"} | arguments
    return [literal(batch) for batch in make_dataset(run, "train", check="quick", **arguments)]


def pairs_in(batch: Any) -> list[Pair]:
    if not isinstance(batch, dict):
        return [
            (tuple(source[:n]), tuple(target[:m]))
            for source, target, n, m in zip(batch.source, batch.target_output, *batch[4:], strict=True)
        ]
    pairs = []
    for row in range(len(batch["inputs"])):
        for segment in range(1, max(batch["inputs_segmentation"][row]) + 1):
            sides = []
            for side in ("inputs", "targets"):
                places = [i for i, number in enumerate(batch[f"{side}_segmentation"][row]) if number == segment]
                assert [batch[f"{side}_position"][row][i] for i in places] == list(range(len(places)))
                assert places == list(range(places[0], places[0] + len(places)))
                sides.append(tuple(batch[side][row][i] for i in places))
            pairs.append((sides[0], sides[1]))
    return pairs


def all_pairs(batches: list[Any]) -> Counter[Pair]:
    return Counter(pair for batch in batches for pair in pairs_in(batch))


def expected(pairs: list[tuple[list[int], list[int]]]) -> Counter[Pair]:
    return Counter((tuple(source), tuple(target)) for source, target in pairs)


def test_an_epoch_gives_every_pair_once(encode_run: EncodeRun) -> None:
    pairs = make_pairs(1500)
    run = encode_run({"all": pairs}, "packed")
    parts = [batches_of(run, batch_tokens=300, seed=4, epoch=1, world_size=2, rank=rank) for rank in range(2)]
    assert all_pairs([batch for part in parts for batch in part]) == expected(pairs)


@pytest.mark.parametrize(
    ("layout", "arguments"),
    [
        ("chunk", {"weights": {"a": 0.5, "b": 1.5}, "too_long": "truncate", "max_length": 12, "pad_to": [8, 12]}),
        pytest.param("packed", {"drop_remainder": True}, marks=pytest.mark.slow),
    ],
)
def test_an_epoch_resumes_at_any_batch(encode_run: EncodeRun, layout: str, arguments: dict[str, Any]) -> None:
    run = encode_run({"a": make_pairs(900), "b": make_pairs(600, 5000)}, layout)
    whole = batches_of(run, batch_tokens=400, seed=2, **arguments)
    assert len(whole) > 20
    rng = random.Random(1)
    for step in [len(whole), rng.randrange(len(whole))]:
        assert batches_of(run, batch_tokens=400, seed=2, skip_batches=step, **arguments) == whole[step:]


def test_corpora_are_mixed_exactly(encode_run: EncodeRun) -> None:
    first, second = make_pairs(900), make_pairs(600, 5000)
    run = encode_run({"a": first, "b": second})
    found = all_pairs(batches_of(run, weights={"a": 1 / 3, "b": 2}))
    assert {pair: count for pair, count in found.items() if pair in expected(second)} == dict.fromkeys(
        expected(second), 2
    )
    assert sum(count for pair, count in found.items() if pair in expected(first)) == 300
    assert max(count for pair, count in found.items() if pair in expected(first)) == 1
    with pytest.raises(NmtPrepError, match=r"set records\.layout to chunk"):
        batches_of(encode_run({"a": first}, "example"), temperature=2)


@pytest.mark.parametrize("layout", ["packed", pytest.param("chunk", marks=pytest.mark.slow)])
def test_packed_rows_are_nearly_full(encode_run: EncodeRun, layout: str) -> None:
    pairs = make_pairs(1500)
    run = encode_run({"a": pairs}, layout, row_length=64)
    batches = batches_of(run, batch_size=10, packed=True, features="t2t", max_length=64)
    cells = np.concatenate([batch["inputs"] for batch in batches]), np.concatenate([b["targets"] for b in batches])
    assert {len(row) for batch in batches for row in batch["inputs"]} == {64}
    assert max(np.count_nonzero(side) for side in cells) / cells[0].size > 0.88
    assert all_pairs(batches) == expected(pairs)


def test_too_long_pairs_are_dropped_or_truncated(encode_run: EncodeRun) -> None:
    pairs = make_pairs(600)
    short = [pair for pair in pairs if max(map(len, pair)) <= 10]
    for layout in LAYOUTS:
        run = encode_run({"a": pairs}, layout, row_length=10)
        assert too_long_pairs(run, "train", 10) == len(pairs) - len(short)
    assert all_pairs(batches_of(run, max_length=10)) == expected(short)
    run = run.with_name("chunk-run")
    cut = [(source[:10], target[:10]) for source, target in pairs]
    assert all_pairs(batches_of(run, max_length=10, too_long="truncate")) == expected(cut)


def test_static_shapes(encode_run: EncodeRun) -> None:
    run = encode_run({"a": make_pairs(1500)})
    dataset = make_dataset(run, "train", pad_to=[24], batch_size=16, drop_remainder=True)
    assert dataset.element_spec.source.shape == [16, 24]
    assert dataset.element_spec.target_sequence_length.shape == [16]
    shapes = {batch.target_input.shape.as_list()[1] for batch in make_dataset(run, "train", pad_to=[8, 16, 24])}
    assert shapes == {8, 16, 24}
    packed = make_dataset(run, "train", packed=True, features="t2t", batch_size=4, max_length=32, drop_remainder=True)
    assert {name: spec.shape.as_list() for name, spec in packed.element_spec.items()} == {
        side + suffix: [4, 32] for side in ("inputs", "targets") for suffix in ("", "_segmentation", "_position")
    }
    plain = make_dataset(run, "train", features="t2t")
    assert sorted(plain.element_spec) == ["inputs", "targets"]


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=80), st.integers(20, 60))
def test_packing_in_the_graph_equals_that_of_the_plan(pairs: list[tuple[int, int]], length: int) -> None:
    source, target = (np.array([pair[side] for pair in pairs], np.int32) for side in (0, 1))
    rows = pack_rounds(source, target, length)
    packed = pack_rows(tf.cast(source, tf.int64), tf.cast(target, tf.int64), length)
    assert packed.pairs.numpy().tolist() == np.argsort(rows, kind="stable").tolist()
    assert packed.sizes.numpy().tolist() == [count for count in np.bincount(rows).tolist() if count]


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
        make_dataset(encode_run({"a": make_pairs(3)}, layout), "train", **arguments)
