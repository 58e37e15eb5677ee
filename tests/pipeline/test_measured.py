from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.config import Config
from nmt_prep.engines import Engine
from nmt_prep.engines.executor import ExecutorEngine
from nmt_prep.engines.local import LocalEngine
from nmt_prep.pipeline import measured
from nmt_prep.pipeline.drivers import Share
from nmt_prep.pipeline.manifest import Counts, Manifest, Workspace
from nmt_prep.pipeline.measured import (
    StageNote,
    StageNotes,
    kind_of,
    machine_name,
    memory_since,
    notes_path,
    read_notes,
    save_note,
    work_of,
)
from nmt_prep.progress import Fields, Listener, Progress
from nmt_prep.runner import run, run_share
from nmt_prep.stages import STAGES
from tests.corpus import corpus_config, write_corpus

TEXT, SAMPLE = 40_000_000, 2_000_000
DIRECTORIES = {stage.name: stage.directory for stage in STAGES}


def note(**changes: Any) -> StageNote:
    facts = {"machine": machine_name(), "made": "2026-01-31", "work": 10**9, "written": 5 * 10**8, "seconds": 2.5}
    return StageNote.model_validate({**facts, "workers": 4, "memory": None, **changes})


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Returns the measurements of a run that has extracted and sampled text of known sizes."""
    config = corpus_config(tmp_path / "run")
    workspace = Workspace(config.run_dir)
    for stage, size in (("extract", TEXT), ("sample", SAMPLE), ("encode", 30_000_000)):
        directory = workspace.root / DIRECTORIES[stage]
        directory.mkdir(parents=True)
        (directory / "file").touch()
        os.truncate(directory / "file", size)
        file = {"file": "file", "sha256": "digest", "size": size}
        details = {"files": {"train/x/source": [file], "train/y/source": [file]}} if stage == "extract" else {}
        Manifest(stage, 1, "f", {}, {}, {"file": "digest"}, Counts(), details).write(workspace.manifest(stage))
    return config


def listen(config: Config, *events: tuple[str, dict[str, object]], engine: Engine | None = None) -> None:
    progress = Progress()
    with progress.heard_by(StageNotes(config, DIRECTORIES, engine or LocalEngine(4))):
        for name, fields in events:
            progress.event(name, **fields)


def encoded(*others: tuple[str, dict[str, object]]) -> list[tuple[str, dict[str, object]]]:
    tasks: list[tuple[str, dict[str, object]]] = [("task_finished", {"round": "encode"})] * 3
    return [
        ("stage_started", {"stage": "encode"}),
        *others,
        *tasks,
        ("stage_finished", {"stage": "encode", "seconds": 2.5}),
    ]


def test_a_stage_that_did_all_of_its_work_is_recorded(config: Config) -> None:
    listen(config, *encoded())
    [found] = read_notes("encode-t2t-example")
    assert (found.work, found.written, found.seconds, found.workers) == (TEXT, 30_000_000, 2.5, 3)
    assert found.machine == machine_name()
    assert not list(config.run_dir.rglob("*measured*"))


def test_files_in_their_places_are_work_but_no_output(config: Config) -> None:
    workspace = Workspace(config.run_dir)
    file = {"file": None, "sha256": "digest", "size": TEXT}
    details = {"files": {"train/x/source": [file]}}
    Manifest("extract", 1, "f", {}, {}, {}, Counts(), details).write(workspace.manifest("extract"))
    directory = workspace.root / DIRECTORIES["compile"]
    directory.mkdir()
    (directory / "link").symlink_to(workspace.root / DIRECTORIES["extract"] / "file")
    Manifest("compile", 1, "f", {}, {}, {"link": "digest"}, Counts(), {}).write(workspace.manifest("compile"))
    for stage in ("extract", "compile"):
        listen(config, ("stage_started", {"stage": stage}), ("stage_finished", {"stage": stage, "seconds": 0.5}))
    [found] = read_notes("compile-in-place")
    assert (found.work, found.seconds) == (TEXT, 0.5)
    assert found.written < 1000
    assert read_notes("extract") == []


@pytest.mark.parametrize(
    "events",
    [
        encoded(("tasks_resumed", {"round": "encode", "done": 1})),
        encoded()[:-1],
        [("stage_fresh", {"stage": "encode", "seconds": 0.1})],
        [("stage_started", {"stage": "report"}), ("stage_finished", {"stage": "report", "seconds": 0.1})],
        # Files extracted earlier are kept, so the stage did only part of its work.
        [("stage_started", {"stage": "extract"}), ("stage_finished", {"stage": "extract", "seconds": 0.1})],
        # The sample is too small to be scaled.
        [("stage_started", {"stage": "vocab"}), ("stage_finished", {"stage": "vocab", "seconds": 0.1})],
    ],
)
def test_work_that_cannot_be_scaled_is_not_recorded(
    config: Config, events: list[tuple[str, dict[str, object]]]
) -> None:
    listen(config, *events)
    assert not notes_path("encode").parent.exists()


def test_only_threads_of_this_machine_are_recorded(config: Config) -> None:
    listen(config, *encoded(), engine=ExecutorEngine(ThreadPoolExecutor(1), 1))
    assert not notes_path("encode").parent.exists()


def encoded_after(done: int) -> list[tuple[str, dict[str, object]]]:
    return encoded(("tasks_resumed", {"round": "encode", "done": done}))


def test_the_times_of_interrupted_runs_are_added(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([100.0, 101.0, 102.0, 104.0, 107.0, 200.0, 200.0, 201.0, 203.0, 205.0, *([300.0] * 10)])
    monkeypatch.setattr(measured.time, "monotonic", lambda: next(moments))
    first, second, third = encoded()[:-1], encoded_after(3)[:-1], encoded_after(6)
    listen(config, *first)
    listen(config, *second)
    listen(config, *third)
    [found] = read_notes("encode-t2t-example")
    assert (found.seconds, found.workers) == (7.0 + 5.0 + 2.5, 4)
    assert found.rounds == {"encode": 4.0 + 3.0}
    listen(config, *third)  # nothing is left of the runs before
    assert len(read_notes("encode-t2t-example")) == 1


@pytest.mark.parametrize(
    "between",
    [
        [encoded_after(2)[:-1]],  # a task of 3 is to be done again
        [encoded_after(4)[:-1]],  # a member of a job array did one
        [encoded_after(3), encoded_after(6)[:-1]],
        [[("stage_started", {"stage": "sample"}), ("task_finished", {"round": "sample"})]],
    ],
)
def test_times_of_which_a_part_is_unknown_are_not_recorded(
    config: Config, between: list[list[tuple[str, dict[str, object]]]]
) -> None:
    for events in (encoded()[:-1], *between):
        listen(config, *events)
    before = read_notes("encode-t2t-example")
    listen(config, *encoded_after(6))
    assert read_notes("encode-t2t-example") == before


def test_an_interrupted_run_records_once_it_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "LEAST_WORK", 1)
    config = corpus_config(tmp_path / "run", records={"shards": {"train": 4}})
    write_corpus(tmp_path, 200)
    run(config, base_dir=tmp_path, until="vocab")

    class Interrupting(Listener):
        def event(self, name: str, fields: Fields) -> None:
            if name == "task_finished" and fields["done"] == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(config, base_dir=tmp_path, workers=1, progress=Progress(Interrupting()))
    assert read_notes("encode-t2t-example") == []
    run(config, base_dir=tmp_path, workers=1)
    [found] = read_notes("encode-t2t-example")
    assert found.seconds > 0


def test_an_unwritable_cache_is_ignored(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NMT_PREP_CACHE", str(tmp_path / "file"))
    listen(config, *encoded())
    assert read_notes("encode-t2t-example") == []


def test_the_latest_records_are_kept() -> None:
    for seconds in range(1, 9):
        save_note("compile", note(seconds=float(seconds)))
    assert [each.seconds for each in read_notes("compile")] == [4.0, 5.0, 6.0, 7.0, 8.0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe{",
        b"{}",
        b"[1, 2]",
        b'[{"seconds": 1.0}]',
        json.dumps([{**note().model_dump(), "seconds": -1.0}]).encode(),
        json.dumps([{**note().model_dump(), "seconds": float("nan")}]).encode(),
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


def test_kinds(config: Config) -> None:
    other = corpus_config(
        config.run_dir, vocab={"kind": "sentencepiece", "model_type": "bpe"}, records={"layout": "chunk"}
    )
    assert [kind_of(stage, config) for stage in ("extract", "compile", "vocab")] == [
        "extract",
        "compile",
        "vocab-t2t",
    ]
    assert [kind_of(stage, other) for stage in ("vocab", "encode")] == [
        "vocab-sentencepiece-bpe",
        "encode-sentencepiece-bpe-chunk",
    ]
    cleaned = [corpus_config(config.run_dir, clean=clean) for clean in ({}, {"rules": {"translation": False}})]
    assert [kind_of("clean", each) for each in cleaned] == ["clean-standard-translation", "clean-standard"]


def test_work() -> None:
    assert work_of("encode", 1000.0, 10.0) == 1000.0
    assert work_of("vocab", 1000.0, 10.0) == 10.0
    assert work_of("sample", 1000.0, 10.0) == 10.0 + 50.0
    assert work_of("sample", 1000.0, 500.0) == 1000.0 + 50.0


def test_a_run_records_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "LEAST_WORK", 1)
    config = corpus_config(tmp_path / "run")
    write_corpus(tmp_path, 200)
    for _ in range(2):
        run(config, base_dir=tmp_path, workers=2)
    found = {path.stem: read_notes(path.stem) for path in notes_path("x").parent.iterdir()}
    assert {kind: len(notes) for kind, notes in found.items()} == dict.fromkeys(
        ("extract", "compile", "sample", "vocab-t2t", "encode-t2t-example"), 1
    )
    assert found["compile"][0].work == found["encode-t2t-example"][0].work


def test_a_stage_begun_by_a_job_array_is_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "LEAST_WORK", 1)
    config = corpus_config(tmp_path / "run")
    write_corpus(tmp_path, 200)
    run(config, base_dir=tmp_path, until="vocab")
    run_share(config, Share("encode", 0, 2), base_dir=tmp_path)
    run(config, base_dir=tmp_path)
    assert read_notes("vocab-t2t") != []
    assert read_notes("encode-t2t-example") == []


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
