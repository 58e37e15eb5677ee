from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.corpora import plain
from nmt_prep.corpora.plain import every_line
from nmt_prep.corpora.reader import every
from nmt_prep.errors import CorpusError
from tests.corpora.builders import reader


def taken(path: Path, stride: int) -> list[str]:
    return [line for array in every_line(path, stride) for line in array.to_pylist()]


@pytest.mark.parametrize(
    ("content", "stride", "expected"),
    [
        (b"1\n2\n3\n4\n5\n6\n7\n", 3, ["3", "6"]),
        (b"1\n2\n3\n4\n5\n6", 3, ["3", "6"]),
        (b"1\n2\n\n4\n5\n", 3, [""]),
        (b"1\n2\n3", 1, ["1", "2", "3"]),
        (b"1\n2\n", 3, []),
        (b"\xef\xbb\xbf1\n2\n", 1, ["1", "2"]),
        (b"\xef\xbb\xbf", 1, []),
        (b"\xff\n2\r\n", 2, ["2\r"]),
        (b"", 1, []),
    ],
)
def test_literal_lines(tmp_path: Path, content: bytes, stride: int, expected: list[str]) -> None:
    (tmp_path / "a").write_bytes(content)
    assert taken(tmp_path / "a", stride) == expected


@settings(max_examples=150, deadline=None)
@given(
    text=st.text(st.sampled_from("ab\n\n\r中\ufeff\u2028"), max_size=80),
    stride=st.integers(1, 9),
    read=st.integers(1, 40),
    window=st.integers(1, 20),
)
def test_lines_equal_those_of_the_reader(
    new_directory: Callable[[], Path], text: str, stride: int, read: int, window: int
) -> None:
    directory = new_directory()
    opened = reader(directory, "plain", text.encode(), b"", crlf="keep")
    expected = [line for array in every(opened.lines("source"), stride) for line in array.to_pylist()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain, "READ_BYTES", read)
        patch.setattr(plain, "WINDOW_BYTES", window)
        patch.setattr(plain, "WORTH_SKIPPING", 1)
        assert taken(directory / "a.en", stride) == expected
        arrays = opened.every("source", stride, sound=True)
        assert [line for array in arrays for line in array.to_pylist()] == expected


def test_lines_with_faults_are_not_counted(tmp_path: Path) -> None:
    opened = reader(tmp_path, "plain", b"1\n\xff\n" * 20, b"", invalid="drop")
    assert [array.to_pylist() for array in opened.every("source", 10, sound=False)] == [["1", "1"]]


def test_changed_or_invalid_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff\n")
    with pytest.raises(CorpusError, match=r"a changed while it was in use; run again with --force extract"):
        taken(tmp_path / "a", 1)
    with pytest.raises(CorpusError, match=r"cannot read .*nothing: No such file"):
        taken(tmp_path / "nothing", 1)
