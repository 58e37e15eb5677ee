from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.errors import CorpusError
from nmt_prep.stages.sample import sampled_lines
from tests.conftest import examples
from tests.corpora.formats.builders import reader
from tests.reference.sampling import sample

AMPLE = 1 << 40


def taken(paths: list[Path], stride: int, budget: int = AMPLE) -> list[str]:
    found = []
    for text, count in sampled_lines(paths, stride, budget):
        lines = bytes(text).decode().split("\n")
        assert lines.pop() == ""
        assert len(lines) == count
        found += lines
    return found


@pytest.mark.parametrize(
    ("content", "stride", "budget", "expected"),
    [
        (b"1\n2\n3\n4\n5\n6\n7\n", 3, AMPLE, ["3", "6"]),
        (b"1\n2\n3\n4\n5\n6", 3, AMPLE, ["3", "6"]),
        (b"1\n2\n\n4\n5\n", 3, AMPLE, [""]),
        (b"1\n2\n3", 1, AMPLE, ["1", "2", "3"]),
        (b"1\n2\n", 3, AMPLE, []),
        (b"\xef\xbb\xbf1\n2\n", 1, AMPLE, ["1", "2"]),
        (b"\xef\xbb\xbf", 1, AMPLE, []),
        (b"\xff\n \t2 2\x1f\r\n", 2, AMPLE, ["2 2"]),
        ("\u3000中\u2028中\u0085\u00a0\n\u1680é\u205f".encode(), 1, AMPLE, ["中\u2028中", "é"]),
        (b"", 1, AMPLE, []),
        (b"abc\ndef\nghi\n", 1, 3, ["abc"]),
        (b"abc\ndef\nghi\n", 1, 4, ["abc", "def"]),
        ("中中\n中\nx".encode(), 1, 3, ["中中", "中"]),
        (b"\n\na\nb\n", 1, 1, ["", "", "a"]),
    ],
)
def test_literal_lines(tmp_path: Path, content: bytes, stride: int, budget: int, expected: list[str]) -> None:
    (tmp_path / "a").write_bytes(content)
    assert taken([tmp_path / "a"], stride, budget) == expected


@settings(max_examples=examples(200))
@given(
    texts=st.lists(
        st.text(st.sampled_from("ab \n\n\n\r中é\ufeff\u2028\u3000\x1f"), max_size=80), min_size=1, max_size=2
    ),
    stride=st.integers(1, 30),
    budget=st.integers(1, 60) | st.just(AMPLE),
    read=st.integers(1, 40),
)
def test_lines_equal_those_of_the_twin(
    new_directory: Callable[[], Path], texts: list[str], stride: int, budget: int, read: int
) -> None:
    directory = new_directory()
    lines = []
    for number, text in enumerate(texts):
        (directory / f"{number}").write_text(text, encoding="utf-8", newline="")
        parts = text.removeprefix("\ufeff").split("\n")
        lines += parts if parts[-1] else parts[:-1]
    expected = list(sample(lines, 2 * budget * (stride - 1), budget))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nmt_prep.text.chunks.BLOCK_BYTES", read)
        assert taken([directory / f"{number}" for number in range(len(texts))], stride, budget) == expected


@pytest.mark.parametrize("stride", [1, 3, 17, 100, 5000])
def test_lines_of_a_large_file(tmp_path: Path, stride: int) -> None:
    lines = [f"{number} " + "é" * (number % 50) for number in range(60_000)]
    (tmp_path / "a").write_text("\n".join(lines), encoding="utf-8")
    assert taken([tmp_path / "a"], stride) == [line.strip() for line in lines[stride - 1 :: stride]]
    budget = sum(map(len, map(str.strip, lines))) // (2 * stride)
    assert taken([tmp_path / "a"], stride, budget) == list(sample(lines, 2 * budget * (stride - 1), budget))


def test_no_more_is_read_than_the_budget_asks_for(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc\n")
    assert taken([tmp_path / "a", tmp_path / "missing"], 1, 3) == ["abc"]
    with pytest.raises(CorpusError, match=r"cannot read .*missing"):
        taken([tmp_path / "a", tmp_path / "missing"], 1, 4)


def test_files_that_hold_one_side(tmp_path: Path) -> None:
    opened = reader(tmp_path, "plain", b"1\n", b"2\n")
    assert [opened.text_files(side) for side in ("source", "target")] == [[tmp_path / "a.en"], [tmp_path / "a.zh"]]


def test_text_that_is_not_utf8_any_more(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1\n\xff\n3\n")
    with pytest.raises(CorpusError, match="a changed while it was in use; run again with --force extract"):
        taken([tmp_path / "a"], 2)
