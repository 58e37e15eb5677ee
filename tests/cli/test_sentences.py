"""The command sentences: formats, gold beads, directories and errors."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from nmt_prep.cleaning.health_warnings import installed_identifier
from tests.cleaning.sentences.documents import shuffled_document
from tests.cli.program import nmt_prep

SOURCE = "One.\nTwo is longer than one.\nThree\tis here.\n"
TARGET = "Eins.\nZwei ist länger als eins.\nDrei ist hier.\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    source, target = tmp_path / "text.en", tmp_path / "text.de"
    source.write_text(SOURCE, encoding="utf-8")
    target.write_text(TARGET, encoding="utf-8")
    return source, target


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("tsv", "One.\tEins.\nTwo is longer than one.\tZwei ist länger als eins.\nThree is here.\tDrei ist hier.\n"),
        ("beads", "[0]:[0]\n[1]:[1]\n[2]:[2]\n"),
    ],
)
def test_formats(files: tuple[Path, Path], form: str, expected: str) -> None:
    done = nmt_prep("sentences", *files, "--languages", "en-de", "--format", form)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


def test_encodings_and_pages(files: tuple[Path, Path]) -> None:
    files[1].write_text(TARGET, encoding="latin-1")
    command = ("sentences", *files, "--languages", "en-de", "--format", "beads")
    done = nmt_prep(*command)
    assert "name its encoding with --encoding, such as utf-8,latin-1 for the two sides" in " ".join(done.stderr.split())
    beads = "[0]:[0]\n[1]:[1]\n[2]:[2]\n"
    for encoding in ("utf-8,latin-1", "latin-1"):
        assert nmt_prep(*command, "--encoding", encoding).stdout == beads
    for options, message in (
        (("--encoding", "utf-8,x"), "'utf-8,x': not a text encoding; give a name such as latin-1"),
        (("--encoding", "ascii,ascii,ascii"), "give one encoding, or one for each of the two sides"),
        (("--format", "tsv"), "beads and tsv cannot both be written"),
    ):
        done = nmt_prep(*command, *options)
        assert (done.returncode, message in " ".join(done.stderr.replace("│", " ").split())) == (2, True)
    for path, text in zip(files, (SOURCE, TARGET), strict=True):
        path.write_text(f"<html><title>No</title><p>{text.replace(chr(10), '<p>')}", encoding="utf-8")
    assert "is an HTML page" in nmt_prep(*command).stderr
    assert nmt_prep(*command, "--format", "html").stdout == beads


def test_running_text_is_divided(files: tuple[Path, Path]) -> None:
    for path, text in zip(
        files, ("Dr. One is here. Two is\nlonger.\n", "Dr. Eins ist da.\nZwei ist länger.\n"), strict=True
    ):
        path.write_text(text, encoding="utf-8")
    done = nmt_prep("sentences", *files, "--languages", "en-de", "--split", "wrapped")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Dr. One is here.\tDr. Eins ist da.\nTwo is longer.\tZwei ist länger.\n"


def test_gold_beads(files: tuple[Path, Path], tmp_path: Path) -> None:
    gold = tmp_path / "gold"
    gold.write_text("[0]:[0]\n[1, 2]:[1, 2]\n")
    done = nmt_prep("sentences", *files, "--languages", "en-de", "--gold", gold)
    assert done.stderr == (
        "strict: precision 0.3333, recall 0.5000, F1 0.4000; lax: precision 1.0000, recall 1.0000, F1 1.0000\n"
    )


def test_directories_are_learned_together(tmp_path: Path) -> None:
    for number in range(3):
        (source, target), _ = shuffled_document(random.Random(number), 40)
        for side, lines in (("en", source), ("de", target)):
            (tmp_path / side).mkdir(exist_ok=True)
            (tmp_path / side / f"{number}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sides = (tmp_path / "en", tmp_path / "de")
    done = nmt_prep("sentences", *sides, "--languages", "en-de", "--output", tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, "")
    assert "3 documents" in done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["0.tsv", "1.tsv", "2.tsv"]
    if installed_identifier() is not None:
        done = nmt_prep("sentences", *reversed(sides), "--languages", "en-de", "--output", tmp_path / "out")
        assert done.returncode == 0
        assert "warning: 0: 100% of the first source lines look like de, not en; the sides seem to be" in done.stderr
    done = nmt_prep("sentences", *sides, "--languages", "en-de", "--output", tmp_path / "en")
    assert (done.returncode, len(list((tmp_path / "en").iterdir()))) == (2, 3)
    assert "holds the documents; name another directory" in " ".join(done.stderr.replace("│", " ").split())
    (tmp_path / "de" / "2.txt").unlink()
    done = nmt_prep("sentences", *sides, "--languages", "en-de", "--output", tmp_path / "out")
    assert done.returncode == 1
    assert "2.txt has no counterpart of the same name" in " ".join(done.stderr.split())
    for side in sides:
        (side / "2.txt").unlink(missing_ok=True)
        (side / "1.md").write_text("Text.\n")
    done = nmt_prep("sentences", *sides, "--languages", "en-de", "--output", tmp_path / "out")
    assert "1.md and 1.txt would have one name; rename one of them" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("target", "options", "status", "message"),
    [
        ("", [], 1, "is empty; the target side needs sentences"),
        ("x\n" * 40, [], 1, "they do not translate each other"),
        (TARGET, ["--languages", "en-xyzzy"], 2, "'en-xyzzy', which is not a pair of different languages"),
        (b"Eins.\nZw\xe9i.\n", [], 1, "text.de:2: not UTF-8 at byte 8 of the file"),
        (TARGET, ["--output", "out"], 2, "--output is for directories"),
    ],
)
def test_wrong_input_is_an_error(
    files: tuple[Path, Path], target: str | bytes, options: list[str], status: int, message: str
) -> None:
    files[1].write_bytes(target.encode() if isinstance(target, str) else target)
    done = nmt_prep("sentences", *files, *(options if "--languages" in options else ["--languages", "en-de", *options]))
    assert (done.returncode, done.stdout) == (status, "")
    assert message in " ".join(done.stderr.replace("│", " ").split())


def test_wrong_gold_is_an_error(files: tuple[Path, Path], tmp_path: Path) -> None:
    gold = tmp_path / "gold"
    for text, message in (("[0]-[0]\n", "line 1 is not a bead"), ("[0]:[0]\n[7]:[1]\n", "names source sentence 7")):
        gold.write_text(text)
        done = nmt_prep("sentences", *files, "--languages", "en-de", "--gold", gold)
        assert done.returncode == 1
        assert message in " ".join(done.stderr.split())
