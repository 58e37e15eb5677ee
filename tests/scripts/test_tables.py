from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.mark.parametrize("script", sorted(path.name for path in SCRIPTS.glob("make_*_tables.py")))
def test_the_scripts_of_tables_start(script: str) -> None:
    done = subprocess.run([sys.executable, SCRIPTS / script, "--help"], check=True, capture_output=True, text=True)
    assert "--check" in done.stdout
