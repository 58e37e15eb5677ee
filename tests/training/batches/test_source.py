from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_prep.base.errors import ArgumentError, RecordsError
from nmt_prep.training.batches import BatchSource, IdBatch, read_records

Pair = tuple[list[int], list[int]]
PAIRS: list[Pair] = [([100 + i, *[2] * (i * 7 % 20), 1], [100 + i, *[3] * (i * 5 % 19), 1]) for i in range(1200)]


def rows(batches: list[IdBatch]) -> list[list[list[int]]]:
    return [batch.source.to_lists() for batch in batches]


def epoch_of(run: Path, epoch: int, **options: Any) -> list[list[list[int]]]:
    return rows(list(read_records(run, "train", epoch=epoch, batch_tokens=300, **options)))


def test_each_iteration_gives_the_next_epoch(encode_run: Callable[..., Path]) -> None:
    run = encode_run({"a": PAIRS})
    source = BatchSource(run, "train", batch_tokens=300, epoch=4)
    assert [rows(list(source)), rows(list(source))] == [epoch_of(run, 4), epoch_of(run, 5)]
    assert source.position == (6, 0)
    source.set_epoch(2)
    assert rows(list(source)) == epoch_of(run, 2)
    next(iter(source))
    assert rows(list(source)) == epoch_of(run, 3)


def test_a_state_continues_after_the_batches_taken(encode_run: Callable[..., Path]) -> None:
    run = encode_run({"a": PAIRS})
    options: dict[str, Any] = {"seed": 3, "weights": {"a": 0.5}}
    source = BatchSource(run, "train", batch_tokens=300, epoch=1, **options)
    iterator = iter(source)
    for _ in range(7):
        next(iterator)
    state = json.loads(json.dumps(source.state_dict()))
    assert (state["epoch"], state["batches"]) == (1, 7)

    resumed = BatchSource(run, "train", batch_tokens=300, **options)
    resumed.load_state_dict(state)
    assert resumed.state_dict() == state
    resumed.set_epoch(1)
    assert rows(list(resumed)) == epoch_of(run, 1, **options)[7:]
    assert rows(list(resumed)) == epoch_of(run, 2, **options)

    resumed.load_state_dict(state)
    resumed.set_epoch(5)
    assert rows(list(resumed)) == epoch_of(run, 5, **options)
    list(iterator)
    resumed.load_state_dict(source.state_dict())
    assert rows(list(resumed)) == epoch_of(run, 2, **options)


def test_readers_share_the_batches(encode_run: Callable[..., Path]) -> None:
    run = encode_run({"a": PAIRS})
    whole = epoch_of(run, 0, skip_batches=2)
    parts = []
    for part in range(3):
        source: BatchSource = pickle.loads(pickle.dumps(BatchSource(run, "train", batch_tokens=300, skip_batches=2)))
        parts.append(rows(list(source.begin(part, 3))))
        source.advance(3 * len(parts[-1]))
        assert source.position.batches >= 2 + len(whole) - 2
        state = source.state_dict()
        source.load_state_dict(state)
        assert list(source.begin(part, 3)) == []
    assert [parts[number % 3][number // 3] for number in range(len(whole))] == whole


def test_the_state_of_other_data_or_options_is_refused(encode_run: Callable[..., Path], tmp_path: Path) -> None:
    run = encode_run({"a": PAIRS})
    state = BatchSource(run, "train", batch_tokens=300, world_size=2).state_dict()
    (run / "records").rename(tmp_path / "moved-records")
    (tmp_path / "other").mkdir()
    for name in ("records", "vocab", "spill"):
        (run / name).exists() and (run / name).rename(tmp_path / "other" / name)
    run.rmdir()
    run = encode_run({"a": PAIRS[:-1]})
    with pytest.raises(
        RecordsError, match=f"the state belongs to other data: its fingerprint is {state['fingerprint']}, "
    ):
        BatchSource(run, "train", batch_tokens=300, world_size=2).load_state_dict(state)
    same = BatchSource(run, "train", batch_tokens=300, world_size=2)
    own = same.state_dict()
    with pytest.raises(ArgumentError, match="saved with batch_tokens 300, here it is 200; use the same options, or"):
        BatchSource(run, "train", batch_tokens=200, world_size=2).load_state_dict(own)
    with pytest.raises(ArgumentError, match="saved with world_size 2, here it is 3"):
        BatchSource(run, "train", batch_tokens=300, world_size=3).load_state_dict(own)
    with pytest.raises(ArgumentError, match="the state has no 'batches'; load what state_dict returned"):
        same.load_state_dict({name: value for name, value in own.items() if name != "batches"})
    BatchSource(run, "train", batch_tokens=300, world_size=2, rank=1).load_state_dict(own)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"batches": -1}, "batches of the state is -1; it must be an integer from 0 to 1000000000"),
        ({"epoch": -1}, "epoch of the state is -1; it must be an integer from 0 to 1000000000"),
        ({"epoch": 10**30}, "epoch of the state is 1000000000000000000000000000000; it must be an integer from 0 to"),
        ({"epoch": None}, "epoch of the state is None; it must be an integer from 0 to 1000000000"),
        ({"batches": "7"}, "batches of the state is '7'; it must be an integer from 0 to 1000000000"),
        ({"batches": True}, "batches of the state is True; it must be an integer from 0 to 1000000000"),
        ({"options": None}, "options of the state is None, and not a mapping"),
    ],
)
def test_states_with_wrong_values_are_refused(
    encode_run: Callable[..., Path], changed: dict[str, Any], message: str
) -> None:
    source = BatchSource(encode_run({"a": PAIRS}), "train", batch_tokens=300)
    before = source.state_dict()
    with pytest.raises(ArgumentError, match=message):
        source.load_state_dict({**before, **changed})
    assert source.state_dict() == before


@pytest.mark.parametrize("epoch", [None, -1, True, "2", 2.0, np.array([2])])
def test_an_epoch_is_an_integer_of_at_least_0(encode_run: Callable[..., Path], epoch: Any) -> None:
    run = encode_run({"a": PAIRS})
    source = BatchSource(run, "train", batch_tokens=300)
    before = source.state_dict()
    with pytest.raises(ArgumentError, match=r"^epoch is .*; it must be an integer from 0 to 1000000000$"):
        source.set_epoch(epoch)
    assert source.state_dict() == before
    with pytest.raises(ArgumentError, match=r"^epoch is "):
        BatchSource(run, "train", batch_tokens=300, epoch=epoch)


def test_an_epoch_of_numpy_is_saved_as_a_number_of_python_in_a_mapping(encode_run: Callable[..., Path]) -> None:
    source = BatchSource(encode_run({"a": PAIRS}), "train", batch_tokens=300)
    source.set_epoch(np.int64(2))  # type: ignore[arg-type]
    state: Any = json.loads(json.dumps(source.state_dict()))
    assert (state["epoch"], state["batches"]) == (2, 0)
    source.load_state_dict(state)
    for state in (None, "epoch batches fingerprint options", ["epoch"]):
        with pytest.raises(ArgumentError, match="and not a mapping; load what state_dict returned"):
            source.load_state_dict(state)


@pytest.mark.parametrize("options", [{}, {"world_size": 3, "rank": 1}, {"weights": {"a": 1.3}}])
def test_the_length_is_that_of_the_epoch(encode_run: Callable[..., Path], options: dict[str, Any]) -> None:
    run = encode_run({"a": PAIRS})
    source = BatchSource(run, "train", batch_tokens=300, **options)
    for epoch in (0, 1, 5):
        source.set_epoch(epoch)
        expected = len(source)
        assert sum(1 for _ in source) == expected
    resumed = BatchSource(run, "train", batch_tokens=300, skip_batches=3, **options)
    assert len(resumed) == sum(1 for _ in resumed) + 3


def test_records_that_change_under_a_reader_are_noticed(encode_run: Callable[..., Path]) -> None:
    run = encode_run({"a": PAIRS})
    source = pickle.dumps(BatchSource(run, "train"))
    path = run / "records" / "dataset.json"
    path.write_text(path.read_text().replace('"name": "a"', '"name": "b"'))
    with pytest.raises(RecordsError, match="the records of train were replaced while they were read"):
        list(pickle.loads(source))
