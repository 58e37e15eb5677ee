from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.cleaning.rules import regex as regex_rule
from tests.cli.program import nmt_prep
from tests.server import WebServer
from tests.stages.clean.test_clean_leaks import DEV

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
        "d\te f g h\tlength\ttarget\t4\t3\t2\na\t\tempty\t\t\t\t3\n"
        "abcdefgh ijklm\tk\t9\tlength/characters\tsource\t14\t12\t4\n"
    )
    assert messages == (
        "5 pairs read, 2 kept, 3 dropped (60.0%)\ndropped: empty 1, length 1, length/characters 1\n"
        "fixed lines: control 1, whitespace 2\n"
    )


def test_a_program_must_not_write_more_than_it_has_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NMT_PREP_CACHE", str(tmp_path))
    program = [sys.executable, "-S", "-c", "import sys\nfor line in sys.stdin: print(1)\nprint(2)"]
    config: dict[str, Any] = {"languages": {"source": "en", "target": "de"}, "computed": {"v": {"program": program}}}
    config["clean"] = {"preset": "none", "rules": {"score": {"v": {"min": 1}}}}
    (tmp_path / "c.yaml").write_text(json.dumps(config))
    result = nmt_prep("clean", "--config", tmp_path / "c.yaml", stdin=b"a\tb\n")
    assert (result.returncode, result.stdout) == (1, "a\tb\n")
    assert "the value v: " in result.stderr
    assert "wrote more than it had lines to answer" in result.stderr


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


def test_empty_input_and_a_last_line_without_newline(config: Path) -> None:
    assert cleaned(config, "") == ("", "0 pairs read, 0 kept, 0 dropped (0.0%)\n")
    assert cleaned(config, "a\tb", "--quiet") == ("a\tb\n", "")


def test_scores_come_from_columns(config: Path) -> None:
    rule = "clean.rules.score={quality: {min: 0.5}}"
    text = "a\tb\tx\t0.4\nc\td\tx\t0.6\n"
    assert cleaned(config, text, "--set", rule, "--score", "quality=3", "--quiet") == ("c\td\tx\t0.6\n", "")
    assert refused(config, text.encode(), "--set", rule) == (
        "nmt-prep: error: the rule score needs the score 'quality'; name its column, such as --score quality=2"
    )
    assert refused(config, text.encode(), "--set", rule, "--score", "quality=2") == (
        "nmt-prep: error: column 2 of standard input, line 1: scores.quality: found 'x', which is not a number; fix "
        "it, leave it empty for a pair without score, or correct the column or field of the scores"
    )
    for wrong in ("nan", "1_0", "٣"):
        text = f"a\tb\t0.5\nc\td\t{wrong}\n"
        message = refused(config, text.encode(), "--set", rule, "--score", "quality=2")
        assert "column 2 of standard input, line 2: scores.quality: found" in message
    assert "expected NAME=COLUMN" in refused(config, b"", "--score", "quality=one", status=2)


def test_scores_may_have_white_space_around(config: Path) -> None:
    options = ("--set", "clean.rules.score={quality: {min: 0.5}}", "--score", "quality=2", "--quiet")
    assert cleaned(config, "a\tb\t0.5\r\nc\td\t 0.4\ne\tf\t \n", *options) == ("a\tb\t0.5\r\n", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a\tb\nc\n", "standard input, line 2: it has 1 of the 2 columns needed, which are separated by tabs"),
        (
            b"a\tb\r\n\r\n",
            (
                "standard input, line 2: it has 1 of the 2 columns needed, which are separated by tabs, and is only a "
                r"carriage return, which is part of the text (remove them, for example with tr -d '\r')"
            ),
        ),
        (
            b"a\tb\n\tc\xff\n",
            "standard input, line 2, column 3: not UTF-8 (ff: invalid start byte); convert the text to UTF-8",
        ),
    ],
)
def test_errors_name_bad_lines(config: Path, text: bytes, message: str) -> None:
    assert refused(config, text).startswith(f"nmt-prep: error: {message}")


def test_a_rule_that_needs_the_whole_corpus_is_an_error(config: Path) -> None:
    assert refused(config, b"a\tb\n", "--set", "clean.rules.top={score: q, keep: 80%}") == (
        "nmt-prep: error: clean.rules.top: needs the whole corpus, which a stream does not have; remove it, for the "
        "corpus standard input"
    )


def test_deduplication_is_left_out_with_a_remark(config: Path) -> None:
    output, messages = cleaned(config, "a\tb\n" * 2, "--set", "clean.dedup.pair=exact")
    assert output == "a\tb\n" * 2
    assert messages.startswith("clean.dedup (line 3): it is skipped: it needs all pairs\n")
    assert "dedup" not in cleaned(config, "ab\tcd\n", "--set", "clean.dedup.pair=off")[1]
    output, messages = cleaned(config, "two words\tzwei Worte\n" * 2, "--set", "clean.preset=light")
    assert output == "two words\tzwei Worte\n" * 2
    assert "clean.preset light: dedup is skipped: it needs all pairs\n" in messages
    assert "skipped" not in cleaned(config, "a\tb\n")[1]


def test_functions_print_to_standard_error(config: Path) -> None:
    (config.parent / "loud.py").write_text("def f(source):\n    print('loud')\n    return [True] * len(source)\n")
    output, messages = cleaned(config, "a\tb\n", "--set", "clean.rules.python=loud:f")
    assert output == "a\tb\n"
    assert messages.startswith("loud\n")


def test_a_pair_on_which_a_pattern_takes_for_ever_is_named(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_rule, "SECONDS", 0.01)
    text = b"a\tb\n \tb\na\t" + b"x" * 30_000 + b"\n"
    rules = ("--set", "clean.rules={regex: {slow: (x+x+)+y}}")
    assert refused(config, text, *rules).startswith(
        "nmt-prep: error: clean.rules.regex, for the corpus standard input, line 3: the search for the pattern slow"
    )


def test_all_problems_of_the_two_sections_are_listed(config: Path) -> None:
    message = refused(config, b"", "--set", "languages.target=english", "--set", "clean.preset=mild")
    assert "2 problems" in message
    message = refused(config, b"", "--set", "clean.rules.lenght=true", "--set", "clean.fix=[nfd]")
    assert "did you mean 'length'?" in message
    assert "there is no step 'nfd'" in message


def test_an_output_that_cannot_be_written_is_an_error(config: Path) -> None:
    message = refused(config, b"a\tb\n", "--rejected", config / "below a file")
    assert message.startswith(f"nmt-prep: error: cannot write {config}")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_is_an_error_that_names_the_file(config: Path) -> None:
    result = nmt_prep("clean", "--config", config, "--rejected", "/dev/full", stdin=b"a\tb\na b c d\te\n")
    assert (result.returncode, "cannot write /dev/full: the disk is full" in result.stderr) == (1, True)


@pytest.mark.parametrize(("stream", "also"), [("in", "read"), ("out", "written")])
def test_dropped_lines_are_not_written_over_the_text(config: Path, stream: str, also: str) -> None:
    result = nmt_prep("clean", "--config", config, "--rejected", f"/dev/std{stream}", stdin=b"a b c d\te\n")
    assert (result.returncode, result.stdout) == (2, "")
    message = f"--rejected: /dev/std{stream} is also {also}, as standard {stream}put; name another file"
    assert message in " ".join(result.stderr.split())


OPUSFILTER = """
common: {output_directory: work}
steps:
  - type: remove_duplicates
    parameters: {inputs: [a, b], outputs: [c, d]}
  - type: filter
    parameters:
      inputs: [c, d]
      outputs: [e, f]
      filters:
        - LengthFilter: {unit: word, min_length: 1, max_length: 3}
        - LengthFilter: {unit: [char, char], max_length: [9, 12], name: chars}
        - LongWordFilter:
        - LangidFilter: {languages: [en, de]}
        - MyFilter: {}
          module: mine
"""


def test_the_filters_of_an_opusfilter_config_replace_the_rules(config: Path, tmp_path: Path) -> None:
    (tmp_path / "opus.yaml").write_text(OPUSFILTER)
    text = "a  b\tc\nabcdefghij\tx\nk\tabcdefghij\na b c d\te\n"
    output, messages = cleaned(config, text, "--opusfilter", tmp_path / "opus.yaml", "--set", "clean.fix=[]")
    assert output == "a  b\tc\nk\tabcdefghij\n"
    left_out = f"{tmp_path}/opus.yaml: not converted:"
    assert messages.splitlines() == [
        f"{left_out} step 1, remove_duplicates: only steps of type filter are converted",
        f"{left_out} step 2, LangidFilter: no rule gives the same score; see the rules language and score",
        f"{left_out} step 2, MyFilter: a filter of the module mine; use the rule python",
        "4 pairs read, 2 kept, 2 dropped (50.0%)",
        "dropped: length 1, length/chars 1",
    ]


def test_a_file_that_is_not_an_opusfilter_config_is_an_error(config: Path, tmp_path: Path) -> None:
    (tmp_path / "opus.yaml").write_text("steps: 3")
    assert refused(config, b"", "--opusfilter", tmp_path / "opus.yaml") == (
        f"nmt-prep: error: {tmp_path}/opus.yaml: it has no list 'steps'; is this an OpusFilter config?"
    )


EVALUATED = """
languages: {source: en, target: de}
clean:
  preset: none
  decontaminate: {against: ["file:held.tsv"], action: ACTION}
"""


def evaluated(directory: Path, action: str = "drop") -> Path:
    (directory / "held.tsv").write_text("The evaluation set has this line.\tDiese Zeile\nYes.\tJa.\n")
    path = directory / "evaluated.yaml"
    path.write_text(EVALUATED.replace("ACTION", action))
    return path


def test_evaluation_segments_are_dropped_and_named(tmp_path: Path) -> None:
    text = "a\tb\nx\tthe evaluation set has this line\tmore\nyes\tja\nYes\tDoch\na\t\n"
    output, messages = cleaned(evaluated(tmp_path), text, "--rejected", tmp_path / "rejected.tsv", "--threads", "2")
    assert output == "a\tb\nYes\tDoch\n"
    assert (tmp_path / "rejected.tsv").read_text() == (
        "x\tthe evaluation set has this line\tmore\tin_test_set:held.tsv\t\t1\t0.7\t2\theld.tsv\t0\n"
        "yes\tja\tin_test_set:held.tsv\t\t1\t0.7\t3\theld.tsv\t1\n"
        "a\t\tempty\t\t\t\t5\t\t\n"
    )
    assert messages == (
        "5 pairs read, 2 kept, 3 dropped (60.0%)\ndropped: empty 1, in_test_set:held.tsv 2\n"
        "warning: held.tsv: 2 of 2 segments (100.0%) found in 2 pairs\n"
    )


def test_evaluation_segments_are_only_reported_if_so_asked(tmp_path: Path) -> None:
    output, messages = cleaned(evaluated(tmp_path, "report"), "yes\tja\n")
    assert output == "yes\tja\n"
    assert "warning: held.tsv: 1 of 2 segments (50.0%) found in 1 pairs\n" in messages


def test_splits_cannot_be_evaluation_sets_of_a_stream(tmp_path: Path) -> None:
    path = evaluated(tmp_path)
    path.write_text(path.read_text().replace("file:held.tsv", "dev"))
    assert "'dev' is a split, which a stream does not have; name files (file:…)" in refused(path, b"")


def test_an_evaluation_set_must_be_there_and_be_text(tmp_path: Path) -> None:
    path = evaluated(tmp_path)
    (tmp_path / "held.tsv").write_bytes(b"a\tb\n\xff\tb\n")
    assert "held.tsv:2" in refused(path, b"a\tb\n")
    (tmp_path / "held.tsv").unlink()
    assert "held.tsv" in refused(path, b"a\tb\n")


def test_a_test_set_by_id_is_fetched_and_compared(tmp_path: Path, server: WebServer) -> None:
    path = evaluated(tmp_path)
    path.write_text(path.read_text().replace("file:held.tsv", "sacrebleu:wmt90"))
    source, target = DEV[0]
    output, messages = cleaned(path, f"a\tb\n{source}\t{target}\n")
    assert output == "a\tb\n"
    assert "dropped: in_test_set:wmt90 1\n" in messages
    assert server.asked == ["/test.tgz"]
