from __future__ import annotations

import json
import os
import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.config import Config
from nmt_prep.engines import Engine
from nmt_prep.engines.engine import LocalEngine
from nmt_prep.engines.executor import ExecutorEngine
from nmt_prep.pipeline import measured
from nmt_prep.pipeline.manifest import Counts, Manifest, Workspace
from nmt_prep.pipeline.measured import (
    RoundNote,
    RunNotes,
    StageNote,
    kind_of,
    machine_name,
    memory_since,
    notes_path,
    read_notes,
    read_run_notes,
    save_note,
)
from nmt_prep.progress import Fields, Listener, Progress
from nmt_prep.runner import run
from nmt_prep.stages import STAGES
from tests.corpus import corpus_config, write_corpus

TEXT, SAMPLE = 40_000_000, 2_000_000
DIRECTORIES = {stage.name: stage.directory for stage in STAGES}


def note(**changes: Any) -> StageNote:
    facts = {"machine": machine_name(), "made": "2026-01-31", "text": 10**9, "sample": 0, "written": 5 * 10**8}
    more = {"workers": 4, "rest": 1.0, "scratch": 0, "memory": None, "rounds": {"a": {"seconds": 2.0, "tasks": 8}}}
    return StageNote.model_validate({**facts, **more, **changes})


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Returns the config of a run that has extracted and sampled text of known sizes."""
    config = corpus_config(tmp_path / "run")
    workspace = Workspace(config.run_dir)
    for stage, size in (("extract", TEXT), ("sample", SAMPLE), ("compile", 30_000_000)):
        directory = workspace.root / DIRECTORIES[stage]
        directory.mkdir(parents=True)
        (directory / "file").touch()
        os.truncate(directory / "file", size)
        file = {"file": "file", "sha256": "digest", "size": size}
        details = {"files": {"train/x/source": [file], "train/y/source": [file]}} if stage == "extract" else {}
        Manifest(stage, 1, "f", {}, {}, {"file": "digest"}, Counts(), details).write(workspace.manifest(stage))
    return config


@pytest.fixture(autouse=True)
def seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a second pass between two events."""
    moments = iter(range(1000))
    monkeypatch.setattr(measured.time, "monotonic", lambda: float(next(moments)))


def listen(config: Config, *events: tuple[str, dict[str, object]], engine: Engine | None = None) -> None:
    progress = Progress()
    with progress.heard_by(RunNotes(config, DIRECTORIES, engine or LocalEngine(4), "0.1.0")):
        for name, fields in events:
            progress.event(name, **fields)


def tasks(round_name: str, first: int, last: int, total: int) -> list[tuple[str, dict[str, object]]]:
    return [("task_finished", {"round": round_name, "done": done, "total": total}) for done in range(first, last + 1)]


TIMES = {"seconds": 6.0, "processor_seconds": 5.0, "rounds": {}}
START, END = ("stage_started", {"stage": "sample"}), ("stage_finished", {"stage": "sample", **TIMES})


def test_rounds_are_measured(config: Config) -> None:
    scratch = config.run_dir / ".nmt_prep" / "drafts" / "sample" / "f" / "scratch"
    scratch.mkdir(parents=True)
    (scratch / "a").write_bytes(b"x" * 70)
    listen(config, START, *tasks("sample", 1, 3, 3), *tasks("more", 1, 2, 2), END)
    [found] = read_notes("sample")
    assert found.rounds == {"sample": RoundNote(seconds=3.0, tasks=3), "more": RoundNote(seconds=2.0, tasks=2)}
    assert (found.text, found.sample, found.written, found.scratch) == (TEXT, SAMPLE, SAMPLE, 70)
    assert (found.rest, found.workers) == (1.0, 4)


def test_an_interrupted_stage_counts_as_far_as_it_came(config: Config) -> None:
    listen(config, START, *tasks("sample", 1, 3, 3), *tasks("more", 1, 2, 8))
    [found] = read_notes("sample")
    assert found.rounds == {"sample": RoundNote(seconds=3.0, tasks=3), "more": RoundNote(seconds=8.0, tasks=8)}
    assert (found.rest, found.written) == (None, 0)
    resumed = ("tasks_resumed", {"round": "more", "done": 2, "total": 8})
    listen(config, START, resumed, *tasks("more", 3, 8, 8), END)
    [_, found] = read_notes("sample")
    assert found.rounds == {"more": RoundNote(seconds=(6 + 1) * 8 / 6, tasks=8)}
    assert found.rest == 1.0


@pytest.mark.parametrize(
    "events",
    [
        [("stage_fresh", {"stage": "sample", "seconds": 0.1})],
        # Files extracted earlier are kept, so the stage did only part of its work.
        [("stage_started", {"stage": "extract"}), ("stage_finished", {"stage": "extract", **TIMES})],
    ],
)
def test_work_that_cannot_be_scaled_is_not_recorded(
    config: Config, events: list[tuple[str, dict[str, object]]]
) -> None:
    listen(config, *events)
    assert not notes_path("sample").parent.exists()


def test_little_text_is_not_recorded(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "LEAST_TEXT", TEXT + 1)
    listen(config, START, END)
    assert not notes_path("sample").parent.exists()


def test_only_threads_of_this_machine_are_recorded(config: Config) -> None:
    listen(config, START, END, engine=ExecutorEngine(ThreadPoolExecutor(1), 1))
    assert not notes_path("sample").parent.exists()


def test_kinds(config: Config) -> None:
    def other(**changes: Any) -> Config:
        return corpus_config(config.run_dir, **changes)

    assert [kind_of(stage, config) for stage in ("extract", "compile", "sample", "clean")] == [
        *("extract", "compile", "sample", "clean")
    ]
    for stage, *changes in (
        ("vocab", {}, {"vocab": {"kind": "sentencepiece", "model_type": "bpe"}}),
        ("encode", {}, {"vocab": {"kind": "sentencepiece"}}, {"records": {"layout": "chunk"}}),
        ("outputs", {}, {"outputs": [{"kind": "text"}]}, {"outputs": [{"kind": "fairseq"}]}),
        ("clean", {}, {"clean": {}}, {"clean": {"preset": "strict"}}),
        ("align", {}, {"align": {}}, {"align": {"pairs": 1000}}),
    ):
        assert len({kind_of(stage, other(**change)) for change in changes}) == len(changes)
    same = {"kind": "text", "name": "other", "shards": {"train": 7}}
    assert kind_of("outputs", other(outputs=[same])) == kind_of("outputs", other(outputs=[{"kind": "text"}]))


def test_an_unwritable_cache_is_ignored(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NMT_PREP_CACHE", str(tmp_path / "file"))
    listen(config, START, END)
    assert read_notes("sample") == []


def test_the_latest_records_are_kept() -> None:
    for seconds in range(1, 13):
        save_note("compile", note(rest=float(seconds)))
    assert [each.rest for each in read_notes("compile")] == [float(seconds) for seconds in range(3, 13)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe{",
        b"{}",
        b"[1, 2]",
        json.dumps([{**note().model_dump(), "rest": -1.0}]).encode(),
        json.dumps([{**note().model_dump(), "rest": float("nan")}]).encode(),
        json.dumps([{**note().model_dump(), "workers": 0}]).encode(),
        json.dumps([{**note().model_dump(), "more": 1}]).encode(),
    ],
)
def test_damaged_and_foreign_records_are_ignored(content: bytes) -> None:
    path = notes_path("compile")
    path.parent.mkdir()
    path.write_bytes(content)
    assert read_notes("compile") == []
    save_note("compile", note())
    assert read_notes("compile") == [note()]


def test_records_of_other_machines_are_ignored() -> None:
    save_note("compile", note(machine="another processor"))
    assert read_notes("compile") == []


def test_a_run_records_all_its_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "LEAST_TEXT", 1)
    config = corpus_config(tmp_path / "run", clean={"preset": "light"}, align={"model": None})
    write_corpus(tmp_path, 200)

    class Interrupting(Listener):
        def event(self, name: str, fields: Fields) -> None:
            if name == "stage_started" and fields["stage"] == "vocab":
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(config, workers=2, progress=Progress(Interrupting()))
    run(config, workers=2)
    for stage in ("extract", "compile", "clean", "align", "sample", "vocab", "encode", "report"):
        [found] = read_notes(kind_of(stage, config))
        assert found.rest is not None


def test_memory_is_recorded_only_if_it_exceeds_all_earlier_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    before = (500_000_000, 90)
    for now, grown in (
        ((700_000_000, 90), 500_000_000),
        ((500_000_000, 90), None),
        ((500_000_000, 300), 300),
        ((700_000_000, 300), 500_000_300),
        ((0, 0), None),
    ):
        monkeypatch.setattr(measured, "peaks", lambda now=now: now)
        assert memory_since(before) == grown


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
