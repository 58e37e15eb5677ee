from __future__ import annotations

from contextlib import nullcontext
from itertools import combinations
from pathlib import Path

import pytest

from nmt_prep.base import digests
from nmt_prep.base.digests import CheckedFile, DigestCache, StepRange


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(b"abcdefghij")
    return tmp_path / "file"


@pytest.fixture
def steps(file: Path, monkeypatch: pytest.MonkeyPatch) -> StepRange:
    monkeypatch.setattr(digests, "STEP_BYTES", 4)
    return DigestCache(file.parent).steps(file).of_range(0, 10)


@pytest.mark.parametrize(
    ("content", "whole"),
    [(b"abcdefghij", True), (b"abcdefghijk", False), (b"abcdefghi", False), (b"abcdeFghij", False), (b"abcd", False)],
)
def test_changed_steps_are_found(file: Path, steps: StepRange, content: bytes, whole: bool) -> None:
    file.write_bytes(content)
    assert bytes(CheckedFile(file, steps).read(1, 3)) == b"bc"
    for end in (10, 12):
        with nullcontext() if whole else pytest.raises(ValueError, match=r"file has changed"):
            assert bytes(CheckedFile(file, steps).read(6, end)) == b"ghij"


@pytest.mark.parametrize("first", range(10))
def test_ranges_in_any_order(file: Path, steps: StepRange, first: int) -> None:
    checked = CheckedFile(file, steps)
    for begin, end in combinations(range(11), 2):
        assert bytes(checked.read(first, 10)) == b"abcdefghij"[first:]
        assert bytes(checked.read(begin, end)) == b"abcdefghij"[begin:end]


def test_an_empty_range_needs_no_steps(file: Path, steps: StepRange) -> None:
    assert bytes(CheckedFile(file, steps).read(0, 0)) == b""


def test_a_shared_step_is_read_once(file: Path, steps: StepRange) -> None:
    checked = CheckedFile(file, steps)
    assert bytes(checked.read(0, 6)) == b"abcdef"
    file.write_bytes(b"xxxxxxxxij")
    assert bytes(checked.read(6, 10)) == b"ghij"
    with pytest.raises(ValueError, match=r"file has changed"):
        checked.read(0, 6)
