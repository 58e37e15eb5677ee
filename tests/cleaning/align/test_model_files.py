from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_prep.base.errors import AlignmentModelError
from nmt_prep.cleaning.align.model import _DTYPES, Model
from nmt_prep.cleaning.align.model_files import read_arrays, write_arrays
from nmt_prep.cleaning.align.settings import Settings
from tests.cleaning.align.corpus import column, trained


def test_arrays_are_read_as_they_were_written(tmp_path: Path) -> None:
    arrays = {"a": np.array([1, 2, 3], np.int64), "none": np.empty(0, np.float32), "b": np.array([7, 8], np.uint8)}
    write_arrays(tmp_path / "file", "test", {"pairs": 3}, arrays)
    dtypes = {"a": "<i8", "none": "<f4", "b": "|u1", "not there": "<i8"}
    facts, found = read_arrays(tmp_path / "file", "test", dtypes)
    assert facts == {"pairs": 3}
    assert {name: (array.dtype, array.tolist()) for name, array in found.items()} == {
        name: (array.dtype, array.tolist()) for name, array in arrays.items()
    }
    content = (tmp_path / "file").read_bytes()
    header, _, rest = content.partition(b"\n")
    assert json.loads(header)["arrays"] == [["a", "<i8", 3], ["none", "<f4", 0], ["b", "|u1", 2]]
    assert json.loads(header)["sha256"] == hashlib.sha256(rest).hexdigest()
    assert content.endswith(b"\x07\x08")
    assert content.index((1).to_bytes(8, "little")) % 64 == 0


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"", b"a\tb\n", b"[1]\n", b'{"arrays": 3}\n', b"\xff\xfe\n"):
        path.write_bytes(content)
        with pytest.raises(AlignmentModelError, match="is not a model of nmt-prep align"):
            Model.load(path)
    write_arrays(path, "counts", {}, {})
    with pytest.raises(AlignmentModelError, match="holds counts, not a model"):
        Model.load(path)
    path.write_bytes(b'{"nmt_prep": "alignment", "version": 99, "kind": "model", "arrays": []}\n')
    with pytest.raises(AlignmentModelError, match="has version 99 of the format; this nmt_prep reads version 2"):
        Model.load(path)


def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AlignmentModelError, match="pipe is not a regular file"):
        Model.load(tmp_path / "pipe")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model"
    trained().save(path)
    return path


def check_refused(path: Path, reason: str) -> None:
    with pytest.raises(AlignmentModelError, match=f"{re.escape(str(path))} is damaged: {reason}; make it again"):
        Model.load(path)


def test_a_changed_byte_is_noticed(saved: Path, tmp_path: Path) -> None:
    content = saved.read_bytes()
    path = tmp_path / "model"
    for at in (content.index(b"\n") + 1, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        check_refused(path, "its digest differs from the one in its first line")
    for changed in (content[:-1], content + b"x", content[: len(content) // 2]):
        path.write_bytes(changed)
        check_refused(path, "its size does not fit its first line")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"arrays": [["evidence", "<i8", -1]]}, "its first line names other arrays"),
        ({"arrays": [["evidence", "<f4", 1]]}, "its first line names other arrays"),
        ({"arrays": [["other", "<i8", 1]]}, "its first line names other arrays"),
        ({"arrays": [["evidence", "<i8", True]]}, "its first line names other arrays"),
        ({"arrays": [["evidence", ["<i8"], 1]]}, "its first line names other arrays"),
        ({"arrays": [1]}, "its first line names other arrays"),
        ({"arrays": {}}, "its first line names other arrays"),
        ({"arrays": [["evidence", "<i8", 0]] * 2}, "its size does not fit its first line"),
        ({"arrays": [["evidence", "<i8", 2**64]]}, "its size does not fit its first line"),
        ({"sha256": None}, "its digest differs from the one in its first line"),
        ({"rounds_done": 1}, "it has had 1 rounds of training"),
        ({"rounds_done": -1}, "it has had -1 rounds of training"),
        ({"rounds_done": 10}, "it has had 10 rounds of training"),
        ({"rounds_done": "1"}, "its settings are .*"),
        ({"share": 2.0}, "its settings are .*"),
        ({"share": float("nan")}, "its settings are .*"),
        ({"more": 1}, "its settings are .*"),
        ({"settings": {"stem": "x"}}, "its settings are .*"),
        ({"settings": asdict(Settings(stem=-1))}, "its settings are .*"),
        ({"settings": asdict(Settings(table=2**31))}, "its settings are .*"),
        ({"prior": 1}, "its settings are .*"),
    ],
)
def test_damaged_first_lines_are_refused(saved: Path, tmp_path: Path, facts: dict[str, Any], reason: str) -> None:
    header, _, rest = saved.read_bytes().partition(b"\n")
    path = tmp_path / "model"
    line = json.dumps(json.loads(header) | facts).encode()
    line += b" " * ((len(header) - len(line)) % 64)  # arrays stay aligned
    path.write_bytes(line + b"\n" + rest)
    check_refused(path, reason)


def cell(target: int = 1, forward: float = 0.5, backward: float = 0.5) -> bytes:
    return struct.pack("<iff", target, forward, backward)


@pytest.mark.parametrize(
    ("name", "places", "value", "reason"),
    [
        ("forward", 0, -1.0, "a weight is not from 0 to 1"),  # made links choose words beyond the line
        ("forward", 0, float("nan"), "a weight is not from 0 to 1"),
        ("backward", 15, float("inf"), "a weight is not from 0 to 1"),
        ("backward", 3, 0.0, "a weight is not from 0 to 1"),
        ("backward", 3, 1e-30, "a weight is not from 0 to 1"),
        ("source.counts", 0, -5, "the counts of its words are not positive, or too large"),
        ("target.counts", 1, 0, "the counts of its words are not positive, or too large"),
        ("target.counts", slice(2), 2**62, "the counts of its words are not positive, or too large"),
        ("source.hashes", slice(2), 7, "its words are not distinct, too many, or not as many as their counts"),
        ("evidence", 0, -1, "the counts of links are negative or too large"),
        ("evidence", slice(2), 2**60, "the counts of links are negative or too large"),
        ("first", 1, 2**62, "the rows of the lexical table do not fit together"),
        ("first", 1, -(2**63), "the rows of the lexical table do not fit together"),
        ("slots", slice(12), list(cell(10_000)), "a word is not in the vocabulary"),
        ("slots", slice(12), list(cell(forward=-0.5)), "the lexical table has what is not a probability"),
        ("slots", slice(12), list(cell(backward=float("nan"))), "the lexical table has what is not a probability"),
    ],
)
def test_damaged_arrays_are_refused(tmp_path: Path, name: str, places: int | slice, value: Any, reason: str) -> None:
    trained().save(tmp_path / "model")
    facts, arrays = read_arrays(tmp_path / "model", "model", _DTYPES)
    changed = arrays[name].copy()
    changed[places] = value
    write_arrays(tmp_path / "changed", "model", facts, arrays | {name: changed})
    check_refused(tmp_path / "changed", reason)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("source.hashes", "its words are not distinct, too many, or not as many as their counts"),
        ("target.counts", "its words are not distinct, too many, or not as many as their counts"),
        ("first", "the rows of the lexical table do not fit together"),
        ("slots", "the lexical table is cut"),
        ("forward", "there must be a weight for each jump"),
        ("backward", "there must be a weight for each jump"),
        ("evidence", "there must be a count for each slot"),
    ],
)
def test_arrays_of_other_lengths_or_types_are_refused(tmp_path: Path, name: str, reason: str) -> None:
    trained().save(tmp_path / "model")
    facts, arrays = read_arrays(tmp_path / "model", "model", _DTYPES)
    path = tmp_path / "changed"
    write_arrays(path, "model", facts, arrays | {name: arrays[name][:-1]})
    check_refused(path, reason)
    write_arrays(path, "model", facts, arrays | {name: arrays[name].astype(np.float64)})
    check_refused(path, "its first line names other arrays")
    write_arrays(path, "model", facts, {other: array for other, array in arrays.items() if other != name})
    check_refused(path, f"it lacks '{name}'")


def test_a_loaded_model_works_as_before(tmp_path: Path) -> None:
    model = trained()
    model.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    pair = column(["the small tree"]), column(["der kleine Baum"])
    assert loaded.align(*pair).links.tolist() == model.align(*pair).links.tolist()
    assert loaded.score(*pair).tolist() == model.score(*pair).tolist()
