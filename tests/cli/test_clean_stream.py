from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import nmt_prep

CONFIG = """
languages: {source: en, target: de}
clean:
  preset: none
  fix: [control, whitespace]
  rules: {length: {unit: token, min: 1, max: 3}}
  overrides:
    long: {rules: {length: {unit: token, max: 5}}}
    en-de: {rules: {length/characters: {unit: char, max: 12}}}
splits: not read
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "clean.yaml"
    path.write_text(CONFIG)
    return path


def cleaned(config: Path, text: str | bytes, *options: str | Path) -> tuple[str, str]:
    """Returns standard output and standard error."""
    stdin = text.encode() if isinstance(text, str) else text
    result = nmt_prep("clean", "--config", config, *options, stdin=stdin)
    assert result.returncode == 0, result.stderr
    return result.stdout, result.stderr


def refused(config: Path, text: bytes, *options: str | Path, status: int = 1) -> str:
    result = nmt_prep("clean", "--config", config, *options, stdin=text)
    assert (result.returncode, result.stdout) == (status, "")
    return " ".join(result.stderr.split())


def test_pairs_are_fixed_and_dropped_and_further_columns_kept(config: Path, tmp_path: Path) -> None:
    text = "a  b\tc\x07\t0.5\tx\nd\te f g h\na\t \nabcdefgh ijklm\tk\t9\nü\tö\n"
    output, messages = cleaned(config, text, "--rejected", tmp_path / "rejected.tsv", "--threads", "2")
    assert output == "a b\tc\t0.5\tx\nü\tö\n"
    assert (tmp_path / "rejected.tsv").read_text() == (
        "d\te f g h\tlength\t4\t3\t2\na\t\tempty\t\t\t3\nabcdefgh ijklm\tk\t9\tlength/characters\t14\t12\t4\n"
    )
    assert messages == (
        "5 pairs read, 2 kept, 3 dropped (60.0%)\ndropped: empty 1, length 1, length/characters 1\n"
        "fixed lines: control 1, whitespace 2\n"
    )


def test_overrides_of_a_corpus_apply_where_it_is_named(config: Path) -> None:
    text = "a b c d\te\n"
    assert cleaned(config, text, "--quiet") == ("", "")
    assert cleaned(config, text, "--corpus", "long", "--quiet") == (text, "")
    assert "--corpus names 'lang', which has no overrides; did you mean 'long'?" in refused(
        config, b"", "--corpus", "lang"
    )


def test_blocks_stay_in_order(config: Path) -> None:
    text = "".join(f"{number}\t{number}\n" for number in range(200_000))
    output, _ = cleaned(config, text, "--threads", "3")
    assert output == text


def test_empty_input(config: Path) -> None:
    assert cleaned(config, "") == ("", "0 pairs read, 0 kept, 0 dropped (0.0%)\n")


def test_the_last_line_needs_no_newline(config: Path) -> None:
    assert cleaned(config, "a\tb", "--quiet") == ("a\tb\n", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a\tb\nc\n", "standard input, line 2: it has 1 of the 2 columns needed, which are separated by tabs"),
        (
            b"a\tb\n\tc\xff\n",
            "standard input, line 2, column 3: not UTF-8 (ff: invalid start byte); convert the text to UTF-8",
        ),
    ],
)
def test_bad_lines_are_named(config: Path, text: bytes, message: str) -> None:
    assert refused(config, text).startswith(f"nmt-prep: error: {message}")


def test_rules_that_need_the_whole_corpus_are_refused(config: Path) -> None:
    assert refused(config, b"a\tb\n", "--set", "clean.rules.top={score: q, keep: 80%}") == (
        f"nmt-prep: error: {config}: 1 problem clean.rules.top: needs the whole corpus, which a stream does not have; "
        "remove it"
    )


def test_all_problems_of_the_two_sections_are_listed(config: Path) -> None:
    message = refused(config, b"", "--set", "languages.target=english", "--set", "clean.preset=mild")
    assert "2 problems" in message
    message = refused(config, b"", "--set", "clean.rules.lenght=true", "--set", "clean.fix=[nfd]")
    assert "did you mean 'length'?" in message
    assert "there is no fix 'nfd'" in message


def test_an_output_that_cannot_be_written(config: Path, tmp_path: Path) -> None:
    assert refused(config, b"a\tb\n", "--rejected", tmp_path / "no" / "file") == (
        f"nmt-prep: error: cannot write {tmp_path / 'no' / 'file'}: No such file or directory"
    )
