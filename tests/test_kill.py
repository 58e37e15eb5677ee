from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def killed(directory: Path, first: int, step: int, random: int, run: str = "every-stage") -> dict[str, object]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = [sys.executable, "-m", "tests.kill_harness", run, str(directory), str(first), str(step), str(random)]
    result = subprocess.run(program, env=environment, check=True, stdout=subprocess.PIPE)
    return json.loads(result.stdout)


def test_after_kills_at_some_points_a_rerun_gives_the_same_bytes(tmp_path: Path) -> None:
    result = killed(tmp_path, 3, 307, 0)
    assert result["wrong"] == []
    assert result["points"] >= 4


@pytest.mark.slow
def test_after_kills_at_every_point_a_rerun_gives_the_same_bytes(tmp_path: Path) -> None:
    result = killed(tmp_path, 1, 1, 50)
    assert result["wrong"] == []
    assert result["points"] >= 120


@pytest.mark.slow
def test_after_kills_of_a_run_that_reads_files_in_their_places_a_rerun_gives_the_same_bytes(tmp_path: Path) -> None:
    result = killed(tmp_path, 2, 11, 3, run="in-place")
    assert result["wrong"] == []
    assert result["points"] >= 100


@pytest.mark.slow
def test_after_kills_during_alignment_a_rerun_gives_the_same_bytes(tmp_path: Path) -> None:
    result = killed(tmp_path, 5, 23, 5, run="alignment")
    assert result["wrong"] == []
    assert result["points"] >= 12


@pytest.mark.slow
def test_after_kills_of_a_run_with_documents_a_rerun_gives_the_same_bytes(tmp_path: Path) -> None:
    result = killed(tmp_path, 40, 17, 3, run="documents")
    assert result["wrong"] == []
    assert result["points"] >= 8
