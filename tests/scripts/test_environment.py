from __future__ import annotations

import os
import subprocess
from pathlib import Path


def steps(repository: Path, tmp_path: Path, *lines: str) -> subprocess.CompletedProcess[str]:
    """Runs lines of bash after the functions of scripts/environment, with the log beside ``tmp_path / "venv"``."""
    script = "\n".join([f"set -euo pipefail; . {repository}/scripts/environment", *lines])
    environment = {**os.environ, "NMT_PREP_VENV": str(tmp_path / "venv")}
    return subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)


def test_a_step_tells_what_it_does_and_how_many_files_are_compiled(repository: Path, tmp_path: Path) -> None:
    build = "build() { for n in {1..40}; do echo \"  [$n/40] Building CXX object x.o\"; done; echo '[40/40] Linking'; }"
    ended = steps(repository, tmp_path, build, "step 'compiling the core' build", "echo done")
    assert (ended.returncode, ended.stdout) == (0, "done\n")
    counts = [f"    {count} of 40 files are compiled" for count in range(4, 41, 4)]
    assert ended.stderr.splitlines() == ["compiling the core", *counts]
    assert not (tmp_path / "venv.log").exists()


def test_a_step_that_fails_shows_its_log(repository: Path, tmp_path: Path) -> None:
    ended = steps(
        repository, tmp_path, "bad() { seq 100; echo 'no such compiler' >&2; return 3; }", "step x bad", "echo"
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    lines = ended.stderr.splitlines()
    assert lines[:2] == ["x", "42"]
    assert lines[-2:] == ["no such compiler", f"this failed: x (the whole log: {tmp_path / 'venv.log'})"]
    assert len((tmp_path / "venv.log").read_text().splitlines()) == 101
