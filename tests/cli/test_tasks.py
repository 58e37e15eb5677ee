from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from nmt_prep.cli.app import app
from tests.corpus import tree, write_config


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_config(tmp_path)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def member(path: Path, name: str, number: int, of: int) -> Result:
    result = invoke("run", str(path), "--round", name, "--task-id", str(number), "--num-tasks", str(of))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_job_array_and_a_final_run(path: Path) -> None:
    assert invoke("run", str(path), "--set", "output_dir=plain", "--no-preview").exit_code == 0
    assert invoke("run", str(path), "--until", "vocab").exit_code == 0
    assert "encode: share 1 of 2: 1 task run now; 1 missing" in member(path, "encode", 1, 2).stdout
    listed = invoke("tasks", str(path), "--list").stdout
    assert "done    spill-train-00000" in listed
    assert "missing spill-dev-00000" in listed
    assert "encode: share 0 of 2: 1 task run now; the round is complete" in member(path, "encode", 0, 2).stdout
    assert "encode: share 0 of 2: 0 tasks run now; the round is complete" in member(path, "encode", 0, 2).stdout
    assert "shuffle: share 0 of 1: 2 tasks run now; the round is complete" in member(path, "shuffle", 0, 1).stdout
    assert "all done; a plain run continues from there" in invoke("tasks", str(path)).stdout
    assert "shuffle: 2 of 2 tasks already done" in invoke("run", str(path), "--no-preview").stdout
    assert "already complete; there is nothing to do" in member(path, "shuffle", 0, 1).stdout
    assert tree(path.parent / "run") == tree(path.parent / "plain")


@pytest.mark.parametrize("option", ["--round", "--stage"])
def test_a_round_that_does_not_exist_is_wrong_usage(path: Path, option: str) -> None:
    result = invoke("run", str(path), option, "encoding", "--task-id", "0", "--num-tasks", "2")
    assert result.exit_code == 2
    said = " ".join(result.stderr.replace("│", " ").split())
    assert (
        "there is no round 'encoding' to share; did you mean 'encode'? (nmt-prep tasks CONFIG lists the rounds" in said
    )


def test_stage_is_a_hidden_alias_of_round(path: Path) -> None:
    shown = invoke("run", "--help").stdout
    assert "--round ROUND" in shown
    assert "--stage" not in shown
    invoke("run", str(path), "--until", "vocab")
    result = invoke("run", str(path), "--stage", "encode", "--task-id", "0", "--num-tasks", "2")
    assert "encode: share 0 of 2: 1 task run now; 1 missing" in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--round", "encode"], "--round, --task-id and --num-tasks go together"),
        (["--task-id", "0", "--num-tasks", "2"], "--round, --task-id and --num-tasks go together"),
        (["--round", "encode", "--stage", "encode"], "--stage is the old name of --round; give one of them"),
        (["--round", "encode", "--task-id", "0", "--num-tasks", "2", "--verify"], "do not go with --round"),
    ],
)
def test_conflicting_options(path: Path, options: list[str], message: str) -> None:
    result = invoke("run", str(path), *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (path.parent / "run").exists()
