from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (f"{'é' * 72}\n\nBody.\n", ""),
        (f"{'é' * 73}\n", "the subject has 73 characters, and 72 are allowed"),
        ("Read it.\n", "the subject ends with a full stop"),
        ("Read it\nand more\n", "the second line is not empty"),
        ("# comment\nRead it\n# comment\n", ""),
    ],
)
def test_subjects_of_commits(tmp_path: Path, message: str, error: str) -> None:
    path = tmp_path / "message"
    path.write_text(message, "utf-8")
    hook = REPOSITORY / "scripts" / "hooks" / "commit-msg"
    done = subprocess.run([hook, path], capture_output=True, text=True, check=False)
    assert done.returncode == bool(error)
    assert done.stderr.startswith(error)
