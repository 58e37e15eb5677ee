"""The command words: steps in order, the way back, models of truecasing, and wrong use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import nmt_prep

TEXT = 'Dr. Fox said: "It\'s a well-known A|B, No. 5."\nThe Fox\n'


@pytest.fixture
def steps(tmp_path: Path) -> list[str]:
    prefixes = tmp_path / "prefixes"
    prefixes.write_text("Dr\nNo #NUMERIC_ONLY#\n")
    step = f"moses: {{aggressive: true, prefixes: '{prefixes}'}}"
    return ["words", "--language", "en", "--step", step]


def test_the_help_text_lists_all_steps() -> None:
    listed = " ".join(nmt_prep("words", "--help").stdout.split()).partition("cleaning.md): ")[2].partition(".")[0]
    assert listed == (
        "bidi_marks, control, detokenize, fugashi, han, html_entities, ligatures, lowercase, mojibake, moses, nfc, "
        "non_printing, pipes, program, punctuation, python, replace, rjieba, soft_hyphens, truecase, unescape, "
        "unicode_punctuation, whitespace, width, wiki"
    )


def test_words_and_back(steps: list[str], tmp_path: Path) -> None:
    done = nmt_prep(*steps, "--step", "lowercase", stdin=TEXT.encode())
    tokens = "dr. fox said : &quot; it &apos;s a well @-@ known a &#124; b , no. 5 . &quot;\nthe fox\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, tokens, "")
    back = nmt_prep(*steps, "--step", "lowercase", "--undo", stdin=tokens.encode())
    assert back.stdout == 'dr. fox said: "it\'s a well-known a | b, no. 5."\nthe fox\n'

    model = tmp_path / "model"
    assert nmt_prep(*steps, "--train-truecaser", model, stdin=TEXT.encode()).stdout == ""
    assert "Fox (2/2)\n" in model.read_text()
    assert "Dr" not in model.read_text()
    cased = nmt_prep(*steps, "--step", f"truecase: {model}", stdin=b"fox 5. Well, it\n").stdout
    assert cased == "Fox 5 . well , It\n"
    assert nmt_prep("words", "--train-truecaser", model, "--first-tokens", stdin=b"Dr\n").returncode == 0
    assert model.read_text() == "Dr (0.1/0.1)\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give steps with --step, or --train-truecaser"),
        (["--step", "lowercase"], "--step needs --language"),
        (["--language", "en", "--step", "mosses"], "--step: there is no step 'mosses'; did you mean 'moses'?"),
        (["--language", "en", "--step", "[a"], "--step '[a':1:1: not valid YAML"),
        (["--train-truecaser", "model", "--undo"], "--train-truecaser reads tokens; give it without --undo"),
    ],
)
def test_wrong_use(arguments: list[str], message: str) -> None:
    done = nmt_prep("words", *arguments, stdin=b"a\n")
    assert done.returncode in {1, 2}
    assert message in " ".join(done.stderr.split())
