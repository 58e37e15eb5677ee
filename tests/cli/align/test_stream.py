from __future__ import annotations

import errno
import math
import os
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.cleaning.adequacy.corpus import PAIRS, line, text
from tests.cleaning.align.corpus import SOURCE, TARGET
from tests.cli.program import nmt_prep

TEXT = "".join(f"{source}\t{target}\n" for source, target in zip(SOURCE, TARGET, strict=True))
LINKS = "0-0 1-1\n0-0 1-1\n0-0 1-1\n0-0 1-1 2-2\n0-0 1-1 2-2\n0-0 1-1 2-2\n0-0 1-1\n0-0\n"


def aligned(text: str, *options: str | Path) -> tuple[str, str]:
    """Returns standard output and standard error."""
    result = nmt_prep("align", *options, stdin=text.encode())
    assert result.returncode == 0, result.stderr
    return result.stdout, result.stderr


def refused(text: str | bytes, *options: str | Path, status: int = 1) -> str:
    result = nmt_prep("align", *options, stdin=text.encode() if isinstance(text, str) else text)
    assert (result.returncode, result.stdout) == (status, "")
    return " ".join(result.stderr.split())


def test_links_are_learned_from_the_input() -> None:
    assert aligned(TEXT) == (LINKS, "8 pairs read, 18 links\n")
    assert aligned(TEXT.replace("\t", " ||| "), "--quiet", "--threads", "3") == (LINKS, "")


def test_a_saved_model_gives_the_same_links_and_goes_through_a_pipe(tmp_path: Path) -> None:
    assert aligned(TEXT, "--save", tmp_path / "model", "--quiet") == (LINKS, "")
    assert aligned(TEXT, "--model", tmp_path / "model", "--quiet") == (LINKS, "")
    assert aligned("a house\tein Haus\n", "--model", tmp_path / "model", "--quiet")[0] == "0-0 1-1\n"
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit((tmp_path / "pipe").read_bytes)
        assert aligned(TEXT, "--save", tmp_path / "pipe", "--quiet") == (LINKS, "")
        assert read.result() == (tmp_path / "model").read_bytes()


def test_standard_output_is_for_links(tmp_path: Path) -> None:
    for option in ("--save", "--scores", "--adequacy"):
        message = refused(TEXT, option, "/dev/stdout", status=2)
        assert f"{option}: /dev/stdout is also written, as standard output; name another file" in message
    aligned(TEXT, "--save", "/dev/null", "--quiet")


def test_values_of_incomplete_pairs_are_below_0(tmp_path: Path) -> None:
    good = f"{line('a', 1, 40, 7, 90, 3)} .\t{line('b', 1, 40, 7, 90, 3)} 。\n"
    incomplete = f"{line('a', 1, 40, 7, 90, 3)} .\t{line('b', 1, 40)} 。\n\tbaa\n"
    aligned(text() + good + incomplete, "--adequacy", tmp_path / "values", "--save", tmp_path / "model", "--quiet")
    values = [float(value) for value in (tmp_path / "values").read_text().split()]
    assert len(values) == PAIRS + 3
    assert values[-3] > 0 > values[-2]
    assert math.isnan(values[-1])
    assert sum(value < 0 for value in values) < 0.03 * PAIRS
    aligned(good + incomplete, "--model", tmp_path / "model", "--adequacy", tmp_path / "others", "--quiet")
    first, second, _ = (float(value) for value in (tmp_path / "others").read_text().split())
    assert first > 0 > second
    assert aligned(good, "--model", tmp_path / "model", "--quiet")[0] == "0-0 1-1 2-2 3-3 4-4 5-5\n"


def test_copies_of_a_pair_do_not_make_it_good(tmp_path: Path) -> None:
    wrong = f"{line('a', 1, 40, 7, 90)} .\t{line('b', 17, 120, 33, 80)} 。\n"
    aligned(text() + wrong * 20, "--adequacy", tmp_path / "values", "--quiet")
    values = [float(value) for value in (tmp_path / "values").read_text().split()[-20:]]
    assert len(set(values)) == 1
    assert values[0] < 0


def test_a_classifier_takes_enough_pairs_or_a_model_with_one(tmp_path: Path) -> None:
    message = refused(TEXT, "--adequacy", tmp_path / "values")
    assert "--adequacy: the input has 8 pairs; learning needs at least 1,500, or a model with a classifier" in message
    assert "the input has 1 pair; learning needs" in refused("a\tb\n", "--adequacy", tmp_path / "values")
    aligned(TEXT, "--save", tmp_path / "model", "--quiet")
    message = refused(TEXT, "--model", tmp_path / "model", "--adequacy", tmp_path / "values")
    assert (
        "has no classifier for incomplete translations; create it with nmt-prep align --adequacy FILE --save" in message
    )
    assert not (tmp_path / "values").exists()


@pytest.mark.parametrize(("distinct", "pairs"), [(2000, "2,000"), (1, "1")])
def test_pairs_that_cannot_be_exchanged_are_too_few(tmp_path: Path, distinct: int, pairs: str) -> None:
    sources = [line("a", number // 600, number % 600) for number in range(distinct)]
    message = refused(
        "".join(f"{source}\tbaa\n" for source in sources) * (2000 // distinct), "--adequacy", tmp_path / "values"
    )
    advice = "at least 1,500 are needed, or a model with a classifier (--model)"
    assert f"--adequacy: 0 of {pairs} pairs translate each other well enough to learn from; {advice}" in message
    assert not (tmp_path / "values").exists()


def test_a_prior_helps_with_other_text(tmp_path: Path) -> None:
    aligned(TEXT, "--save", tmp_path / "model")
    text = "a small green book\tein kleines grünes Buch\n"
    assert aligned(text, "--prior", tmp_path / "model", "--quiet")[0] == "0-0 1-1 2-2 3-3\n"


@pytest.mark.parametrize(
    ("how", "links"),
    [("intersection", "0-0 1-1\n"), ("union", "0-0 1-1\n"), ("forward", "0-0 1-1\n"), ("backward", "0-0 1-1\n")],
)
def test_symmetrization(how: str, links: str) -> None:
    assert aligned(TEXT, "--symmetrize", how, "--quiet")[0].startswith(links)


def test_empty_sides_and_empty_lines() -> None:
    links, counts = aligned(TEXT + "\nthe house\t\n\tdas Haus\n")
    assert links == LINKS + "\n\n\n"
    assert counts == "11 pairs read, 18 links\npairs without links: 3\n"
    assert aligned("") == ("", "0 pairs read, 0 links\n")


def test_scores_leave_out_the_counts_of_copies(tmp_path: Path) -> None:
    text = TEXT + "the tree\tdas Wasser\n"
    aligned(text, "--scores", tmp_path / "once", "--quiet")
    once = [float(line) for line in (tmp_path / "once").read_text().splitlines()]
    assert len(once) == 9
    assert min(once[:7]) > once[8]
    aligned(text + "The  tree!\tDas Wasser.\n" * 2, "--scores", tmp_path / "thrice", "--quiet")
    thrice = [float(line) for line in (tmp_path / "thrice").read_text().splitlines()]
    assert min(thrice[:7]) > max(thrice[8:])


def test_a_pair_without_words_has_no_score(tmp_path: Path) -> None:
    aligned("a\tb\n\t\n", "--scores", tmp_path / "scores", "--quiet")
    assert (tmp_path / "scores").read_text().splitlines()[1] == "nan"


def test_pretokenized_words_are_not_split() -> None:
    text = "a-b c\tx y\n" * 3
    assert aligned(text, "--pretokenized", "--quiet")[0] == "0-0 1-1\n" * 3


def test_long_pairs_are_counted(tmp_path: Path) -> None:
    text = TEXT + "the " * 3000 + "\t" + "das " * 3000 + "\n"
    links, counts = aligned(text, "--scores", tmp_path / "scores")
    assert links == LINKS + "\n"
    assert counts == (
        "9 pairs read, 18 links\npairs too long to align: 1, with more than 2,048 words on a side, or 524,288 pairs of "
        "words; their lines are empty\n"
    )
    assert (tmp_path / "scores").read_text().splitlines()[-1] != "nan"


def test_lines_that_are_not_two_columns() -> None:
    assert refused(TEXT + "alone\n") == (
        "nmt-prep: error: standard input, line 9: it has no tab (or |||) between source and target; write one pair per "
        "line"
    )
    assert refused("a b\tA B\r\n\r\n") == (
        "nmt-prep: error: standard input, line 2: it has no tab (or |||) between source and target, and is only a "
        "carriage return, which is part of the text (remove them, for example with tr -d '\\r'); write one pair per "
        "line"
    )
    assert "and ends in a carriage return" in refused("a b\tA B\r\nalone\r\n")
    assert refused(TEXT + "a\tb\tc\n") == (
        "nmt-prep: error: standard input, line 9: it has 3 columns, separated by a tab, and not two, source and "
        "target; select them first, for example with cut -f1,2"
    )
    assert "it has 3 columns, separated by |||" in refused("a ||| b ||| c\n")


def test_input_that_is_not_utf8() -> None:
    assert refused(b"a\tb\nc\t\xff\n").startswith("nmt-prep: error: standard input, line 2, column 3: not UTF-8")


def test_files_that_are_not_models(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text("{}\n")
    assert refused(TEXT, "--model", path) == (
        f"nmt-prep: error: {path} is not a model of nmt-prep align; write one with nmt-prep align --save"
    )
    aligned(TEXT, "--save", path)
    path.write_bytes(path.read_bytes()[:-10])
    assert "is damaged" in refused(TEXT, "--model", path)
    assert "is not a regular file" in refused(TEXT, "--model", "/dev/null")
    assert refused(TEXT, "--model", tmp_path / "none", status=2).endswith("does not exist.")


def test_models_of_other_words_and_languages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model"
    aligned(TEXT, "--save", path)
    assert refused(TEXT, "--model", path, "--pretokenized").startswith(
        f"nmt-prep: error: {path}: this model divides text into words itself"
    )
    swapped = "".join(f"{target}\t{source}\n" for source, target in zip(SOURCE, TARGET, strict=True))
    assert refused(swapped, "--model", path).endswith("100% and 100% if the sides are swapped; swap the columns")
    assert aligned("Haus\tthe\n", "--model", path)[1].startswith("warning: the model covers 0% of the source words")
    other = "quelque chose d'autre\tniente di simile\n"
    assert aligned(other, "--model", path)[1].startswith("warning: the model covers 0% of the source words")
    monkeypatch.setattr("nmt_prep.cli.align.stream._SMALL_VOCABULARY", 1)
    assert aligned(other, "--model", path)[1].startswith("warning: the model covers 0% of the source words")
    assert refused(other * 5, "--model", path).endswith("use a model for these languages, or learn one without --model")
    assert "--model cannot be combined with --prior or --save" in refused(
        TEXT, "--model", path, "--save", path, status=2
    )


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    where = tmp_path / "file" / "below"
    assert f"cannot write {tmp_path / 'file'}" in refused(TEXT, "--scores", where)
    assert f"cannot write {tmp_path / 'file'}" in refused(TEXT, "--save", where)  # before it links anything


def test_a_full_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(BytesIO):
        def write(self, content: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    opened = Path.open

    def open_full(path: Path, *options: Any, **named: Any) -> Any:
        return Full() if path.name == "text" else opened(path, *options, **named)

    monkeypatch.setattr(Path, "open", open_full)
    message = refused(TEXT)
    assert "No space left on device; set TMPDIR to a directory with enough space" in message
    assert "output_dir" not in message
