from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nmt_prep.pipeline import measured
from nmt_prep.pipeline.forecast import seconds_of, shares_of
from nmt_prep.pipeline.manifest import Workspace
from nmt_prep.pipeline.measured import StageNote, kind_of, machine_name, save_note
from nmt_prep.progress import Fields, Listener, Progress
from nmt_prep.runner import run
from nmt_prep.stages import STAGES
from tests.corpus import corpus_config, write_corpus

BY_NAME = {stage.name: stage for stage in STAGES}


def note(kind: str, rounds: dict[str, tuple[float, int]], **changes: Any) -> None:
    """Notes a run over 100 MB; ``rounds`` has the seconds and the number of tasks of each round."""
    facts = {"machine": machine_name(), "made": "2026-01-31", "text": 10**8, "sample": 0, "workers": 2, "rest": 0.0}
    measured = {name: {"seconds": seconds, "tasks": tasks} for name, (seconds, tasks) in rounds.items()}
    more = {"rounds": measured, "written": 0, "scratch": 0, "memory": None}
    save_note(kind, StageNote.model_validate({**facts, **more, **changes}))


def test_shares_of_rounds_are_those_of_the_last_run(tmp_path: Path) -> None:
    config, stage = corpus_config(tmp_path / "run"), BY_NAME["encode"]
    rounds = [round_ for round_ in stage.rounds_for(config) if not round_.by_all]
    assert [(round_.name, round_.unit) for round_ in rounds] == [("encode", "pairs"), ("shuffle", "pairs")]
    assert shares_of(stage, config, rounds) == [1.0, 1.0]
    note(kind_of("encode", config), {})
    assert shares_of(stage, config, rounds) == [1.0, 1.0]
    note(kind_of("encode", config), {"encode": (1.5, 2), "other": (7.0, 2)})
    assert shares_of(stage, config, rounds) == [1.5, 0.0]
    (count, train) = BY_NAME["vocab"].rounds_for(config)
    assert shares_of(BY_NAME["vocab"], config, [count, train]) == [1.0, 0.02]


class Starts(Listener):
    """Keeps the facts known at the start of each stage."""

    def __init__(self) -> None:
        self.later: dict[str, Any] = {}

    def event(self, name: str, fields: Fields) -> None:
        if name == "stage_started":
            self.later[str(fields["stage"])] = fields["later"]


def test_the_time_of_later_stages_is_known_from_earlier_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "LEAST_TEXT", 1)
    write_corpus(tmp_path, 200)
    first, second = Starts(), Starts()
    run(corpus_config(tmp_path / "first"), workers=1, progress=Progress(first))
    run(corpus_config(tmp_path / "second"), workers=1, progress=Progress(second))
    assert first.later == {
        **dict.fromkeys(("download", "extract", "compile", "sample", "vocab"), None),
        "encode": None,
        "report": 0.0,
    }
    later = [second.later[name] for name in ("compile", "sample", "vocab", "encode", "report")]
    assert later == sorted(later, reverse=True)
    assert later[0] > 0
    assert later[-1] == 0.0


def test_the_time_of_stages_is_scaled_by_text_and_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, workspace = corpus_config(tmp_path / "run"), Workspace(tmp_path / "run")
    monkeypatch.setattr("nmt_prep.pipeline.forecast.text_bytes", lambda _: 3 * 10**8)
    note("compile", {"compile": (4.0, 2)})
    note("report", {}, rest=1.0)
    stages = [BY_NAME["compile"], BY_NAME["report"]]
    found = [seconds_of(stages, config, workspace, workers) for workers in (1, 2, 8)]
    assert found == [
        24.5,
        pytest.approx(12.8),
        pytest.approx(1.1 + 23.4 * 2**26 / 3e8),
    ]  # the text has less than 8 parts of 64 MiB
    assert seconds_of([*stages, BY_NAME["publish"]], config, workspace, 2) is None
    assert seconds_of([*stages, BY_NAME["clean"]], config, workspace, 2) is None
