from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from nmt_prep.cli.app import app
from nmt_prep.stages import STAGES
from tests.corpus import tree, write_config


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_config(tmp_path)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def member(path: Path, name: str, number: int, of: int) -> Result:
    result = invoke("run", str(path), "--stage", name, "--task-id", str(number), "--num-tasks", str(of))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_an_array_of_members_and_a_last_run(path: Path) -> None:
    assert invoke("run", str(path), "--set", "output_dir=plain", "--no-preview").exit_code == 0
    assert invoke("run", str(path), "--until", "vocab").exit_code == 0
    assert "encode: share 1 of 2: 1 task run now; 1 missing" in member(path, "encode", 1, 2).stdout
    listed = invoke("tasks", str(path), "--list").stdout
    assert "done    spill-train-00000" in listed
    assert "missing spill-dev-00000" in listed
    assert "encode: share 0 of 2: 1 task run now; the round is complete" in member(path, "encode", 0, 2).stdout
    assert "encode: share 0 of 2: 0 tasks run now; the round is complete" in member(path, "encode", 0, 2).stdout
    assert "shuffle: share 0 of 1: 4 tasks run now; the round is complete" in member(path, "shuffle", 0, 1).stdout
    assert "all done; a plain run goes on from there" in invoke("tasks", str(path)).stdout
    assert "shuffle: 4 of 4 tasks done before" in invoke("run", str(path), "--no-preview").stdout
    assert "already complete; there is nothing to do" in member(path, "shuffle", 0, 1).stdout
    assert tree(path.parent / "run") == tree(path.parent / "plain")


def test_help_names_all_that_can_be_shared_out() -> None:
    rounds = [round_.name for stage in STAGES for round_ in stage.rounds if round_.shareable]
    described = " ".join(invoke("run", "--help").stdout.replace("│", " ").split())
    assert f"a share of the tasks of {', '.join(rounds[:-1])} or {rounds[-1]}, and nothing else" in described


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stage", "encode"], "--stage, --task-id and --num-tasks go together"),
        (["--task-id", "0", "--num-tasks", "2"], "--stage, --task-id and --num-tasks go together"),
        (["--stage", "encode", "--task-id", "0", "--num-tasks", "2", "--verify"], "are for a run, not for a share"),
    ],
)
def test_options_that_do_not_go_together(path: Path, options: list[str], message: str) -> None:
    result = invoke("run", str(path), *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (path.parent / "run").exists()
