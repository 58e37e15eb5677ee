from __future__ import annotations

import json
import platform
from pathlib import Path

from nmt_prep.pipeline.run_notes import read_run_notes
from nmt_prep.runs.runner import run
from tests.corpus import corpus_config, write_corpus


def test_a_run_notes_its_stages(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    config = corpus_config(tmp_path / "run")
    run(config, until="compile", workers=2)
    assert not (tmp_path / "run" / "report").exists()
    run(config, workers=1)
    notes = json.loads((tmp_path / "run" / "report" / "run.json").read_bytes())
    assert notes["format"] == 1
    assert set(notes["stages"]) == {"download", "extract", "compile", "sample", "vocab", "encode", "report"}
    assert (notes["stages"]["compile"]["workers"], notes["stages"]["encode"]["workers"]) == (2, 1)
    assert notes["stages"]["encode"]["tasks"] > 3
    rounds = notes["stages"]["encode"]["rounds"]
    assert {name: numbers["tasks"] for name, numbers in rounds.items()} == {"encode": 2, "shuffle": 2}
    assert notes["stages"]["report"]["rounds"] == {}
    for stage in notes["stages"].values():
        spent = sum(numbers["processor_seconds"] for numbers in stage["rounds"].values())
        assert stage["processor_seconds"] > spent - 0.01  # all numbers are rounded
        assert stage["host"] == platform.node()
        assert stage["seconds"] >= 0
        assert stage["peak_memory"] > 10_000_000
    killed = tmp_path / "run" / "report" / ".run.json.0123456789abcdef.partial"
    killed.touch()
    run(config)
    assert json.loads((tmp_path / "run" / "report" / "run.json").read_bytes()) == notes
    assert not killed.exists()


def test_damaged_notes_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    for content in ("", "[]", '{"format": 9, "stages": {}}', '{"format": 1, "stages": []}'):
        path.write_text(content)
        assert read_run_notes(path) == {"format": 1, "stages": {}}
