from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from nmt_prep.cli.app import app
from nmt_prep.pipeline import measured
from tests.corpus import write_config


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_config(tmp_path, pairs=3_000)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_estimate_from_an_earlier_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "LEAST_WORK", 1)
    assert invoke("run", str(path), "--no-preview", "--set", "vocab.size=300").exit_code == 0
    estimated = invoke("plan", str(path), "--estimate", "--workers", "2", "--cores", "2")
    assert estimated.exit_code == 0, estimated.exception
    rows = [line.split() for line in estimated.stdout.splitlines()][1:]
    assert [row[0] for row in rows] == [
        *("stage", "download", "extract", "compile", "sample", "vocab", "encode", "report", "total")
    ]
    assert {row[0] for row in rows if "measured" in row} == {"extract", "compile", "sample", "vocab", "encode"}


def test_estimate_for_given_pairs_and_machines(path: Path) -> None:
    result = invoke(
        *("plan", str(path), "--estimate", "--pairs", "1000000000"),
        *("--workers", "64", "--cores", "32"),
    )
    assert result.exit_code == 0, result.exception
    assert (
        result.stdout.splitlines()[0]
        == "about 1,000,000,000 pairs, 150.0 GB of text; 64 workers on 2 machines of 32 cores"
    )
    assert result.stdout.count("built-in") == 7
    assert "- 3 shards are 3 tasks for 64 workers; raise records.shards.train" in result.stdout
    assert not (path.parent / "run").exists()


def test_wrong_usage(path: Path) -> None:
    for arguments, message in (
        (["--pairs", "5"], "--pairs goes with --estimate"),
        (["--cores", "5"], "--cores goes with --estimate"),
        (["--estimate", "--verify"], "--force and --verify do not go with --estimate"),
        (["--estimate", "--pairs", "0"], "Input should be greater than or equal to 1"),
        (
            ["--estimate", "--set", "engine.kind=dask", "--set", "engine.scheduler=tcp://h:1"],
            "give the number of workers of engine.scheduler: --workers",
        ),
    ):
        result = invoke("plan", str(path), *arguments)
        assert result.exit_code == 2
        assert message in " ".join(result.stderr.split())
    gone = invoke("plan", str(path), "--estimate", "--set", "splits.train.0.url=http://example.org/x.tgz")
    assert "the sizes of 1 files are unknown" in str(gone.exception)
