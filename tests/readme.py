"""The code blocks of README."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def block(language: str, contains: str) -> str:
    """Returns the only code block of a language that contains a text."""
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    [found] = [block for block in blocks if contains in block]
    return str(found)


def command_line_arguments() -> list[str]:
    """Returns the arguments of the command under "Three ways to train"."""
    program, *arguments = block("sh", "# makes runs/toy").partition("#")[0].split()
    assert program == "nmt-prep"
    return arguments


def copy_toy(directory: Path) -> None:
    """Copies the toy config and its corpus."""
    (directory / "configs").mkdir()
    shutil.copy(REPOSITORY / "configs" / "toy.yaml", directory / "configs")
    shutil.copytree(REPOSITORY / "data" / "toy", directory / "data" / "toy")
