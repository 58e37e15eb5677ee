from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from nmt_prep.cleaning.presets import PRESET_FIXES, PRESETS
from nmt_prep.cli.plan import tasks_table
from nmt_prep.cli.terminal import SafeConsole
from nmt_prep.pipeline.drivers import RoundState, StageTasks
from tests.cli.program import nmt_prep
from tests.corpus import tree, write_config


def test_reasons_are_given_and_nothing_runs(tmp_path: Path) -> None:
    config = write_config(tmp_path, pairs=30)
    assert "never run here" in nmt_prep("plan", config).stdout
    assert not (tmp_path / "run").exists()
    nmt_prep("run", config, "--until", "encode", "--quiet")
    before = tree(tmp_path / "run")
    plan = nmt_prep("plan", config, "--set", "vocab.size=150").stdout.splitlines()
    assert [line.split(maxsplit=1) for line in (" ".join(line.split()) for line in plan)] == [
        ["stage", "state why"],
        ["download", "up to date nothing changed"],
        ["extract", "up to date nothing changed"],
        ["compile", "up to date nothing changed"],
        ["sample", "up to date nothing changed"],
        ["vocab", "would run config vocab.size changed 200 → 150"],
        ["encode", "would run follows vocab"],
        ["report", "would run follows vocab and encode"],
    ]
    assert tree(tmp_path / "run") == before


def test_hold_outs_and_limits_are_listed(tmp_path: Path) -> None:
    path = write_config(tmp_path, pairs=30)
    data = yaml.safe_load(path.read_text())
    every = [{"every": 4, "positions": positions, "split": positions} for positions in ("corpus", "split", "lines")]
    data["splits"]["train"][0] |= {"hold_out": [{"pairs": 5, "duplicates": "keep"}, *every], "limit": 9}
    path.write_text(yaml.safe_dump(data))
    name = data["splits"]["train"][0]["name"]
    assert nmt_prep("plan", path).stdout.splitlines()[-1] == (
        f"- splits.train.{name}: 5 pairs held out for dev (duplicates stay), every pair number divisible by 4 held out "
        "for corpus, every pair number in train divisible by 4 held out for split, every line number in train "
        "divisible by 4 held out for lines, at most 9 pairs stay"
    )


def rules(directory: Path, clean: dict[str, Any] | None) -> str:
    """Returns what ``--show-rules`` prints for a section ``clean``; None for no section."""
    path = write_config(directory, pairs=10)
    data = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(data if clean is None else {**data, "clean": clean}, sort_keys=False))
    ended = nmt_prep("plan", path, "--show-rules")
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_the_rules_are_printed_in_full_as_a_section_that_does_the_same(tmp_path: Path) -> None:
    override = {"fix": ["nfc"], "rules": {"length": {"max": {"source": 5, "target": 6}}, "html": "off"}}
    clean = {"preset": "light", "rules": {"html": {}}, "overrides": {"x": override}, "rejects": "all"}
    printed = rules(tmp_path, clean)
    section = yaml.safe_load(printed)["clean"]
    assert section["preset"] == "light"
    assert section["fix"] == [*PRESET_FIXES["light"]]
    assert list(section["rules"]) == [*PRESETS["light"], *({"html"} - {*PRESETS["light"]})]
    assert section["rules"]["length"] == {"unit": "word", "min": 1.0, "max": 250.0}
    length = {"unit": "word", "min": 1.0, "max": {"source": 5.0, "target": 6.0}}
    assert section["overrides"] == {"x": {"fix": ["nfc"], "rules": {"length": length, "html": "off"}}}
    assert rules(tmp_path, section) == printed


def test_a_rule_that_only_one_corpus_has_keeps_its_place_in_the_order(tmp_path: Path) -> None:
    off = {"only_symbols": "off", "html": "off"}
    clean = {"preset": "light", "rules": off, "overrides": {"x": {"rules": {"only_symbols": {"min": 0.4}}}}}
    section = yaml.safe_load(rules(tmp_path, clean))["clean"]
    assert [*section["rules"]] == [*PRESETS["light"]]
    assert section["rules"]["only_symbols"] == "off"
    assert section["overrides"] == {"x": {"rules": {"only_symbols": {"min": 0.4}}}}


def test_a_config_without_cleaning_has_no_rules_to_show(tmp_path: Path) -> None:
    assert rules(tmp_path, None) == "# The config has no section clean: nothing is cleaned.\n"


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_can_be_shown(tmp_path: Path, preset: str) -> None:
    printed = rules(tmp_path, {"preset": preset})
    section = yaml.safe_load(printed)["clean"]
    assert list(section["rules"]) == [*PRESETS[preset]]
    assert rules(tmp_path, section) == printed


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_config(tmp_path)


def member(path: Path, name: str, number: int, of: int) -> str:
    """Runs a share of a round; returns its output."""
    ended = nmt_prep("run", path, "--round", name, "--task-id", str(number), "--num-tasks", str(of))
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_job_array_and_a_final_run(path: Path) -> None:
    assert nmt_prep("run", path, "--set", "output_dir=plain").returncode == 0
    assert nmt_prep("run", path, "--until", "vocab").returncode == 0
    assert "encode: share 1 of 2: 1 task run now; 1 missing" in member(path, "encode", 1, 2)
    listed = nmt_prep("tasks", path, "--list").stdout
    assert "done    spill-train-00000" in listed
    assert "missing spill-dev-00000" in listed
    assert "encode: share 0 of 2: 1 task run now; the round is complete" in member(path, "encode", 0, 2)
    assert "encode: share 0 of 2: 0 tasks run now; the round is complete" in member(path, "encode", 0, 2)
    assert "shuffle: share 0 of 1: 2 tasks run now; the round is complete" in member(path, "shuffle", 0, 1)
    assert "all done; a plain run continues from there" in nmt_prep("tasks", path).stdout
    assert "shuffle: 2 of 2 tasks already done" in nmt_prep("run", path).stdout
    assert "already complete; there is nothing to do" in member(path, "shuffle", 0, 1)
    assert tree(path.parent / "run") == tree(path.parent / "plain")


SHARE = ["--round", "encode", "--task-id", "0", "--num-tasks", "2"]


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("plan", ["--show-rules", "--verify"], "--show-rules cannot be combined with"),
        ("plan", ["--show-rules", "--force", "clean"], "--show-rules cannot be combined with"),
        ("run", SHARE[:2], "--round, --task-id and --num-tasks must be given together"),
        ("run", SHARE[2:], "--round, --task-id and --num-tasks must be given together"),
        ("run", [*SHARE, "--verify"], "cannot be combined with --round"),
        ("run", [*SHARE, "--json"], "--strict and --json cannot be combined with"),
        ("run", [*SHARE, "--strict"], "--strict and --json cannot be combined with"),
    ],
)
def test_conflicting_options(path: Path, command: str, options: list[str], message: str) -> None:
    ended = nmt_prep(command, path, *options)
    assert ended.returncode == 2
    assert message in " ".join(ended.stderr.split())
    assert not (path.parent / "run").exists()


def rows(capsys: pytest.CaptureFixture[str], *stages: StageTasks, running: bool = False) -> list[list[str]]:
    """Returns the words of the lines of a table of tasks."""
    SafeConsole(width=120).print(tasks_table(stages, running=running))
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_a_finished_round_shows_what_follows(capsys: pytest.CaptureFixture[str]) -> None:
    counted = RoundState("count", (("a", True),))
    stage = StageTasks("vocab", complete=False, reason="never run here", rounds=(counted,))
    assert rows(capsys, stage, running=True)[1][4:] == ["all", "done;", "a", "run", "continues", "with", "vocab"]
    assert rows(capsys, stage)[1][4:] == ["all", "done;", "a", "plain", "run", "continues", "from", "there"]


def test_every_round_is_listed_with_what_it_waits_for(capsys: pytest.CaptureFixture[str]) -> None:
    rounds = RoundState("lines", ()), RoundState("compile", (("a", True), ("b", False))), RoundState("join", None)
    assert rows(
        capsys,
        StageTasks("extract", complete=True, reason="", rounds=()),
        StageTasks("compile", complete=False, reason="was interrupted", rounds=rounds),
        StageTasks("sample", complete=False, reason="waits for compile", rounds=(RoundState("sample", None),)),
        StageTasks("report", complete=False, reason="waits for compile", rounds=()),
    ) == [
        ["stage", "round", "done", "of", "state"],
        ["extract", "complete"],
        ["compile", "lines", "0", "0", "nothing", "to", "do"],
        ["compile", "compile", "1", "2", "1", "missing"],
        ["compile", "join", "waits", "for", "compile"],
        ["sample", "sample", "waits", "for", "compile"],
        ["report", "waits", "for", "compile"],
    ]
