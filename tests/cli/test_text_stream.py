from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from nmt_prep.base.errors import InvalidTextError
from nmt_prep.cli.text_stream import carriage_return_hint, input_lines, write_lines


@contextmanager
def standard_output(descriptor: int) -> Iterator[None]:
    """Makes an open file, which is closed in the end, descriptor 1."""
    kept = os.dup(1)
    os.dup2(descriptor, 1)
    os.close(descriptor)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def test_lines_are_numbered_through_all_blocks(tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(300_000)]
    (tmp_path / "text").write_text("\n".join(lines))  # no newline at the end
    found = list(input_lines(tmp_path / "text"))
    assert (len(found) > 1, found[0].first) == (True, 1)
    for before, block in itertools.pairwise(found):
        assert block.first == before.first + len(before.text)
    assert [line for block in found for line in block.text.to_pylist()] == lines
    assert {block.name for block in found} == {str(tmp_path / "text")}


def test_lines_end_at_newlines_only(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes("a\r\n\n\x85b\u2028c\x0b\n".encode())
    [block] = input_lines(tmp_path / "text")
    assert block.text.to_pylist() == ["a\r", "", "\x85b\u2028c\x0b"]


def test_text_that_is_not_utf8_is_named_by_line_and_column(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes("a\nüb\xff\n".encode("latin-1"))
    with pytest.raises(InvalidTextError, match=r"/text, line 2, column 1: not UTF-8 \(fc: invalid start byte\); conv"):
        list(input_lines(tmp_path / "text"))


def test_a_file_that_cannot_be_read_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        list(input_lines(tmp_path / "none"))
    assert (error.value.filename, error.value.strerror) == (str(tmp_path / "none"), "No such file or directory")


def test_lines_are_written_to_standard_output(tmp_path: Path) -> None:
    with standard_output(os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)):
        write_lines(pa.array(["a", "", "ü\r"], pa.large_string()))
        write_lines(pa.array([], pa.large_string()))
    assert (tmp_path / "out").read_bytes() == "a\n\nü\r\n".encode()


@pytest.mark.parametrize(
    ("line", "start"), [(b"", ""), (b"a\rb", ""), (b"\r", ", and is only a carr"), (b"a\r", ", and ends in a carr")]
)
def test_the_hint_about_carriage_returns(line: bytes, start: str) -> None:
    hint = carriage_return_hint(line)
    assert hint.startswith(start)
    assert bool(hint) == bool(start)
