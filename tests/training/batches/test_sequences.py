"""Batches of sequences for causal language models."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nmt_prep
from nmt_prep import load_tokenizer
from nmt_prep.base.errors import ArgumentError, RecordsError
from nmt_prep.runs.checks import check_config
from nmt_prep.training.batches import BatchSource, plan_batches, read_records
from nmt_prep.training.batches.options import Options
from nmt_prep.training.records.dataset_json import load_dataset_info

Pair = tuple[list[int], list[int]]

# Prompt, target and eos; each seventh pair is a turn of another sequence.
SEQUENCES: list[Pair] = [
    ([], [])
    if i % 7 == 6
    else ([1000 + i, *[2] * (i * 11 % 40), *[3] * (i % 9), 1], [i * 11 % 40 + 1, i * 11 % 40 + i % 9 + 2])
    for i in range(2000)
]
FULL = Counter(tuple(ids) for ids, _ in SEQUENCES if ids)
BOUNDS = {ids[0]: bounds for ids, bounds in SEQUENCES if ids}


@pytest.fixture
def run(encode_run: Callable[..., Path]) -> Path:
    return encode_run({"a": SEQUENCES[:1500], "b": SEQUENCES[1500:]}, "causal")


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.training.batches.batch_plan.WINDOW_PAIRS", 400)


def packed(batches: Iterable[dict[str, Any]]) -> Counter[tuple[int, ...]]:
    """Returns the sequences of packed batches, and checks labels, positions and padding."""
    found = Counter[tuple[int, ...]]()
    for batch in batches:
        rows, width = batch["input_ids"].shape
        ids, labels, positions = (batch[name].ravel() for name in ("input_ids", "labels", "position_ids"))
        begins = batch["cu_seqlens"].tolist()
        assert (batch["cu_seqlens"].dtype, begins[0], begins[-1]) == (np.int32, 0, rows * width)
        for a, b in pairwise(begins):
            assert positions[a:b].tolist() == list(range(b - a))
            one = ids[a:b].tolist()
            if one[0] < 1000:
                assert (set(one), set(labels[a:b].tolist()), b % width) == ({0}, {-100}, 0)
                continue
            begin, end = BOUNDS[one[0]]
            expected = [token if begin <= place < end and place else -100 for place, token in enumerate(one)]
            assert labels[a:b].tolist() == expected
            found[tuple(one)] += 1
    return found


def lists(batches: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: array.tolist() for name, array in batch.items()} for batch in batches]


def causal(run: Path, **options: Any) -> list[dict[str, Any]]:
    return [*read_records(run, "train", features="causal", **options)]


def test_a_sequence_per_row(run: Path) -> None:
    sequences = Counter[tuple[int, ...]]()
    batches = causal(run, batch_tokens=500)
    for batch in batches:
        assert sorted(batch) == ["attention_mask", "input_ids", "labels"]
        assert {array.dtype for array in batch.values()} == {np.dtype(np.int64)}
        assert batch["input_ids"].size <= 500
        for ids, labels, mask in zip(
            *(batch[name].tolist() for name in ("input_ids", "labels", "attention_mask")), strict=True
        ):
            size = sum(mask)
            begin, end = BOUNDS[ids[0]]
            assert mask == [1] * size + [0] * (len(ids) - size)
            assert labels == [-100] * begin + ids[begin:end] + [-100] * (len(ids) - end)
            sequences[tuple(ids[:size])] += 1
    assert sequences == FULL
    assert lists(causal(run, batch_tokens=500, skip_batches=9)) == lists(batches[9:])


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("world", [1, 3])
def test_packed_rows(run: Path, world: int) -> None:
    options: dict[str, Any] = {"row_length": 200, "batch_size": 3, "seed": 4, "epoch": 2, "world_size": world}
    parts = [causal(run, rank=rank, **options) for rank in range(world)]
    assert sum((packed(part) for part in parts), Counter()) == FULL
    for rank, part in enumerate(parts):
        plan = plan_batches(run, "train", Options(**options, rank=rank), causal=True)
        assert plan.total == len(part)
        for skipped in (1, 5, len(part)):
            assert lists(causal(run, rank=rank, skip_batches=skipped, **options)) == lists(part[skipped:])
    equal = [causal(run, rank=rank, equal_batches="split", **options) for rank in range(world)]
    assert len({len(part) for part in equal}) == 1
    assert sum((packed(part) for part in equal), Counter()) == FULL
    assert lists(parts[0]) != lists(causal(run, **{**options, "epoch": 3}))


def test_rows_are_full_and_mixed_anew_in_each_epoch(run: Path) -> None:
    rows = []
    for epoch in (0, 1):
        [batch] = causal(run, row_length=500, batch_size=999, epoch=epoch)
        rows.append({tuple(sorted(row[row >= 1000].tolist())) for row in batch["input_ids"]})
        assert (batch["input_ids"] > 0).mean() > 0.99
    assert not rows[0] & rows[1]


def test_long_sequences_are_dropped_or_cut(run: Path) -> None:
    short = Counter({ids: count for ids, count in FULL.items() if len(ids) <= 30})
    assert packed(causal(run, row_length=64, max_length=30)) == short
    cut = packed(causal(run, row_length=64, max_length=30, too_long="truncate"))
    assert cut == Counter(ids[:30] for ids in FULL.elements())
    for batch in causal(run, max_length=30, too_long="truncate"):
        assert batch["input_ids"].shape[1] <= 30
        without_target = batch["input_ids"][(batch["labels"] == -100).all(axis=1)]
        assert all(BOUNDS[row[0]][0] >= 30 for row in without_target.tolist())


def test_copies_columns_and_fixed_widths(run: Path) -> None:
    options: dict[str, Any] = {"corpus_ids": True, "weights": {"a": 2, "b": 0}}
    found = causal(run, row_length=100, **options)
    assert packed(found) == Counter({ids: 2 for ids in FULL if ids[0] < 2500})
    for batch in found:
        assert set(batch["corpora"].ravel().tolist()) <= {0, -1}
        assert ((batch["corpora"] == 0).sum(axis=1) == (batch["input_ids"] >= 1000).sum(axis=1)).all()
    for batch in causal(run, pad_to=[16, 64], **options):
        assert batch["input_ids"].shape[1] in (16, 64)
        assert batch["corpora"].shape == batch["input_ids"].shape[:1]


def test_a_source_resumes(run: Path) -> None:
    options: dict[str, Any] = {"features": "causal", "row_length": 128, "batch_size": 2, "seed": 1}
    source = BatchSource(run, "train", **options)
    batches = iter(source)
    for _ in range(4):
        next(batches)
    state = json.loads(json.dumps(source.state_dict()))
    assert (state["options"]["row_length"], state["options"]["causal"]) == (128, True)
    resumed = BatchSource(run, "train", **options)
    resumed.load_state_dict(state)
    assert lists(resumed) == lists(batches)
    assert packed(resumed) == FULL
    other = BatchSource(run, "train", **{**options, "row_length": 64})
    with pytest.raises(ArgumentError, match="the state was saved with row_length 128, here it is 64"):
        other.load_state_dict(state)


@pytest.mark.parametrize(
    ("layout", "features", "options", "message"),
    [
        ("causal", None, {}, 'records of layout causal hold language model sequences; pass features="causal"'),
        ("chunk", "causal", {}, 'features="causal" needs records of layout causal, or text with records.prompt'),
        ("chunk", None, {"row_length": 64}, 'row_length is for features="causal"; packed=True packs pairs'),
        ("causal", "causal", {"row_length": 1}, "row_length is 1, but the shortest sequence of train has 2 IDs"),
        ("causal", "causal", {"max_length": 1}, "max_length is 1, but the shortest sequence of train has 2 IDs"),
        ("causal", "causal", {"row_length": 0}, "row_length is 0; it must be at least 1"),
        ("causal", "causal", {"row_length": 12, "too_long": "truncate"},
         'too_long="truncate" leaves only prompts: half of them have 22 IDs or more, and sequences are cut to 12;'),
        ("causal", "causal", {"row_length": 65535}, "row_length is 65535; it must be at most 65534"),
        ("causal", "causal", {"row_length": 2.5}, "row_length is 2.5; it must be a whole number"),
        ("causal", "causal", {"packed": True}, "packed rows need row_length"),
        ("causal", "causal", {"packed": False, "row_length": 9}, "remove packed=False, or row_length"),
        ("causal", "causal", {"pad_to": [9], "row_length": 9}, "packed rows have one length; remove pad_to"),
        ("causal", "causal", {"subwords": {"source": {"alpha": 0.5}}}, "need records of layout text, not causal"),
        ("causal", "hf", {}, "features is 'hf'; it must be one of None, 'causal'"),
    ],
)  # fmt: skip
def test_what_does_not_fit(
    encode_run: Callable[..., Path], layout: str, features: Any, options: dict[str, Any], message: str
) -> None:
    run = encode_run({"a": SEQUENCES[:40]}, layout)
    for make in (read_records, BatchSource):
        with pytest.raises(ArgumentError, match=message):
            make(run, "train", features=features, **options)


def test_damaged_spans(encode_run: Callable[..., Path]) -> None:
    run = encode_run({"a": [([5, 6, 1], [2, 1])]}, "causal")
    with pytest.raises(RecordsError, match="a record of layout causal is damaged: the spans of a sequence must ascend"):
        causal(run)


def test_sequences_of_text(tmp_path: Path) -> None:
    for corpus, size in (("a", 300), ("b", 100)):
        lines = (f"{'red ' * (n % 9)}house {n}\t{'rotes ' * (n % 7)}Haus {n}\n" for n in range(size))
        (tmp_path / f"{corpus}.tsv").write_text("".join(lines))
    config = {
        "name": "t",
        "seed": 1,
        "languages": {"source": "en", "target": "de"},
        "splits": {"train": [{"name": name, "url": f"{name}.tsv"} for name in "ab"]},
        "vocab": {"kind": "byte_bpe", "size": 300, "shared": True},
    }
    for layout in ("causal", "text"):
        records = {"layout": layout, "prompt": "To {target_language}: {source}\n"}
        run = {**config, "output_dir": str(tmp_path / layout), "records": records}
        nmt_prep.run(check_config(run, "test config").within(tmp_path))
    options: dict[str, Any] = {"row_length": 512, "batch_size": 4}
    made, text = (causal(tmp_path / layout, **options) for layout in ("causal", "text"))
    assert lists(made) == lists(text)
    rows = np.concatenate([batch["input_ids"].ravel()[batch["labels"].ravel() != -100] for batch in text])
    records_dir = tmp_path / "text" / "records"
    tokenizer = load_tokenizer(records_dir / load_dataset_info(records_dir).vocab.target.file)
    decoded = tokenizer.decode([one for one in rows.tolist() if one])
    assert (decoded.count("Haus"), decoded.count("house")) == (400, 0)
    for bucketing in ("optimal", "t2t"):
        assert sum(len(batch["labels"]) for batch in causal(tmp_path / "text", bucketing=bucketing)) == 400
    stages = [{"name": "s", "mix": {"b": 1.0}, "until": {"b": 2}}]
    options["training"] = {"stages": stages, "modifiers": [{"UpperCase": 1.0}]}
    staged = causal(tmp_path / "text", **options)
    assert sum((batch["position_ids"] == 0).sum() for batch in staged) > 200
    source = BatchSource(tmp_path / "text", "train", features="causal", **options)
    assert len(source) == len(staged)
    with pytest.raises(ArgumentError, match="subwords are not sampled in rows of a causal language model"):
        causal(tmp_path / "text", subwords={"source": {"dropout": 0.1}})
