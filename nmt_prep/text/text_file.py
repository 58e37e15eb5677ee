"""Small files of text that a user gives for a step."""

from __future__ import annotations

from pathlib import Path


def file_lines(path: Path) -> list[str]:
    r"""Returns the lines of a UTF-8 file, which end at ``\n`` only."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    try:
        return text.decode("utf-8").removesuffix("\n").split("\n") if text else []
    except UnicodeDecodeError as error:
        number = text.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {number}: not UTF-8; convert the file to UTF-8") from error
