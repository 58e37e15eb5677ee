from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.program import nmt_prep
from tests.corpus import write_config


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path)


def test_run_prints_stages_records_and_then_that_nothing_changed(config: Path) -> None:
    first = nmt_prep("run", config, "--no-preview")
    assert first.returncode == 0
    assert first.stderr == ""
    lines = first.stdout.splitlines()
    assert "compile: starting (never run here)" in lines
    assert any(line.split()[:1] == ["compile"] and "empty_target 1" in line for line in lines)
    assert f"records: {config.parent / 'run' / 'records'}" in lines
    assert "  train: 300 pairs in 3 shards: small-train-00000-of-00003 … small-train-00002-of-00003" in lines

    second = nmt_prep("run", config, "--no-preview")
    assert "compile: fresh" in second.stdout.splitlines()
    assert nmt_prep("run", config, "--quiet").stdout == ""


@pytest.mark.tensorflow
def test_run_ends_with_a_decoded_batch_and_remembers_it(config: Path) -> None:
    first = nmt_prep("run", config)
    assert first.returncode == 0
    preview = first.stdout[first.stdout.index("a batch: source [") : first.stdout.index("stage ")]
    assert "  source ids: " in preview
    assert preview.count("  target:     ") == 3
    kept = config.parent / "run" / ".nmt_prep" / "preview.json"
    stored = json.loads(kept.read_text())
    assert stored["text"] == preview.rstrip()
    kept.write_text(json.dumps({**stored, "text": "the batch as it was kept"}))
    assert "the batch as it was kept" in nmt_prep("run", config).stdout


def test_until_force_and_log_json(config: Path) -> None:
    log = config.parent / "logs" / "events.jsonl"
    assert nmt_prep("run", config, "--until", "sample", "--log-json", log).returncode == 0
    assert not (config.parent / "run" / "vocab").exists()
    assert nmt_prep("run", config, "--force", "sample", "--until", "sample", "--log-json", log).returncode == 0
    events = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    started = [event["stage"] for event in events if event["event"] == "stage_started"]
    assert started == ["download", "extract", "compile", "sample", "sample"]
    assert [event["event"] for event in events[-2:]] == ["stage_finished", "run_finished"]


def test_the_schema_is_printed() -> None:
    assert json.loads(nmt_prep("schema").stdout)["title"] == "Config"


def test_a_corpus_of_which_nothing_is_left_is_an_error_unless_that_is_allowed(config: Path) -> None:
    run = ["run", config, "--until", "clean", "--set", "clean={rules: {length: {unit: char, max: 1}}, preset: none}"]
    refused = nmt_prep(*run)
    assert refused.returncode == 1
    assert "clean.rules.length: cleaning drops all 300 pairs of splits.train.x" in refused.stderr
    assert nmt_prep(*run, "--allow-empty").returncode == 0
    assert nmt_prep(*run).returncode == 0  # the option does not change the result


def test_allowing_that_needs_a_config_that_cleans(config: Path) -> None:
    ended = nmt_prep("run", config, "--allow-empty")
    assert (ended.returncode, "the config has no section clean" in ended.stderr) == (2, True)
