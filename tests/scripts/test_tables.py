from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from table_files import write_or_check

from tests.conftest import REPOSITORY

SCRIPTS = REPOSITORY / "scripts"


@pytest.mark.parametrize("script", sorted(path.name for path in SCRIPTS.glob("make_*_tables.py")))
def test_the_scripts_of_tables_start(script: str) -> None:
    done = subprocess.run([sys.executable, SCRIPTS / script, "--help"], check=True, capture_output=True, text=True)
    assert "--check" in done.stdout


@pytest.mark.parametrize(
    ("line", "rows", "status", "message"),
    [
        ("// from Unicode 14.0", "1,", 0, ""),
        ("// from Unicode 14.0", "2,", 1, "out of date"),
        ("// from Unicode 15.1", "2,", 0, "was not compared: it is of another version of Unicode"),
    ],
)
def test_comparison(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    rows: str,
    status: int,
    message: str,
) -> None:
    monkeypatch.setattr(sys, "argv", ["make_some_tables.py", "--check"])
    target = tmp_path / "some_tables.cpp"
    target.write_text("// from Unicode 14.0\n1,\n")
    assert write_or_check(target, lambda: f"{line}\n{rows}\n", None) == status
    assert message in capsys.readouterr().err


def test_a_library_that_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def source() -> str:
        raise ModuleNotFoundError("No module named 'unicodedataplus'")

    monkeypatch.setattr(sys, "argv", ["make_some_tables.py", "--check"])
    target = tmp_path / "some_tables.cpp"
    target.write_text("// from Unicode 9.0\n")
    assert write_or_check(target, source, None) == 0
    assert "was not compared: No module named 'unicodedataplus'" in capsys.readouterr().err
