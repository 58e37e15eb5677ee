from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EVERY_POINT = [
    ("every-stage", (1, 1, 50), 120),
    ("in-place", (2, 11, 3), 100),
    ("alignment", (5, 23, 5), 12),
    ("documents", (40, 17, 3), 8),
]


@pytest.mark.parametrize(
    ("run", "points", "least"),
    [("every-stage", (3, 307, 0), 4), *(pytest.param(*each, marks=pytest.mark.slow) for each in EVERY_POINT)],
)
def test_after_kills_a_rerun_gives_the_same_bytes(
    tmp_path: Path, run: str, points: tuple[int, int, int], least: int
) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = [sys.executable, "-m", "tests.kill_harness", run, str(tmp_path), *map(str, points)]
    result = json.loads(subprocess.run(program, env=environment, check=True, stdout=subprocess.PIPE).stdout)
    assert result["wrong"] == []
    assert result["points"] >= least
