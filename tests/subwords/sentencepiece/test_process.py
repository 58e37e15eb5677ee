from __future__ import annotations

import io
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import TrainingError
from nmt_prep.subwords import SentencePieceTokenizer
from nmt_prep.subwords.sentencepiece import process as sentencepiece_process
from nmt_prep.subwords.sentencepiece.process import LibraryError, train_in_process

LINES = [f"the {noun} sees\na small {noun} near {i} trees" for i, noun in enumerate(["cat", "dog", "Männer"] * 2000)]
SETTINGS = {"vocab_size": 80, "model_type": "bpe", "num_threads": 2, "user_defined_symbols": ["<a,b>"]}


def columns(lines: list[str] = LINES) -> Iterator[TextColumn]:
    half = len(lines) // 2
    return iter([TextColumn.from_strings(part) for part in (lines[:half], [], lines[half:])])


def worker(monkeypatch: pytest.MonkeyPatch, place: Path, program: str) -> None:
    """Replaces the training program by another one."""
    path = place / "worker.py"
    path.write_text(f"import os, signal, sys, time\n{program}")
    monkeypatch.setattr(sentencepiece_process, "_WORKER", path)


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_bytes_equal_those_of_the_library_in_this_process() -> None:
    expected = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line.encode() for line in LINES]), model_writer=expected, minloglevel=2, **SETTINGS
    )
    log: list[str] = []
    assert train_in_process(columns(), SETTINGS, log.append) == expected.getvalue()
    assert any("Loaded all 6000 sentences" in line for line in log)


def test_the_library_may_refuse_before_it_has_read_everything() -> None:
    settings = {**SETTINGS, "normalization_rule_tsv": "/there/is/none.tsv"}
    with pytest.raises(LibraryError, match=r"/there/is/none\.tsv"):
        train_in_process(columns(LINES * 10), settings, lambda _: None)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_error_while_it_trains_ends_the_child(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: type[BaseException]
) -> None:
    worker(monkeypatch, tmp_path, "print(os.getpid(), file=sys.stderr, flush=True)\ntime.sleep(600)")
    seen: list[int] = []

    def log(line: str) -> None:
        seen.append(int(line))
        raise error

    with pytest.raises(error):
        train_in_process(columns(), SETTINGS, log)
    assert not is_running(seen[0])


def test_an_error_of_the_lines_ends_the_child_and_is_passed_on() -> None:
    def broken() -> Iterator[TextColumn]:
        yield TextColumn.from_strings(["fine"])
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        train_in_process(broken(), SETTINGS, lambda _: None)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "was killed, perhaps because memory ran out"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "ended by signal 15; its last log lines: none"),
        ("print('boom', file=sys.stderr)\nsys.exit(3)", "ended with status 3; its last log lines: boom"),
        ("", "ended with status 0; its last log lines: none"),
    ],
)
def test_a_child_that_dies_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, message: str
) -> None:
    worker(monkeypatch, tmp_path, program)
    with pytest.raises(TrainingError, match=message):
        train_in_process(columns(), SETTINGS, lambda _: None)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the child ends with its next line of the log")
def test_the_child_ends_when_its_parent_is_killed() -> None:
    child = (
        "import os, sys, time\n"
        "from nmt_prep.subwords.sentencepiece.worker import _end_with\n"
        "_end_with(int(sys.argv[1]))\n"
        "print(os.getpid(), flush=True)\n"
        "time.sleep(600)"
    )
    program = f"import os, subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}, str(os.getpid())])"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        process = int(parent.stdout.readline())
        assert is_running(process)
        parent.kill()
        while is_running(process):
            time.sleep(0.01)


def _train_and_report(lines: list[str], results: Any) -> None:
    results.send(SentencePieceTokenizer.train(lines, 80, model_type="bpe").fingerprint)


def test_a_daemonic_process_trains_too() -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_train_and_report, args=(LINES[:300], theirs), daemon=True)
    process.start()
    assert ours.recv() == SentencePieceTokenizer.train(LINES[:300], 80, model_type="bpe").fingerprint
    process.join()


def test_ctrl_c_in_the_terminal_leaves_the_message_to_the_parent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = Path(sentencepiece_process.__file__).with_name("worker.py")
    program = f"sys.path.insert(0, {str(source.parent)!r})\nimport worker\n"
    # SIGINT reaches every process of the terminal; the real program ignores it and trains on.
    program += (
        "lines = worker._lines\n"
        "def interrupted(source):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    yield from lines(source)\n"
        "worker._lines = interrupted\n"
        "sys.path.pop(0)\n"
        "worker.main()\n"
    )
    worker(monkeypatch, tmp_path, program)
    assert train_in_process(columns(LINES[:300]), SETTINGS, lambda _: None)
