from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import nmt_prep

CONFIG = """
name: r
languages: {source: en, target: de}
output_dir: %s
seed: 1
splits:
  train:
    - {name: one, url: {source: one.en, target: one.de}}
    - {name: two, url: {source: two.en, target: two.de}}
clean:
  preset: none
  rules: {length: {unit: token, max: 3}, length/characters: {unit: char, max: 20}}
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("rejects")
    for name in ("one", "two"):
        lines = [" ".join(["w"] * words) for words in (1, 4, 9, 2, 5)] + ["x" * 25]
        (directory / f"{name}.en").write_text("".join(f"{line}\n" for line in lines))
        (directory / f"{name}.de").write_text("".join(f"{name}\n" for _ in lines))
    path = directory / "config.yaml"
    path.write_text(CONFIG % (directory / "run"))
    early = nmt_prep("rejects", path)
    assert early.returncode == 1
    assert "the stage clean has not run yet" in early.stderr
    assert nmt_prep("run", path, "--until", "clean", "--quiet").returncode == 0
    return path


def rows(config: Path, *options: str) -> list[dict[str, Any]]:
    result = nmt_prep("rejects", config, "--json", *options)
    assert (result.returncode, result.stderr) == (0, "")
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_rejects_are_chosen_by_rule_and_corpus(config: Path) -> None:
    (row,) = rows(config, "--rule", "length/characters", "--corpus", "two")
    assert row == {
        "source": "x" * 25,
        "target": "two",
        "corpus": "two",
        "row": 5,
        "rule": "length/characters",
        "column": "source",
        "value": 25.0,
        "threshold": 20.0,
        "kept_corpus": None,
        "kept_row": None,
        "unanswered": None,
        "split": "train",
    }
    assert len(rows(config)) == 8
    assert len(rows(config, "-n", "5", "--split", "train")) == 5


def test_near_shows_those_closest_to_the_threshold_first(config: Path) -> None:
    values = [row["value"] for row in rows(config, "--near", "--rule", "length", "-n", "5")]
    assert values == [4.0, 4.0, 5.0, 5.0, 9.0]


def test_a_choice_depends_on_the_seed_alone(config: Path) -> None:
    assert rows(config, "-n", "3") == rows(config, "-n", "3") == rows(config)[:3]


def test_the_table_names_rule_value_and_threshold(config: Path) -> None:
    result = nmt_prep("rejects", config, "--rule", "length/characters", "--corpus", "one")
    header, row = (line.split() for line in result.stdout.splitlines())
    assert header == ["corpus", "row", "rule", "failed", "value", "threshold", "source", "target"]
    assert row == ["one", "5", "length/characters", "source", "25", "20", "x" * 25, "one"]


def test_the_table_names_the_pair_that_was_kept_instead(config: Path, tmp_path: Path) -> None:
    own = tmp_path / "config.yaml"
    made = "    - {name: made, url: {target: one.de}, translate: bt}\n"
    made += "computed: {bt: {program: cat, input: target, output: text}}\nclean:\n"
    text = config.read_text().replace("clean:\n", made)
    text = text.replace("one.", f"{config.parent}/one.").replace("two.", f"{config.parent}/two.")
    own.write_text(text.replace(f"{config.parent}/run", f"{tmp_path}/run") + "  dedup: {max_targets_per_source: 1}\n")
    assert nmt_prep("run", own, "--until", "clean", "--quiet").returncode == 0
    header, *lines = (line.split() for line in nmt_prep("rejects", own).stdout.splitlines())
    assert header == ["corpus", "row", "rule", "failed", "value", "threshold", "kept", "source", "target"]
    assert ["two", "0", "too_many_targets", "one", "0", "w", "two"] in lines
    assert ["one", "5", "length/characters", "source", "25", "20", "x" * 25, "one"] in lines
    assert {row["target"] for row in rows(own, "--rule", "duplicate_line")} == {"one"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rule", "lenght"], "--rule lenght: nothing was cleaned with that rule (there is empty, length, length/"),
        (["--corpus", "three"], "--corpus three: nothing was cleaned with that corpus (there is one, two)"),
        (["--split", "dev"], "--split dev: nothing was cleaned with that split (there is train)"),
        (["--set", "clean.rejects=none"], "the config says clean.rejects: none; set it to sample or all"),
        (["--set", "clean=null"], "the config has no section clean, so nothing is dropped by rules"),
    ],
)
def test_errors_of_wrong_choices_and_missing_rejects(config: Path, options: list[str], message: str) -> None:
    result = nmt_prep("rejects", config, *options)
    assert (result.returncode, result.stdout) == (1, "")
    assert message in " ".join(result.stderr.split())


def test_a_remark_says_that_no_pair_was_found(config: Path) -> None:
    result = nmt_prep("rejects", config, "--rule", "empty")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "no dropped pair matches\n")
