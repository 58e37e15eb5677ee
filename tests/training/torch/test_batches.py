from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader

from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import ArgumentError, RecordsError
from nmt_prep.torch import BatchedInput, Batches
from nmt_prep.training.batches import IdBatch, read_records
from nmt_prep.training.torch_batches import Converter

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning"),
]

Pair = tuple[list[int], list[int]]
PAIRS: list[Pair] = [([100 + i, *[2] * (i * 7 % 20), 1], [100 + i, *[3] * (i * 5 % 19), 1]) for i in range(1200)]
SOS = 7


@pytest.fixture
def run(encode_run: Callable[..., Path]) -> Path:
    return encode_run({"a": PAIRS[:900], "b": PAIRS[900:]})


def rows(batches: Any) -> list[list[list[int]]]:
    """Returns the sources of each batch, padding included."""
    return [batch["input_ids"].tolist() for batch in batches]


def matrix(side: list[list[int]], padding: int, width: int | None = None) -> list[list[int]]:
    most = max(map(len, side)) if width is None else width
    return [[*row, *[padding] * (most - len(row))] for row in side]


GRID: list[dict[str, Any]] = [
    {},
    {"rank": 1, "world_size": 3, "batch_tokens": 200, "epoch": 4, "skip_batches": 2},
    {"batch_size": 50, "pad_to": [8, 24], "max_length": 15, "too_long": "truncate"},
    {"weights": {"b": 2}, "shuffle": False},
]


def pairs_of(options: dict[str, Any], run: Path) -> list[IdBatch]:
    return list(read_records(run, "train", corpus_ids=True, **{"equal_batches": "split", **options}))


@pytest.mark.parametrize("options", GRID)
def test_padded_batches_are_those_of_read_records(run: Path, options: dict[str, Any]) -> None:
    expected = pairs_of(options, run)
    for batch, one in zip(Batches(run, "train", corpus_ids=True, **options), expected, strict=True):
        assert isinstance(batch, dict)
        assert {field.dtype for field in batch.values()} == {torch.int64}
        source, target = (side.to_lists() for side in one)
        assert {name: field.tolist() for name, field in batch.items()} == {
            "input_ids": matrix(source, 0, one.width),
            "attention_mask": matrix([[1] * len(row) for row in source], 0, one.width),
            "labels": matrix(target, -100, one.width),
            "corpora": [] if one.corpora is None else one.corpora.tolist(),
        }
    for found, one in zip(Batches(run, "train", features="nmt", sos_id=SOS, **options), expected, strict=True):
        assert isinstance(found, BatchedInput)
        source, target = (side.to_lists() for side in one)
        assert found.source.tolist() == matrix(source, 0, one.width)
        assert found.target_input.tolist() == matrix([[SOS, *row[:-1]] for row in target], 0, one.width)
        assert found.target_output.tolist() == matrix(target, 0, one.width)
        assert found.source_sequence_length.tolist() == list(map(len, source))
        assert found.target_sequence_length.tolist() == list(map(len, target))
        assert found.corpora is None
    for features, one in zip(Batches(run, "train", features="t2t", **options), expected, strict=True):
        assert isinstance(features, dict)
        assert sorted(features) == ["inputs", "targets"]
        assert features["targets"].tolist() == matrix(one.target.to_lists(), 0, one.width)


def test_nested_batches(run: Path) -> None:
    expected = pairs_of({"batch_tokens": 300}, run)
    options: Any = {"batch_tokens": 300, "nested": True}
    for batch, one in zip(Batches(run, "train", corpus_ids=True, **options), expected, strict=True):
        assert isinstance(batch, dict)
        assert sorted(batch) == ["corpora", "input_ids", "labels"]
        assert batch["input_ids"].layout is torch.jagged
        assert [row.tolist() for row in batch["input_ids"].unbind()] == one.source.to_lists()
        assert [row.tolist() for row in batch["labels"].unbind()] == one.target.to_lists()
    for found, one in zip(Batches(run, "train", features="nmt", sos_id=SOS, **options), expected, strict=True):
        assert isinstance(found, BatchedInput)
        shifted = [[SOS, *row[:-1]] for row in one.target.to_lists()]
        assert [row.tolist() for row in found.target_input.unbind()] == shifted
        assert [row.tolist() for row in found.target_output.unbind()] == one.target.to_lists()


@pytest.mark.parametrize(("layout", "options"), [("packed", {}), ("chunk", {"packed": True, "max_length": 32})])
def test_packed_rows(encode_run: Callable[..., Path], layout: str, options: dict[str, Any]) -> None:
    run = encode_run({"a": PAIRS[:900], "b": PAIRS[900:]}, layout)
    expected = list(read_records(run, "train", batch_size=4, corpus_ids=True, **options))
    found = list(Batches(run, "train", batch_size=4, sos_id=SOS, corpus_ids=True, **options))
    for batch, one in zip(found, expected, strict=True):
        assert isinstance(batch, dict)
        assert one.row_pairs is not None
        assert one.corpora is not None
        assert batch["input_ids"].shape == (len(one.row_pairs), 32)
        pairs = iter(zip(*(side.to_lists() for side in one), one.corpora.tolist(), strict=True))
        for row, count in enumerate(one.row_pairs.tolist()):
            own = {name: field[row].tolist() for name, field in batch.items()}
            assert own["corpora"][count:] == [-1] * (len(own["corpora"]) - count)
            at = [0, 0]
            for number in range(1, count + 1):
                source, target, corpus = next(pairs)
                here, there = (slice(start, start + len(ids)) for start, ids in zip(at, (source, target), strict=True))
                assert own["corpora"][number - 1] == corpus
                assert own["input_ids"][here] == source
                assert own["attention_mask"][here] == [number] * len(source)
                assert own["position_ids"][here] == list(range(len(source)))
                assert own["labels"][there] == target
                assert own["decoder_input_ids"][there] == [SOS, *target[:-1]]
                assert own["decoder_attention_mask"][there] == [number] * len(target)
                assert own["decoder_position_ids"][there] == list(range(len(target)))
                at = [here.stop, there.stop]
            assert {*own["labels"][at[1] :]} <= {-100}
            assert {
                *own["input_ids"][at[0] :],
                *own["attention_mask"][at[0] :],
                *own["decoder_input_ids"][at[1] :],
            } <= {0}
    features = next(iter(Batches(run, "train", features="t2t", **options)))
    assert isinstance(features, dict)
    assert sorted(features) == [
        "inputs", "inputs_position", "inputs_segmentation", "targets", "targets_position", "targets_segmentation"
    ]  # fmt: skip
    with pytest.raises(ArgumentError, match="packed rows need segments and positions, which BatchedInput lacks; use"):
        Batches(run, "train", features="nmt", **options)
    with pytest.raises(ArgumentError, match="packed rows have one length; remove nested"):
        Batches(run, "train", nested=True, **options)


def test_iterations_states_and_epochs(run: Path) -> None:
    epochs = [rows(Batches(run, "train", batch_tokens=300, epoch=epoch)) for epoch in range(3)]
    assert epochs[0] != epochs[1]
    batches = Batches(run, "train", batch_tokens=300)
    assert [rows(batches), rows(batches), batches.epoch] == [epochs[0], epochs[1], 2]
    batches.set_epoch(1)
    iterator = iter(batches)
    taken = [next(iterator) for _ in range(5)]
    state = copy.deepcopy(batches.state_dict())
    assert (state["epoch"], state["batches"]) == (1, 5)
    assert rows(taken) + rows(iterator) == epochs[1]

    other = Batches(run, "train", batch_tokens=300)
    other.load_state_dict(state)
    assert other.epoch == 1
    for epoch in range(other.epoch, 3):
        other.set_epoch(epoch)
        assert rows(other) == (epochs[1][5:] if epoch == 1 else epochs[2])
    assert (other.epoch, other.state_dict()["batches"]) == (3, 0)


def test_workers_of_a_data_loader_share_the_batches(run: Path) -> None:
    epochs = [rows(Batches(run, "train", batch_tokens=300, epoch=epoch)) for epoch in range(3)]
    batches = Batches(run, "train", batch_tokens=300)
    for workers in (0, 1, 3):
        batches.set_epoch(1)
        assert rows(DataLoader(batches, batch_size=None, num_workers=workers)) == epochs[1]
    batches.load_state_dict({**batches.state_dict(), "epoch": 1, "batches": 4})
    assert rows(DataLoader(batches, batch_size=None, num_workers=3)) == epochs[1][4:]
    loader = DataLoader(batches, batch_size=None, num_workers=2, persistent_workers=True)
    for epoch in (2, 0, 1):
        batches.set_epoch(epoch)
        assert rows(loader) == epochs[epoch]
    assert rows(loader) == epochs[2]


@pytest.mark.parametrize("workers", [0, 2])
def test_the_length_is_that_of_the_epoch(run: Path, workers: int) -> None:
    batches = Batches(run, "train", batch_tokens=300, rank=1, world_size=2)
    loader = DataLoader(batches, batch_size=None, num_workers=workers)
    assert len(loader) == len(batches) == len(list(loader))


def test_workers_that_are_spawned(run: Path) -> None:
    batches = Batches(run, "train", batch_size=200, nested=False)
    loader = DataLoader(batches, batch_size=None, num_workers=1, multiprocessing_context="spawn")
    assert rows(loader) == rows(batches)


def test_nested_batches_of_workers(run: Path) -> None:
    batches = Batches(run, "train", batch_size=200, nested=True)
    found = [batch["labels"].unbind() for batch in DataLoader(batches, batch_size=None, num_workers=2)]
    batches.set_epoch(0)
    expected = [batch["labels"].unbind() for batch in batches]  # type: ignore[index]
    assert [[row.tolist() for row in one] for one in found] == [[row.tolist() for row in one] for one in expected]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("taken", [0, 1, 7, 10**6])
def test_a_stateful_data_loader_resumes(run: Path, workers: int, taken: int) -> None:
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
    epochs = [rows(Batches(run, "train", batch_tokens=300, epoch=epoch)) for epoch in range(3)]

    def loader() -> tuple[Batches, Any]:
        batches = Batches(run, "train", batch_tokens=300)
        return batches, stateful(batches, batch_size=None, num_workers=workers)

    def first(loaded: Any) -> Iterator[Any]:
        for number, batch in enumerate(loaded, 1):
            yield batch
            if number == taken:
                return

    batches, before = loader()
    batches.set_epoch(1)
    seen = rows(first(before)) if taken else []
    state = before.state_dict()

    batches, after = loader()
    after.load_state_dict(state)
    if taken > len(epochs[1]):
        assert seen == epochs[1]
    else:
        batches.set_epoch(1)
        assert seen + rows(after) == epochs[1]
    batches.set_epoch(2)
    assert rows(after) == epochs[2]


def test_states_of_other_data_and_options_are_refused(run: Path, encode_run: Callable[..., Path]) -> None:
    state = Batches(run, "train", batch_tokens=300, rank=0, world_size=2).state_dict()
    assert torch.save(state, run / "state.pt") is None
    state = torch.load(run / "state.pt", weights_only=True)
    Batches(run, "train", batch_tokens=300, rank=1, world_size=2).load_state_dict(state)
    with pytest.raises(ArgumentError, match="saved with world_size 2, here it is 1"):
        Batches(run, "train", batch_tokens=300).load_state_dict(state)
    other = encode_run({"a": PAIRS[:900]}, "example")
    with pytest.raises(RecordsError, match="the state belongs to other data"):
        Batches(other, "train", batch_tokens=300, rank=0, world_size=2).load_state_dict(state)


def test_ranks_get_equally_many_batches_and_all_pairs(run: Path) -> None:
    parts = [list(Batches(run, "train", batch_tokens=150, rank=rank, world_size=4)) for rank in range(4)]
    assert len({len(part) for part in parts}) == 1
    ids = [int(row[0]) for part in parts for batch in part for row in batch["input_ids"]]  # type: ignore[index]
    assert sorted(ids) == [100 + i for i in range(1200)]
    dropped = Batches(run, "train", batch_size=16, drop_remainder=True, rank=0, world_size=4)
    assert {len(batch["labels"]) for batch in dropped} == {16}  # type: ignore[index]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 1}, "rank is 1, with world_size 1 it must be from 0 to 0"),
        ({"features": "tf"}, "features is 'tf'; it must be one of 'hf', 'nmt', 't2t'"),
        ({"ahead": 0}, "ahead is 0; it must be at least 1"),
        ({"batch_tokens": 0}, "batch_tokens is 0; it must be at least 1"),
    ],
)
def test_wrong_arguments_are_refused(run: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Batches(run, "train", **options)
    with pytest.raises(ArgumentError, match="epoch is -1; it must be an integer from 0 to 1000000000"):
        Batches(run, "train").set_epoch(-1)


def test_damage_ends_the_epoch_with_an_error(run: Path) -> None:
    batches = Batches(run, "train", batch_tokens=300)
    shard = next((run / "records").glob("toy-train-00000*"))
    content = bytearray(shard.read_bytes())
    content[100] ^= 1
    shard.write_bytes(content)
    with pytest.raises(RecordsError, match="record at byte 0"):
        list(batches)


def test_memory_is_pinned_where_there_is_a_gpu(run: Path) -> None:
    pinned = torch.cuda.is_available()
    batch = next(iter(Batches(run, "train")))
    assert isinstance(batch, dict)
    assert {field.is_pinned() for field in batch.values()} == {pinned}


def test_labels_leave_out_what_is_no_target() -> None:
    target = Ragged.from_lists([[11, 12, 13, 14, 1], [21, 22, 1], [31, 1]])
    ignored = IdBatch(target, target, ignored=Ragged.from_lists([[0, 1, 2, 4], [], [1, 9]]))
    converter = Converter("hf", False, (0, 0), SOS, False)
    fields = converter.convert(ignored)
    assert fields["labels"].tolist() == [[-100, 12, -100, -100, 1], [21, 22, 1, -100, -100], [31, *[-100] * 4]]
    assert fields["decoder_input_ids"].tolist() == [[SOS, 11, 12, 13, 14], [SOS, 21, 22, 0, 0], [SOS, 31, 0, 0, 0]]
    packed = IdBatch(target, target, np.array([1, 2]), 6, ignored=ignored.ignored)
    assert converter.convert(packed)["labels"].tolist() == [
        [-100, 12, -100, -100, 1, -100],
        [21, 22, 1, 31, -100, -100],
    ]
    context = IdBatch(target, target, context=np.array([2, 0, 1]))
    fields = converter.convert(context)
    assert fields["labels"].tolist() == [[-100, -100, 13, 14, 1], [21, 22, 1, -100, -100], [-100, 1, *[-100] * 3]]
    assert fields["decoder_input_ids"].tolist()[0] == [SOS, 11, 12, 13, 14]
    nested = Converter("hf", True, (0, 0), SOS, False).convert(context)
    assert nested["labels"].values().tolist() == [-100, -100, 13, 14, 1, 21, 22, 1, -100, 1]


def test_batches_tell_the_languages_of_their_pairs(encode_run: Callable[..., Path]) -> None:
    corpora = {name: [([number] * 3, [number] * 2)] * 4 for number, name in enumerate("abc", 5)}
    run = encode_run(corpora, languages=["en-de", "de-en", "en-de"])
    batches = Batches(run, "train", batch_size=5, packed=False)
    seen = set()
    for batch in batches:
        assert isinstance(batch, dict)
        names = [batches.language_pairs[number] for number in batch["language_pairs"].tolist()]
        seen |= set(zip(batch["input_ids"][:, 0].tolist(), names, strict=True))
    assert seen == {(5, "en-de"), (6, "de-en"), (7, "en-de")}
    for other in Batches(run, "train", batch_size=5, features="nmt"):
        assert isinstance(other, BatchedInput)
        assert other.language_pairs is not None
        assert other.language_pairs.shape == other.source_sequence_length.shape
    [packed] = Batches(run, "train", packed=True, max_length=20)
    assert isinstance(packed, dict)
    assert sorted(packed["language_pairs"].flatten().tolist()).count(1) == 8


@pytest.mark.parametrize("options", [{"row_length": 128, "batch_size": 3}, {"batch_tokens": 400}])
def test_sequences_are_those_of_read_records(encode_run: Callable[..., Path], options: dict[str, Any]) -> None:
    sequences = [([*source, *target], [len(source), len(source) + len(target)]) for source, target in PAIRS]
    run = encode_run({"a": sequences[:900], "b": sequences[900:]}, "causal")
    expected = list(read_records(run, "train", features="causal", corpus_ids=True, **options))
    batches = Batches(run, "train", features="causal", corpus_ids=True, **options)
    assert len(batches) == len(expected)
    for found, one in zip(batches, expected, strict=True):
        assert isinstance(found, dict)
        assert {name: str(field.dtype) for name, field in found.items()} == {
            name: "torch.int32" if name == "cu_seqlens" else "torch.int64" for name in one
        }
        assert {name: field.tolist() for name, field in found.items()} == {
            name: array.tolist() for name, array in one.items()
        }
    loader = DataLoader(Batches(run, "train", features="causal", **options), batch_size=None, num_workers=2)
    assert [batch["labels"].tolist() for batch in loader] == [one["labels"].tolist() for one in expected]
    with pytest.raises(ArgumentError, match="has no nested tensors; pass row_length"):
        Batches(run, "train", features="causal", nested=True)
    with pytest.raises(ArgumentError, match="sos_id begins the input of a decoder"):
        Batches(run, "train", features="causal", sos_id=1)


def test_an_unfinished_iterator_ends_with_the_program(run: Path) -> None:
    program = f"import nmt_prep.torch; batches = iter(nmt_prep.torch.Batches({str(run)!r}, 'train')); next(batches)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
