from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY

COMPILER = shutil.which("cc")

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the shim is for Linux"),
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler"),
]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("shim") / "fault_shim.so"
    source = REPOSITORY / "tests" / "fault_shim.c"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([str(COMPILER), *flags, str(source), "-o", str(library), "-ldl"], check=True)
    return library


def disturbed(shim: Path, place: Path, variant: str, first: int, step: int, turn: int) -> dict[str, Any]:
    environment = {**os.environ, "LD_PRELOAD": str(shim), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = [sys.executable, "-m", "tests.fault_harness", str(place), variant, *map(str, (first, step, turn))]
    result = subprocess.run(program, env=environment, check=True, capture_output=True, text=True)
    assert "Traceback" not in result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("variant", ["example", "packed"])
def test_after_disk_faults_at_some_points_a_rerun_gives_the_same_bytes(
    shim: Path, tmp_path: Path, variant: str
) -> None:
    result = disturbed(shim, tmp_path, variant, 5, 211, 0)
    assert result["wrong"] == []
    assert result["points"] >= 4
    assert result["endings"]["OutputError"] >= 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "step", "turn"), [("example", 1, 0), ("chunk", 1, 1), ("packed", 2, 2), ("in-place", 1, 3)]
)
def test_after_disk_faults_at_every_point_a_rerun_gives_the_same_bytes(
    shim: Path, tmp_path: Path, variant: str, step: int, turn: int
) -> None:
    result = disturbed(shim, tmp_path, variant, 1, step, turn)
    assert result["wrong"] == []
    assert result["points"] >= 300
