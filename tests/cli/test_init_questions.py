from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from nmt_prep.checks import load_config
from tests.cli.configs import init
from tests.cli.program import nmt_prep
from tests.guard import PATIENCE


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes standard input for a terminal."""
    monkeypatch.setattr("nmt_prep.cli.init._can_ask", lambda: True)


@pytest.mark.usefixtures("terminal")
def test_questions(here: Path) -> None:
    (here / "en-de.yaml").write_text("mine")
    answers = [
        *("english-de", "en-de", "", "yes"),
        *("", "data/train.nn,x", "data/train.en,data/train.de", "opus:Books/v1", ""),
        *("data/train.en,data/train.de", "bpe", "byte_bpe", "many", "", "light", ""),
    ]
    ended = nmt_prep("init", stdin="".join(f"{answer}\n" for answer in answers).encode())
    assert ended.returncode == 0
    assert ended.stderr.splitlines() == [
        "languages: 'english' is not a language tag (did you mean en?); expected source and target, such as en-de",
        "a config needs at least one training corpus",
        "data/train.nn does not exist; did you mean data/train.en?",
        "'bpe' is none of t2t, byte_bpe, sentencepiece",
        "'many' is not a number of pieces",
    ]
    for text in (
        "Languages, source and target, such as en-de: ",
        "Config to write [en-de.yaml]: ",
        "en-de.yaml exists. Replace it? (yes or no) [no]: ",
        "Corpus 1: ",
        "Dev set, such as sacrebleu:wmt22 or two files (empty for none): ",
        "Vocabularies: t2t, byte_bpe, sentencepiece [t2t]: ",
        "Pieces of each vocabulary [32000]: ",
        "Cleaning: none, light, standard, strict [standard]: ",
        "Directory of the run [runs/en-de]: ",
        "en-de.yaml: written; corpora: 2 of train, 1 of dev\n",
    ):
        assert text in ended.stdout
    config = load_config(here / "en-de.yaml")
    assert (config.vocab.kind, config.vocab.size) == ("byte_bpe", 32_000)  # type: ignore[union-attr]
    assert (config.clean and config.clean.preset, config.output_dir) == ("light", "runs/en-de")
    assert [*map(len, config.splits.values())] == [2, 1]


@pytest.mark.usefixtures("terminal")
def test_only_what_is_missing_is_asked_for(here: Path) -> None:
    options = ("--languages", "en-de", "--dev", "data/train.en,data/train.de", "--vocab", "t2t", "--size", "500")
    ended = nmt_prep("init", "a.yaml", *options, stdin=b"opus:Books/v1\n\nnone\nout\n")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith(
        "Corpus 1: Corpus 2: Cleaning: none, light, standard, strict [standard]: Directory of the run [runs/a]: "
        "a.yaml: written; corpora: 1 of train, 1 of dev\nnext: nmt-prep check a.yaml\nthen: nmt-prep run a.yaml\n"
    )
    assert load_config(here / "a.yaml").clean is None


@pytest.mark.usefixtures("terminal")
def test_options_that_suffice_ask_nothing(here: Path) -> None:
    ended = init("--languages", "en-de", "--train", "data/train.en,data/train.de")
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (0, "en-de.yaml: written; corpora: 1 of train")
    assert init("--languages", "en-de", "--train", "data/train.en,data/train.de").returncode == 1


@pytest.mark.usefixtures("terminal")
def test_the_end_of_the_answers(here: Path) -> None:
    (here / "en-de.yaml").write_text("mine")
    for answers in (b"", b"en-de\n", b"en-de\n\nyes\nopus:Books/v1\n"):
        ended = nmt_prep("init", stdin=answers)
        assert (ended.returncode, ended.stderr) == (1, "nothing was written\n")
    assert nmt_prep("init", stdin=b"en-de\n\nno\n").stderr.startswith(
        "nmt-prep: error: en-de.yaml exists; name another"
    )
    assert (here / "en-de.yaml").read_text() == "mine"


def converse(here: Path, answers: Sequence[str | signal.Signals], *arguments: str) -> tuple[int, str]:
    """Runs the command on a terminal, and gives an answer or a signal at each prompt; returns status and output."""
    terminal, program = pty.openpty()
    command = [sys.executable, "-m", "nmt_prep", "init", *arguments]
    env = {**os.environ, "TERM": "dumb", "COLUMNS": "200"}
    process = subprocess.Popen(command, stdin=program, stdout=program, stderr=program, cwd=here, env=env)
    os.close(program)
    shown, waiting = "", list(answers)
    try:
        while chunk := os.read(terminal, 65_536):
            shown += chunk.decode()
            if waiting and shown.endswith(": "):
                answer = waiting.pop(0)
                if isinstance(answer, str):
                    os.write(terminal, answer.encode())
                else:
                    process.send_signal(answer)
    except OSError:  # the end of a terminal on Linux
        pass
    finally:
        os.close(terminal)
    return process.wait(PATIENCE), shown.replace("\r\n", "\n")


@pytest.mark.slow
def test_a_real_terminal(here: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(repository))
    answers = ["en-de", "", "data/train.en,data/train.de", "", "", "", "", "none", ""]
    status, shown = converse(here, [f"{answer}\n" for answer in answers])
    assert status == 0, shown
    assert [*load_config(here / "en-de.yaml").splits] == ["train"]
    assert converse(here, ["en-fr\n", "\x04"])[0] == 1
    status, shown = converse(here, ["en-fr\n", signal.SIGINT])
    assert (status, "interrupted; nothing was written" in shown) == (130, True)
    assert sorted(each.name for each in here.iterdir()) == ["data", "en-de.yaml"]
