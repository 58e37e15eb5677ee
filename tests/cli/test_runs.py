from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.program import nmt_prep
from tests.corpus import corpus_config, tree, write_corpus


def write_config(place: Path, **changes: Any) -> Path:
    value = corpus_config(place / "run", **changes).model_dump(mode="json", exclude_unset=True)
    path = place / "c.yaml"
    path.write_text(yaml.safe_dump(value), encoding="utf-8")
    return path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_corpus(tmp_path)
    return tmp_path


def test_run_prints_stages_records_and_then_that_nothing_changed(place: Path) -> None:
    config = write_config(place)
    first = nmt_prep("run", config, "--no-preview")
    assert first.returncode == 0
    assert first.stderr == ""
    lines = first.stdout.splitlines()
    assert "compile: starting (never run here)" in lines
    assert any(line.split()[:1] == ["compile"] and "empty_target 1" in line for line in lines)
    assert f"records: {place / 'run' / 'records'}" in lines
    assert "  train: 300 pairs in 3 shards: small-train-00000-of-00003 … small-train-00002-of-00003" in lines

    second = nmt_prep("run", config, "--no-preview")
    assert "compile: fresh" in second.stdout.splitlines()
    assert nmt_prep("run", config, "--quiet").stdout == ""


@pytest.mark.tensorflow
def test_run_ends_with_a_decoded_batch_and_remembers_it(place: Path) -> None:
    config = write_config(place)
    first = nmt_prep("run", config)
    assert first.returncode == 0
    preview = first.stdout[first.stdout.index("a batch: source [") : first.stdout.index("stage ")]
    assert "  source ids: " in preview
    assert preview.count("  target:     ") == 3
    kept = place / "run" / ".nmt_prep" / "preview.json"
    stored = json.loads(kept.read_text())
    assert stored["text"] == preview.rstrip()
    kept.write_text(json.dumps({**stored, "text": "the batch as it was kept"}))
    assert "the batch as it was kept" in nmt_prep("run", config).stdout


def test_plan_gives_reasons_and_runs_nothing(place: Path) -> None:
    config = write_config(place)
    assert "never run here" in nmt_prep("plan", config).stdout
    assert not (place / "run").exists()
    nmt_prep("run", config, "--until", "encode", "--quiet")
    before = tree(place / "run")
    plan = nmt_prep("plan", config, "--set", "vocab.size=150").stdout.splitlines()
    assert [line.split(maxsplit=1) for line in (" ".join(line.split()) for line in plan[1:])] == [
        ["download", "fresh nothing changed"],
        ["extract", "fresh nothing changed"],
        ["compile", "fresh nothing changed"],
        ["sample", "fresh nothing changed"],
        ["vocab", "would run config vocab.size changed 200 → 150"],
        ["encode", "would run follows vocab"],
        ["report", "would run follows vocab and encode"],
    ]
    assert tree(place / "run") == before


def test_until_force_and_log_json(place: Path) -> None:
    config, log = write_config(place), place / "logs" / "events.jsonl"
    assert nmt_prep("run", config, "--until", "sample", "--log-json", log).returncode == 0
    assert not (place / "run" / "vocab").exists()
    assert nmt_prep("run", config, "--force", "sample", "--until", "sample", "--log-json", log).returncode == 0
    events = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    started = [event["stage"] for event in events if event["event"] == "stage_started"]
    assert started == ["download", "extract", "compile", "sample", "sample"]
    assert [event["event"] for event in events[-2:]] == ["stage_finished", "run_finished"]


def test_the_schema_is_printed() -> None:
    assert json.loads(nmt_prep("schema").stdout)["title"] == "Config"
