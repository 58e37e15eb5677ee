"""Signals end commands, whatever their work does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.guard import must_end
from tests.interrupting import interruptible, open_terminal, sigint_for_children

CONFIG = """
languages: {{source: en, target: de}}
clean:
  preset: none
  rules: {{{rule}}}
"""

STUCK = """
import os, time

def f(source):
    with open("alive", "w") as alive:
        alive.write("go")
        alive.flush()
        time.sleep(3600)
"""

PATIENT = """
from nmt_prep.__main__ import main
from nmt_prep.cleaning.rules import regex
from nmt_prep.cli import interrupts

interrupts._PATIENCE = regex.SECONDS = 3600
matching = regex.RegexRule.values

def told(self, pairs):
    with open("alive", "w") as alive:
        alive.write("go")
    return matching(self, pairs)

regex.RegexRule.values = told
main()
"""

IMPATIENT = """
from nmt_prep.__main__ import main
from nmt_prep.cli import interrupts

interrupts._PATIENCE = 0.1
interrupts.is_unstoppable = lambda: False
main()
"""

PROGRAM = "program: {command: [sh, -c, 'exec 9>alive; echo go >&9; sleep 3600']}"


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_the_cursor_comes_back(tmp_path: Path, number: int) -> None:
    config = CONFIG.format(rule="python: 'stuck:f'") + "name: t\noutput_dir: run\nseed: 1\n"
    (tmp_path / "t.yaml").write_text(config + "splits: {train: [{name: a, url: in.tsv}]}\n")
    (tmp_path / "stuck.py").write_text(STUCK)
    (tmp_path / "in.tsv").write_text("a\tb\n")
    os.mkfifo(tmp_path / "alive")
    terminal, its_end = open_terminal()
    environment = {**os.environ, "TERM": "xterm"}
    command = [sys.executable, "-c", PATIENT, "run", "t.yaml"]
    with (
        must_end(120),
        ThreadPoolExecutor() as pool,
        sigint_for_children(),
        subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=its_end, stderr=its_end, process_group=0
        ) as process,
    ):
        os.close(its_end)
        reading = pool.submit(read_all, terminal)
        with (tmp_path / "alive").open() as alive:
            assert alive.read(2) == "go"
            process.send_signal(number)
            alive.read()
        printed = reading.result()
    assert printed.rindex(b"\x1b[?25h") > printed.rindex(b"\x1b[?25l")


def read_all(terminal: int) -> bytes:
    """Returns the output on a terminal once the last process that writes to it has ended."""
    printed = bytearray()
    with open(terminal, "rb", buffering=0) as file, suppress(OSError):
        while block := file.read(4096):
            printed += block
    return bytes(printed)


@pytest.mark.parametrize(
    ("rule", "main", "number", "status", "remark"),
    [
        ("python: 'stuck:f'", PATIENT, signal.SIGINT, 130, "interrupted\n"),
        ("python: 'stuck:f'", IMPATIENT, signal.SIGINT, 130, "interrupted\n"),
        ("python: 'stuck:f'", PATIENT, signal.SIGTERM, 143, ""),
        ("regex: {x: '(x+x+)+y'}", PATIENT, signal.SIGINT, 130, "interrupted\n"),
        (PROGRAM, PATIENT, signal.SIGINT, 130, "interrupted\n"),
        *(
            pytest.param(rule, PATIENT, signal.SIGTERM, 143, "", marks=pytest.mark.slow)
            for rule in ("regex: {x: '(x+x+)+y'}", PROGRAM)
        ),
    ],
)
def test_a_signal_ends_rules_that_do_not_end(
    tmp_path: Path, rule: str, main: str, number: int, status: int, remark: str
) -> None:
    (tmp_path / "clean.yaml").write_text(CONFIG.format(rule=rule))
    (tmp_path / "stuck.py").write_text(STUCK)
    (tmp_path / "in.tsv").write_text("x" * 30_000 + "\tb\n")
    os.mkfifo(tmp_path / "alive")
    run = f"cd {tmp_path}; exec {sys.executable} -c '{main}' clean --config clean.yaml <in.tsv"
    with must_end(120), interruptible(["sh", "-c", run], dict(os.environ)) as process:
        with (tmp_path / "alive").open() as alive:
            assert alive.read(2) == "go"
            process.send_signal(number)
            assert alive.read() in ("", "\n")  # also a program has ended
        assert (process.communicate()[1], process.returncode) == (remark, status)
