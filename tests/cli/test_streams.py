from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_prep.subwords import T2TTokenizer
from tests.cli.program import nmt_prep
from tests.corpus import write_config
from tests.guard import PATIENCE
from tests.interrupting import interruptible

NMT_PREP = f"{sys.executable} -m nmt_prep"


def environment(**changes: str) -> dict[str, str]:
    """Returns an environment that finds the command line. Python buffers its streams in it, as it does for users."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**buffered, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **changes}


def shell(command: str, directory: Path | bytes, **changes: str) -> subprocess.CompletedProcess[bytes]:
    """Runs a line of bash in which ``nmt-prep`` is the command line."""
    line = f'set -o pipefail; nmt-prep() {{ {NMT_PREP} "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", line], cwd=directory, env=environment(**changes), capture_output=True, check=False
    )


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_config(tmp_path)
    T2TTokenizer.train(["some words here"] * 5, 60).save(tmp_path / "v.subwords")
    (tmp_path / "text").write_text("words\n" * 100_000)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "status", "errors"),
    [
        ("nmt-prep encode --vocab v.subwords <text >&-", 1, "cannot write to standard output: Bad file descriptor"),
        ("nmt-prep encode --vocab v.subwords <&-", 1, "standard input: it is closed"),
        ("nmt-prep encode --vocab v.subwords <text >/dev/full", 1, "cannot write to standard output: No space left"),
        ("nmt-prep vocab v.subwords >/dev/full", 1, "No space left on device"),
        ("nmt-prep encode --vocab v.subwords <text | head -1 >/dev/null", 141, ""),
        ("nmt-prep vocab v.subwords | true", 141, ""),
        ("nmt-prep plan config.yaml >&-", 0, ""),
        ("nmt-prep plan missing.yaml 2>&-", 2, ""),
        ("nmt-prep plan missing.yaml 2>/dev/full", 2, ""),
    ],
)
def test_closed_full_or_unread_streams(place: Path, command: str, status: int, errors: str) -> None:
    result = shell(command, place)
    assert (result.returncode, b"Traceback" in result.stderr) == (status, False), result.stderr.decode()
    assert result.stderr.count(b"\n") == bool(errors), result.stderr.decode()
    assert errors in result.stderr.decode()


def test_a_run_without_standard_streams_writes_the_same_files(place: Path) -> None:
    assert shell("nmt-prep run config.yaml >&- 2>&- <&-", place).returncode == 0
    assert nmt_prep("plan", place / "config.yaml").stdout.count("nothing changed") == 7


def test_encode_and_decode_in_a_pipe(place: Path) -> None:
    result = shell(
        "cat text | nmt-prep encode --vocab v.subwords | nmt-prep decode --vocab v.subwords | cmp text", place
    )
    assert (result.returncode, result.stderr) == (0, b"")


def test_terminal_encoding_that_lacks_characters(place: Path) -> None:
    result = shell("nmt-prep plan config.yaml --set output_dir=例", place, PYTHONIOENCODING="ascii")
    assert (result.returncode, result.stderr) == (0, b"")
    assert rb"/\u4f8b" in result.stdout
    error = shell("nmt-prep plan config.yaml --set 例=1", place, PYTHONIOENCODING="latin-1")
    assert error.returncode == 1
    assert rb"\u4f8b: unknown key" in error.stderr


def test_a_directory_whose_name_is_not_utf_8(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = os.fsencode(place) + b"/\xff"
    os.mkdir(directory)  # noqa: PTH102 - a name in bytes
    for name in ("config.yaml", "train.tgz", "dev.tgz"):
        (place / name).rename(Path(os.fsdecode(directory)) / name)
    refused = shell("nmt-prep run config.yaml --set output_dir=run", directory)
    assert refused.returncode == 1
    assert refused.stderr.startswith(b"nmt-prep: error: the path of the output directory, ")
    assert rb"/\xff/run, is not UTF-8" in refused.stderr
    # Only files that are written need names in UTF-8.
    monkeypatch.chdir(os.fsdecode(directory))
    result = nmt_prep("run", "config.yaml", "--log-json", "log")
    assert (result.returncode, result.stderr) == (0, "")
    events = (Path(os.fsdecode(directory)) / "log").read_text("utf-8").splitlines()
    assert json.loads(events[-1])["event"] == "run_finished"
    assert nmt_prep("plan", "config.yaml").stdout.count("nothing changed") == 7
    Path("train.tgz").unlink()
    missing = nmt_prep("run", "config.yaml")
    assert missing.returncode == 1
    assert "/train.tgz (splits.train.x.url in the config): No such file" in missing.stderr


@pytest.mark.parametrize(
    "module",
    [
        "nmt_prep.cli.app",
        "numpy",
        *(
            pytest.param(module, marks=pytest.mark.slow)
            for module in ("typer", "pydantic_core", "nmt_prep.runs.checks")
        ),
    ],
)
def test_ctrl_c_while_modules_load(place: Path, module: str) -> None:
    """The signal arrives while a module is imported."""
    (place / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
    )
    paths = os.pathsep.join([str(place), *filter(None, sys.path)])
    command = [sys.executable, "-m", "nmt_prep", "run", str(place / "config.yaml")]
    process = interruptible(command, environment(PYTHONPATH=paths))
    output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output, errors) == (130, "", "interrupted\n")


def test_ctrl_c_stays_ignored_if_the_shell_ignores_it(place: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        result = shell(f"{NMT_PREP} run config.yaml & kill -INT $!; wait $!", place)
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.returncode == 0
