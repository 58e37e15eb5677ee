from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.errors import CorpusError, InvalidTextError
from nmt_prep.text import chunks as module
from nmt_prep.text.blocks import AS_IS, blank_lines, iter_blocks, iter_lines, read_text, strip_lines, text_bytes
from tests.conftest import examples
from tests.reference import corpora as reference

SEPARATORS = ["\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\0"]


def read(path: Path) -> list[str]:
    return [line for array in iter_lines(path) for line in array.to_pylist()]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"\n\na", ["", "", "a"]),
        (b"a\n\n", ["a", ""]),
        (b"a\r\nb\r\n", ["a\r", "b\r"]),
        (b"\xef\xbb\xbfa\n", ["\ufeffa"]),
        (b" a\t \n\0\n", [" a\t ", "\0"]),
        ("𠮷\n野".encode(), ["𠮷", "野"]),
    ],
)
def test_lines(tmp_path: Path, content: bytes, expected: list[str]) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    assert read(path) == expected


@settings(max_examples=examples(200))
@given(
    text=st.text(st.sampled_from("ab\n\r\x85\u2028é中𠮷\0"), max_size=60),
    block=st.integers(1, 12),
    most=st.integers(1, 4),
)
def test_blocks_of_any_size_give_the_same_lines(
    new_directory: Callable[[], Path], text: str, block: int, most: int
) -> None:
    path = new_directory() / "a"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_BYTES", block)
        patch.setattr(module, "LINES_PER_CHUNK", most)
        assert read(path) == reference.lines(text.encode())
        numbers = [b.first_line for b in iter_blocks(path)]
        counts = [len(b.starts) for b in iter_blocks(path)]
    assert numbers == [1 + sum(counts[:i]) for i in range(len(counts))]
    assert all(count <= most + 1 for count in counts)  # one more if the file does not end with a newline


@pytest.mark.parametrize(
    ("bad", "shown"),
    [
        (b"\xff", "ff: invalid start byte"),
        (b"\xed\xa0\x80", "ed: invalid continuation byte"),
        (b"\xc0\x80", "c0: invalid start byte"),
        (b"\xf4\x90\x80\x80", "f4: invalid continuation byte"),
        (b"\xe4\xb8", "e4 b8: unexpected end of data"),
    ],
)
@pytest.mark.parametrize("block", [4, 1 << 20])
def test_position_of_invalid_utf8_is_reported(
    tmp_path: Path, bad: bytes, shown: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", block)
    path = tmp_path / "a.en"
    path.write_bytes("é\n\nab".encode() + bad)
    with pytest.raises(InvalidTextError) as caught:
        read(path)
    assert str(caught.value) == (f"{path}:3: not UTF-8 at byte 6 of the file ({shown}); convert the file to UTF-8")
    with pytest.raises(InvalidTextError, match=r"a\.en:3: not UTF-8 at byte 6 "):
        read_text(path, AS_IS, Counter())


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"ok\n\xe4\xb8\n\xad\n")  # a character cut by a newline
    with pytest.raises(InvalidTextError, match=r"a:2: not UTF-8 at byte 3 "):
        read(path)
    with pytest.raises(CorpusError, match=r"cannot read .*nothing: No such file"):
        read(tmp_path / "nothing")


def test_strip_equals_pythons_for_every_character() -> None:
    for start in range(0, sys.maxunicode + 1, 1 << 16):
        characters = [chr(code) for code in range(start, start + (1 << 16)) if not 0xD800 <= code <= 0xDFFF]
        padded = [f"{character}a{character}b{character}" for character in characters]
        assert strip_lines(pa.array(padded, pa.large_string())).to_pylist() == [line.strip() for line in padded]


def test_strip_of_one_character_at_either_end() -> None:
    for code in [point for point in range(0x3001) if chr(point).isspace()]:
        for line in (chr(code) + "a", "a" + chr(code), chr(code)):
            assert strip_lines(pa.array(["a", line, "b"])).to_pylist() == ["a", line.strip(), "b"]


@given(st.lists(st.text(st.sampled_from(" \x85\xa0\u2028„“é\u200bab"), max_size=4)), st.integers(0, 3))
def test_strip_of_slices(lines: list[str], first: int) -> None:
    array = pa.array(lines, pa.large_string())[first:]
    assert strip_lines(array).to_pylist() == [line.strip() for line in lines[first:]]


def test_lines_without_outer_space_are_not_copied_and_keep_their_type() -> None:
    lines = pa.array(["„a b“", "", "é"])
    assert strip_lines(lines) is lines
    assert strip_lines(pa.array([" a "])).type == pa.string()


def test_text_bytes() -> None:
    assert text_bytes(pa.array(["中", "", "ab"], pa.large_string())[1:]) == 2
    assert text_bytes(pa.array([], pa.large_string())) == 0


def test_blank_lines_are_those_that_strip_makes_empty() -> None:
    characters = [chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000]
    expected = [not character.strip() for character in characters]
    assert sum(expected) == 29
    for kind in (pa.string(), pa.large_string()):
        assert blank_lines(pa.array(characters, kind)).tolist() == expected


@given(st.lists(st.text(st.sampled_from(" \t\x85\xa0\u2028\u3000ab中\u200b"), max_size=4)), st.integers(0, 3))
def test_blank_lines(lines: list[str], first: int) -> None:
    array = pa.array(lines, pa.large_string())[first:]
    assert blank_lines(array).tolist() == [not line.strip() for line in lines[first:]]
    assert text_bytes(array) == sum(len(line.encode()) for line in lines[first:])
