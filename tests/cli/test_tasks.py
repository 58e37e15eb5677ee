from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.cli.tasks import tasks_table
from nmt_prep.cli.terminal import SafeConsole
from nmt_prep.pipeline.drivers import RoundState
from nmt_prep.pipeline.outcomes import StageTasks
from tests.cli.program import Ended, nmt_prep
from tests.corpus import tree, write_config


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
    assert nmt_prep("run", path, "--set", "output_dir=plain", "--no-preview").returncode == 0
    assert nmt_prep("run", path, "--until", "vocab").returncode == 0
    assert "encode: share 1 of 2: 1 task run now; 1 missing" in member(path, "encode", 1, 2)
    listed = nmt_prep("tasks", path, "--list").stdout
    assert "done    spill-train-00000" in listed
    assert "missing spill-dev-00000" in listed
    assert "encode: share 0 of 2: 1 task run now; the round is complete" in member(path, "encode", 0, 2)
    assert "encode: share 0 of 2: 0 tasks run now; the round is complete" in member(path, "encode", 0, 2)
    assert "shuffle: share 0 of 1: 2 tasks run now; the round is complete" in member(path, "shuffle", 0, 1)
    assert "all done; a plain run continues from there" in nmt_prep("tasks", path).stdout
    assert "shuffle: 2 of 2 tasks already done" in nmt_prep("run", path, "--no-preview").stdout
    assert "already complete; there is nothing to do" in member(path, "shuffle", 0, 1)
    assert tree(path.parent / "run") == tree(path.parent / "plain")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--round", "encoding", "--task-id", "0", "--num-tasks", "2"],
            "there is no round 'encoding' to share; did you mean 'encode'? (nmt-prep tasks CONFIG lists the rounds",
        ),
        (["--round", "encode"], "--round, --task-id and --num-tasks go together"),
        (["--task-id", "0", "--num-tasks", "2"], "--round, --task-id and --num-tasks go together"),
        (["--round", "encode", "--task-id", "0", "--num-tasks", "2", "--verify"], "do not go with --round"),
        (["--round", "encode", "--task-id", "0", "--num-tasks", "2", "--json"], "--strict and --json do not go with"),
        (["--round", "encode", "--task-id", "0", "--num-tasks", "2", "--strict"], "--strict and --json do not go with"),
    ],
)
def test_conflicting_options(path: Path, options: list[str], message: str) -> None:
    ended: Ended = nmt_prep("run", path, *options)
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
