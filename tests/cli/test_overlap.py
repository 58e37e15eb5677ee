from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.cli.program import nmt_prep

SENTENCE = "A man in a blue shirt reads the paper on a bench."
FIRST = (
    "one\teins\n"
    f"{SENTENCE}\tEin Mann\n"
    "yes!\tJA\n"
    f"{SENTENCE.upper()}\tx\n"
    "Then a man in a blue shirt reads the paper on a bench, alone.\tx\n"
)
SECOND = f"Yes\tJa.\n{SENTENCE}\tEin Mann\n\t\nnot in the other file\tnicht\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "first.tsv", tmp_path / "second.tsv.gz"
    first.write_text(FIRST)
    second.write_bytes(gzip.compress(SECOND.encode()))
    return first, second


def test_pairs_of_each_file_are_counted_by_the_closest_kind(files: tuple[Path, Path]) -> None:
    result = nmt_prep("overlap", *files, "-n", "1", "--threads", "2")
    assert (result.returncode, result.stderr) == (0, "")
    first, second = files
    assert result.stdout == (
        f"{first}: 4 of 5 pairs (80.0%) in {second}: exact 1, pair 1, side 1, covered 1\n"
        f"{second}: 2 of 3 pairs (66.7%) in {first}: exact 1, pair 1, side 0, covered 0\n"
        f"\nexact 100%, lines 2 and 2\n  {SENTENCE} | Ein Mann\n  {SENTENCE} | Ein Mann\n"
        "\npair 100%, lines 3 and 1\n  yes! | JA\n  Yes | Ja.\n"
        f"\nside 100%, lines 4 and 2\n  {SENTENCE.upper()} | x\n  {SENTENCE} | Ein Mann\n"
        "\ncovered 100%, lines 5 and 2\n  Then a man in a blue shirt reads the paper on a bench, alone. | x\n"
        f"  {SENTENCE} | Ein Mann\n"
    )


def test_json(files: tuple[Path, Path]) -> None:
    result = nmt_prep("overlap", *files, "--json", "--whole", "-n", "0")
    first, second = files
    assert json.loads(result.stdout) == {
        "a": {"file": str(first), "pairs": 5, "found": {"exact": 1, "pair": 1, "side": 1, "covered": 0}},
        "b": {"file": str(second), "pairs": 3, "found": {"exact": 1, "pair": 1, "side": 0, "covered": 0}},
        "examples": [],
    }


def test_lines_of_one_language_are_compared(files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text(f"{SENTENCE}\nsomething else\n")
    result = nmt_prep("overlap", files[0], tmp_path / "test.txt", "-n", "0", "--json")
    found = json.loads(result.stdout)
    assert found["a"]["found"] == {"exact": 0, "pair": 0, "side": 2, "covered": 1}
    assert (found["b"]["pairs"], found["b"]["found"]["side"]) == (2, 1)


TMX = (
    '<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body><tu>'
    '<tuv xml:lang="en"><seg>yes</seg></tuv><tuv xml:lang="de"><seg>ja</seg></tuv></tu></body></tmx>'
)


def test_other_formats_are_read_by_their_suffix(files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "m.tmx").write_text(TMX)
    result = nmt_prep("overlap", files[0], tmp_path / "m.tmx", "--languages", "en-de", "-n", "0")
    assert f"{tmp_path / 'm.tmx'}: 1 of 1 pairs (100.0%)" in result.stdout
    result = nmt_prep("overlap", files[0], tmp_path / "m.tmx")
    assert result.returncode == 2
    assert "may have several languages: name two with --languages" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bad.txt", b"fine\n\xff\n", "bad.txt:2"),
        ("empty.tsv", b"", "empty.tsv has no pairs"),
        ("a.sgm", b"<seg>", "format sgm has one file per side"),
        ("a.jsonl", b"{}", "format jsonl needs fields"),
    ],
)
def test_files_that_cannot_be_compared_are_errors(
    files: tuple[Path, Path], tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    for pair in ((files[0], tmp_path / name), (tmp_path / name, files[0])):
        result = nmt_prep("overlap", *pair)
        assert result.returncode == 1
        assert message in " ".join(result.stderr.split())
