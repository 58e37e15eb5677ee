from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def killed(directory: Path, kills: int, seed: int) -> dict[str, object]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "no_proxy": "*"}
    program = [sys.executable, "-m", "tests.sources.kill_harness", str(directory), str(kills), str(seed)]
    result = subprocess.run(program, env=environment, check=True, stdout=subprocess.PIPE)
    return json.loads(result.stdout)


def test_a_killed_download_is_absent_or_whole(tmp_path: Path) -> None:
    result = killed(tmp_path, 15, 1)
    assert result["wrong"] == []
    assert int(str(result["hit"])) >= 5
    assert int(str(result["resumed"])) >= 1


@pytest.mark.slow
def test_a_download_killed_very_often(tmp_path: Path) -> None:
    result = killed(tmp_path, 300, 2)
    assert result["wrong"] == []
    assert int(str(result["resumed"])) >= 50
