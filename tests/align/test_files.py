from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nmt_prep.align.counts import Counts
from nmt_prep.align.files import read_arrays, write_arrays
from nmt_prep.align.model import Model
from nmt_prep.errors import AlignmentModelError
from tests.align.corpus import column, trained


def test_arrays_are_read_as_they_were_written(tmp_path: Path) -> None:
    arrays = {"a": np.array([1, 2, 3], np.int64), "none": np.empty(0, np.float32), "b": np.array([7, 8], np.uint8)}
    write_arrays(tmp_path / "file", "test", {"pairs": 3}, arrays)
    facts, found = read_arrays(tmp_path / "file", "test")
    assert facts == {"pairs": 3}
    assert {name: (array.dtype, array.tolist()) for name, array in found.items()} == {
        name: (array.dtype, array.tolist()) for name, array in arrays.items()
    }
    content = (tmp_path / "file").read_bytes()
    header = content.partition(b"\n")[0]
    assert json.loads(header)["arrays"] == [["a", "<i8", 3], ["none", "<f4", 0], ["b", "|u1", 2]]
    assert content.endswith(b"\x07\x08")
    assert content.index((1).to_bytes(8, "little")) % 64 == 0


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"", b"a\tb\n", b"[1]\n", b'{"arrays": 3}\n', b"\xff\xfe\n"):
        path.write_bytes(content)
        with pytest.raises(AlignmentModelError, match="is not a file of nmt-prep align"):
            Model.load(path)
    write_arrays(path, "counts", {}, {})
    with pytest.raises(AlignmentModelError, match="holds counts, not a model"):
        Model.load(path)
    path.write_bytes(b'{"nmt_prep": "alignment", "version": 99, "kind": "model", "arrays": []}\n')
    with pytest.raises(AlignmentModelError, match="has version 99 of the format; this nmt_prep reads version 1"):
        Model.load(path)


def test_damaged_models_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    trained().save(path)
    content = path.read_bytes()
    header, _, arrays = content.partition(b"\n")
    facts = json.loads(header)
    damaged = [content[:-1], content + b"x", content[: len(content) // 2]]
    for key, value in (
        ("arrays", [["a", "<i8", -1]]),
        ("arrays", [1]),
        ("rounds_done", 1),
        ("settings", {"stem": "x"}),
    ):
        changed = json.dumps(facts | {key: value}, sort_keys=True).encode()
        damaged.append(changed.ljust(len(header)) + b"\n" + arrays)
    for each in damaged:
        path.write_bytes(each)
        with pytest.raises(AlignmentModelError, match="is damaged"):
            Model.load(path)


def test_words_beyond_the_vocabulary_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    trained().save(path)
    facts, arrays = read_arrays(path, "model")
    slots = arrays["slots"].copy().view(np.int32)
    slots[np.flatnonzero(slots.reshape(-1, 3)[:, 0] > 0)[0] * 3] = 10_000
    write_arrays(tmp_path / "changed", "model", facts, arrays | {"slots": slots.view(np.uint8)})
    with pytest.raises(AlignmentModelError, match="a word is not in the vocabulary"):
        Model.load(tmp_path / "changed")


def test_sparse_counts_are_read_as_they_were_written(tmp_path: Path) -> None:
    expected = np.zeros(1000, np.int64)
    expected[[3, 999]] = 5, 7
    counts = Counts("jumps-1", 2, {"expected": expected, "forward": np.ones(3, np.int64)})
    counts.save(tmp_path / "counts")
    assert (tmp_path / "counts").stat().st_size < 500
    found = Counts.load(tmp_path / "counts")
    assert (found.round, found.pairs) == ("jumps-1", 2)
    assert {name: array.tolist() for name, array in found.arrays.items()} == {
        "expected": expected.tolist(),
        "forward": [1, 1, 1],
    }


def test_a_loaded_model_works_as_before(tmp_path: Path) -> None:
    model = trained()
    model.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    pair = column(["the small tree"]), column(["der kleine Baum"])
    assert loaded.align(*pair).links.tolist() == model.align(*pair).links.tolist()
    assert loaded.score(*pair).tolist() == model.score(*pair).tolist()
