from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from nmt_prep import __version__
from nmt_prep.cli.app import COMMANDS, CommandGroup, run_app
from tests.cli.program import nmt_prep
from tests.corpus import corpus_config, tree, write_corpus, write_tgz
from tests.guard import PATIENCE
from tests.interrupting import interruptible


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "nmt_prep", *map(str, arguments)]


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **changes}


def write_config(place: Path, **changes: Any) -> Path:
    value = corpus_config(place / "run", **changes).model_dump(mode="json", exclude_unset=True)
    path = place / "c.yaml"
    path.write_text(yaml.safe_dump(value), encoding="utf-8")
    return path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_corpus(tmp_path)
    return tmp_path


def test_the_command_line_in_a_process_of_its_own(place: Path) -> None:
    config = write_config(place)
    result = subprocess.run(command("plan", config), env=environment(), capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert "never run here" in result.stdout


def test_an_output_that_cannot_be_written_is_named_once(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class FullOutput(io.StringIO):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "argv", ["nmt-prep", "plan", str(write_config(place))])
    monkeypatch.setattr(sys, "stdout", FullOutput())
    assert run_app() == 1
    assert capsys.readouterr().err == "nmt-prep: error: No space left on device\n"


def test_all_commands_are_listed_in_order_in_the_help_text() -> None:
    lines = nmt_prep("--help").stdout.splitlines()
    assert [line.split()[0] for line in lines[lines.index("Commands:") + 1 :] if line[2:3].strip()] == [*COMMANDS]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_its_name_and_a_help_text(name: str) -> None:
    command = CommandGroup().get_command(None, name)
    assert (command.name, bool(command.help)) == (name, True)


def test_a_command_that_does_not_exist() -> None:
    assert "No such command 'ru'. Did you mean 'run'?" in nmt_prep("ru").stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("encode", "--as", "x"), "'--as': 'x' is not one of 'ids', 'pieces'."),
        (("init", "--vocab", "x"), "'--vocab': 'x' is not one of 't2t', 'byte_bpe', 'sentencepiece', 'subword_nmt'."),
    ],
)
def test_a_wrong_choice(arguments: tuple[str, ...], problem: str) -> None:
    assert nmt_prep(*arguments).stderr.endswith(f"\nError: Invalid value for {problem}\n")


def test_an_option_that_no_longer_exists() -> None:
    said = nmt_prep("plan", "c.yaml", "--estimate").stderr
    assert said.endswith(
        "No such option: --estimate\n"
        "This option no longer exists: docs/scale.md has measured rates, memory and disk space of each stage.\n"
    )


def test_the_version_is_printed() -> None:
    assert nmt_prep("--version").stdout == f"nmt-prep {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["run", "c.yaml", "--workers", "0"],
        ["run", "c.yaml", "--until", "encod"],
        ["plan", "c.yaml", "--force", "encod"],
        ["run", "c.yaml", "--set", "vocab"],
        ["fly"],
        ["run", "c.yaml", "--colour"],
    ],
)
def test_wrong_usage_ends_with_status_2(arguments: list[str]) -> None:
    result = nmt_prep(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr


def test_a_missing_argument_is_named() -> None:
    assert "Missing argument 'CONFIG'" in nmt_prep("plan").stderr


def damaged(place: Path, **members: bytes) -> None:
    write_tgz(place / "train.tgz", {f"t/x.{side}": content for side, content in members.items()})


def truncate(place: Path) -> None:
    whole = (place / "train.tgz").read_bytes()
    (place / "train.tgz").write_bytes(whole[: len(whole) // 2])


MISTAKES = {
    "unequal": (
        lambda place: damaged(place, en=b"a\nb\n", zh=b"x\ny\nz\n"),
        {},
        ["x.en (in train.tgz) has 2 lines", "x.zh (in train.tgz) has 3"],
    ),
    "not UTF-8": (
        lambda place: damaged(place, en=b"a\nb\xff\n", zh=b"x\ny\n"),
        {},
        ["x.en (in train.tgz):2", "not UTF-8", "byte 3"],
    ),
    "no such member": (
        lambda place: damaged(place, en=b"a\n", cn=b"x\n"),
        {},
        ["train.tgz", "t/x.zh", "t/x.cn"],
    ),
    "truncated": (truncate, {}, ["train.tgz"]),
    "no such file": (lambda place: (place / "train.tgz").unlink(), {}, ["train.tgz", "No such file"]),
    "an archive that is none": (lambda place: (place / "dev.tgz").write_bytes(b"<html>"), {}, ["dev.tgz"]),
    "a file for a directory": (lambda place: (place / "run").touch(), {}, ["cannot write", "run"]),
    "a wrong config": (lambda place: None, {"vocab": {"sise": 1}}, ["vocab.sise", "did you mean 'size'?"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_ends_with_a_message_and_status_1(place: Path, mistake: str) -> None:
    spoil, changes, expected = MISTAKES[mistake]
    config = write_config(place)
    if changes:
        text = config.read_text()
        assert "\n  size: 200" in text
        config.write_text(text.replace("\n  size: 200", "\n  sise: 200"))
    spoil(place)
    result = nmt_prep("run", config)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("nmt-prep: error: ")
    for part in expected:
        assert part in result.stderr
    if mistake not in ("unequal", "truncated"):
        return
    write_corpus(place)
    assert nmt_prep("run", config, "--quiet").returncode == 0
    assert nmt_prep("run", config, "--set", f"output_dir={place / 'fresh'}").returncode == 0
    # The store of extracted files also keeps the good files of the failed run.
    kept, fresh = tree(place / "run"), tree(place / "fresh")
    assert {name: kept.get(name) for name in fresh} == fresh
    assert all(name.startswith("extracted/") for name in kept.keys() - fresh.keys())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mounts a file system of 200 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)]
    if mount is None or subprocess.run([mount, *options], capture_output=True, check=False).returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_ends_with_a_message_and_a_rerun_succeeds(tmp_path: Path, small_disk: Path) -> None:
    write_corpus(tmp_path, pairs=2000)
    config = write_config(tmp_path)
    result = nmt_prep("run", config, "--set", f"output_dir={small_disk / 'run'}")
    assert result.returncode == 1
    assert "the disk is full" in result.stderr
    assert "Traceback" not in result.stderr
    subprocess.run(["mount", "-o", "remount,size=50M", str(small_disk)], check=True)
    assert nmt_prep("run", config, "--set", f"output_dir={small_disk / 'run'}").returncode == 0
    assert nmt_prep("run", config).returncode == 0
    assert tree(small_disk / "run") == tree(tmp_path / "run")


INTERRUPTED_AT_WORK = """\
import os, signal, sys
from nmt_prep.__main__ import main
from nmt_prep.base.progress import Meter

advance = Meter.advance

def interrupt(meter, amount):
    if meter.label == "compile":
        os.kill(os.getpid(), signal.SIGINT)
        meter._progress.stopping.wait()
    advance(meter, amount)

Meter.advance = interrupt
main()
"""


def test_ctrl_c_ends_with_status_130_and_no_traceback(place: Path) -> None:
    config = write_config(place)
    run = [sys.executable, "-c", INTERRUPTED_AT_WORK, "run", str(config)]
    process = interruptible(run, environment())
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert errors == "interrupted; run the same command again to resume\n"
    assert "extract: done" in output
    assert not (place / "run" / "compiled").exists()  # it stopped before the end of the stage
    assert nmt_prep("run", config).returncode == 0
