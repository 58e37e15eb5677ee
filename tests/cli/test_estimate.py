from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from nmt_prep.cli.app import app
from nmt_prep.estimates.calibration import calibration_path
from tests.corpus import write_config


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_config(tmp_path, pairs=3_000)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_calibrate_on_the_corpora_of_a_config_and_estimate(path: Path) -> None:
    early = invoke("calibrate", str(path), "--megabytes", "1")
    assert "the corpus x is not extracted in" in str(early.exception)
    assert invoke("run", str(path), "--until", "extract").exit_code == 0
    before = sorted(path.parent.iterdir())
    measured = invoke("calibrate", str(path), "--megabytes", "1", "--repeats", "1")
    assert measured.exit_code == 0, measured.exception
    assert "text: the corpora of small; 3,001 pairs" in measured.stdout
    assert f"kept for t2t/example in {calibration_path()}" in measured.stdout
    assert sorted(path.parent.iterdir()) == before
    constants = json.loads(calibration_path().read_bytes())["sets"]["t2t/example"]
    assert set(constants["rounds"]) == {
        *("extract", "decompress", "lines", "compile", "sample", "skip", "count", "encode", "shuffle")
    }
    assert all(cost["slowdown"] >= 1 and cost["cpu_per_task"] >= 0 for cost in constants["rounds"].values())
    assert 0.05 < constants["sizes"]["compiled"] < 1 < constants["disk"]["write_rate"]
    estimated = invoke("plan", str(path), "--estimate", "--workers", "2", "--cores", "2")
    assert estimated.exit_code == 0, estimated.exception
    assert "constants: calibrated here on 20" in estimated.stdout
    names = [line.split()[0] for line in estimated.stdout.splitlines()]
    assert names[2:] == ["stage", "download", "extract", "compile", "sample", "vocab", "encode", "report", "in"]


def test_an_estimate_for_other_pairs_and_machines(path: Path) -> None:
    result = invoke(
        *("plan", str(path), "--estimate", "--pairs", "1000000000", "--bytes-per-pair", "100"),
        *("--workers", "64", "--cores", "32", "--disk-rate", "5000"),
    )
    assert result.exit_code == 0, result.exception
    first, second = result.stdout.splitlines()[:2]
    assert first == "about 1,000,000,000 pairs, 100.0 GB of text; 64 workers on 2 machines of 32 cores"
    assert second.startswith("constants: built-in, measured on 20")
    assert "- 3 shards are 3 tasks for 64 workers; raise records.shards.train" in result.stdout
    assert not (path.parent / "run").exists()


def test_wrong_use(path: Path) -> None:
    for arguments, message in (
        (["--pairs", "5"], "--pairs goes with --estimate"),
        (["--disk-rate", "5"], "--disk-rate goes with --estimate"),
        (["--estimate", "--verify"], "--force and --verify do not go with --estimate"),
        (["--estimate", "--pairs", "0"], "Input should be greater than or equal to 1"),
        (
            ["--estimate", "--set", "engine.kind=dask", "--set", "engine.scheduler=tcp://h:1"],
            "say how many workers engine.scheduler has: --workers",
        ),
    ):
        result = invoke("plan", str(path), *arguments)
        assert result.exit_code == 2
        assert message in " ".join(result.stderr.split())
    gone = invoke("plan", str(path), "--estimate", "--set", "splits.train.0.url=http://example.org/x.tgz")
    assert "the sizes of 1 files are not known" in str(gone.exception)
