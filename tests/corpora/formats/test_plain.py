from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.errors import AlignmentError
from nmt_prep.text import chunks as module
from tests.corpora.formats.builders import read, reader
from tests.reference import corpora as reference


def test_pairs(tmp_path: Path) -> None:
    assert read(tmp_path, "plain", b"a\n\nc", "一\n二\n三\n".encode()) == [("a", "一"), ("", "二"), ("c", "三")]


def test_empty_files(tmp_path: Path) -> None:
    assert read(tmp_path, "plain", b"", b"") == []


@given(
    pairs=st.lists(st.tuples(st.text("ab中\r", max_size=9), st.text("x\x85", max_size=30))), block=st.integers(1, 40)
)
def test_sides_of_different_lengths_stay_paired(
    new_directory: Callable[[], Path], pairs: list[tuple[str, str]], block: int
) -> None:
    sides = [("".join(f"{line}\n" for line in side)).encode() for side in zip(*pairs, strict=True)] or [b"", b""]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_BYTES", block)
        found = read(new_directory(), "plain", *sides, crlf="keep")
    assert found == list(zip(*map(reference.lines, sides), strict=True)) == pairs


@pytest.mark.parametrize("block", [3, 1 << 20])
@pytest.mark.parametrize("surplus", [-10, -2, -1, 1, 2])
def test_unequal_line_counts(tmp_path: Path, surplus: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", block)
    with pytest.raises(AlignmentError) as caught:
        read(tmp_path, "plain", b"ab\n" * 10, b"xyz\n" * (10 + surplus))
    assert str(caught.value) == (
        f"{tmp_path / 'a.en'} has 10 lines, but {tmp_path / 'a.zh'} has {10 + surplus}; line i of both makes a pair: "
        "check that the files belong together and are complete"
    )


def test_reading_one_side_does_not_open_the_other(tmp_path: Path) -> None:
    opened = reader(tmp_path, "plain", b"a\nb\n", b"\xff")
    assert [array.to_pylist() for array in opened.lines("source")] == [["a", "b"]]
    assert opened.text_files("source") == [tmp_path / "a.en"]
