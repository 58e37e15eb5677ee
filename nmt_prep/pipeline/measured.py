"""Measurements of stages and rounds: notes on this machine, which ``nmt-prep plan --estimate`` scales, and of a run.

Notes on this machine are in the cache directory. Runs that ended early count up to where they stopped. Only runs on
threads of this machine are measured, over enough text to be scaled.

Notes of a run are in ``report/run.json``. They differ from run to run, so they are in no manifest, and no stage depends
on them. A copy in the private directory keeps the notes of stages that ran before the report was made, or that were
still fresh when it was made again.

All notes are optional: errors in reading or writing them are ignored.
"""

from __future__ import annotations

import json
import platform
import re
import resource
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nmt_prep.artefacts import as_json, parse_json, parse_json_as, remove_partial, write_json
from nmt_prep.config import Config, ExistingVocab
from nmt_prep.digests import cache_directory
from nmt_prep.engines import Engine
from nmt_prep.engines.engine import BASE_MEMORY, LocalEngine
from nmt_prep.errors import NmtPrepError
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.progress import Fields, Listener
from nmt_prep.runtime import available_cores
from nmt_prep.subwords import dialect_of

LEAST_TEXT = 10_000_000
"""Minimum bytes of text of a measured run; below it, fixed costs would be scaled too."""

_KEPT = 10
"""Number of notes that are kept per kind."""

RUN_FILE = "run.json"

FORMAT = 1
"""Version of the notes of a run. It increases when a key is removed or changes its meaning."""


class _Note(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)


class RoundNote(_Note):
    """Measurement of a round.

    Attributes:
        seconds: duration of the whole round; extrapolated if only some of its tasks ran.
        tasks: number of its tasks.
    """

    seconds: float = Field(ge=0)
    tasks: int = Field(ge=1)


class StageNote(_Note):
    """Measurement of a stage in one run.

    Attributes:
        machine: name of the processor.
        made: the day, as 2026-01-31.
        text: bytes of text of all corpora.
        sample: bytes of the sample that the vocabularies are trained on.
        workers: number of parallel tasks.
        rounds: the rounds that ran tasks, by name.
        rest: seconds of the stage outside of its rounds; None if the stage did not end.
        written: bytes of its output; 0 if the stage did not end.
        scratch: bytes of its files for later tasks, at most.
        memory: bytes by which the process grew; None if unknown.
    """

    machine: str
    made: str
    text: int = Field(ge=1)
    sample: int = Field(ge=0)
    workers: int = Field(ge=1)
    rounds: dict[str, RoundNote]
    rest: float | None = Field(ge=0)
    written: int = Field(ge=0)
    scratch: int = Field(ge=0)
    memory: int | None = Field(ge=0)


def kind_of(stage: str, config: Config) -> str:
    """Returns the key of a stage's notes: its name, and the options that its speed depends on."""
    vocab = config.vocab
    dialect = (
        "existing" if isinstance(vocab, ExistingVocab) else dialect_of(vocab).variant(vocab),
        dialect_of(vocab).kind,
    )
    outputs = [output.model_dump(mode="json", exclude={"name", "shards"}) for output in config.outputs]
    options: dict[str, object] = {
        "vocab": dialect,
        "encode": (dialect, config.records.layout),
        "outputs": (dialect, outputs),
        "clean": config.clean and config.clean.model_dump(mode="json", exclude={"splits"}),
        "align": config.align and config.align.model_dump(mode="json"),
    }
    if not (chosen := options.get(stage)):
        return stage
    return f"{stage}-{sha256(json.dumps(chosen).encode()).hexdigest()[:12]}"


def notes_path(kind: str) -> Path:
    """Returns the file of the notes of a kind."""
    return cache_directory() / "measured" / f"{kind}.json"


def read_notes(kind: str) -> list[StageNote]:
    """Reads the notes of a kind from machines like this one, oldest first; none if they are damaged."""
    with suppress(OSError, ValueError):
        notes = parse_json_as(list[StageNote], parse_json(notes_path(kind).read_bytes()))
        return [note for note in notes if note.machine == machine_name()]
    return []


def save_note(kind: str, note: StageNote) -> None:
    """Adds a note to the notes of its kind, and keeps the last few.

    Raises:
        OutputError: the cache directory cannot be written.
    """
    write_json(notes_path(kind), as_json([*read_notes(kind), note][-_KEPT:]))


@cache
def machine_name() -> str:
    """Returns the name of this machine's processor."""
    with suppress(OSError):
        if match := re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE):
            return match[1].strip()
    return platform.machine()


class RunNotes(Listener):
    """Measures the stages of a run by its events, and writes the notes on this machine and those of the run.

    The time of a round is the time between its last task and the last task of the round before it.
    """

    def __init__(self, config: Config, directories: Mapping[str, str], engine: Engine, version: str) -> None:
        """Takes the directories of the stages by name, the engine of the run, and the version of nmt_prep."""
        self._config = config
        self._workspace = Workspace(config.run_dir)
        self._directories = directories
        self._engine = engine
        self._version = version
        self._running = ""  # the stage, if its time can be scaled
        self._private = self._workspace.private / RUN_FILE

    def event(self, name: str, fields: Fields) -> None:
        now = time.monotonic()
        if name == "stage_started":
            self._running = str(fields["stage"]) if isinstance(self._engine, LocalEngine) else ""
            if self._running == "extract" and self._workspace.manifest("extract").exists():
                self._running = ""  # it keeps earlier output, so it does not do all of its work
            self._rounds: dict[str, tuple[float, int, int]] = {}  # seconds, tasks that ran, all tasks
            self._since, self._before, self._scratch = now, peaks(), 0
        elif name == "task_finished":
            round_name, total = str(fields["round"]), int(str(fields["total"]))
            seconds, ran, _ = self._rounds.get(round_name, (0.0, 0, 0))
            self._rounds[round_name] = seconds + now - self._since, ran + 1, total
            self._since = now
            if fields["done"] == total and self._running:
                self._scratch = max(self._scratch, self._scratch_bytes())
        elif name == "stage_finished":
            self._save(now - self._since)
            with suppress(NmtPrepError, OSError):
                self._note(fields)

    def close(self) -> None:
        """Saves the notes of a stage that did not end, and copies the notes of the run beside the report."""
        self._save(None)
        public = self._workspace.root / self._directories["report"] / RUN_FILE
        with suppress(NmtPrepError, OSError):
            if public.parent.is_dir() and self._private.exists():
                remove_partial(public.parent)  # left by a run that was killed here
                write_json(public, read_run_notes(self._private))

    def _save(self, rest: float | None) -> None:
        """Saves the measurements of the running stage, if they can be scaled."""
        stage, self._running = self._running, ""
        with suppress(NmtPrepError, OSError, ValidationError):
            text = text_bytes(self._workspace) if stage else 0
            if text < LEAST_TEXT:
                return
            rounds = {
                name: RoundNote(seconds=seconds * total / ran, tasks=total)
                for name, (seconds, ran, total) in self._rounds.items()
            }
            note = StageNote(
                machine=machine_name(),
                made=time.strftime("%Y-%m-%d"),
                text=text,
                sample=self._output_bytes("sample"),
                workers=self._engine.workers,
                rounds=rounds,
                rest=rest,
                written=0 if rest is None else self._output_bytes(stage),
                scratch=self._scratch,
                memory=memory_since(self._before),
            )
            save_note(kind_of(stage, self._config), note)

    def _scratch_bytes(self) -> int:
        with suppress(OSError):
            return sum(path.lstat().st_size for path in self._workspace.private.glob("drafts/*/*/scratch/**/*"))
        return 0

    def _output_bytes(self, stage: str) -> int:
        directory = self._directories.get(stage)  # a run with existing vocabularies has no sample
        return 0 if directory is None else output_bytes(self._workspace, stage, directory)

    def _note(self, fields: Fields) -> None:
        notes = read_run_notes(self._private)
        own, child = peaks()
        notes["stages"][str(fields["stage"])] = {
            "seconds": fields["seconds"],
            "processor_seconds": fields["processor_seconds"],
            "rounds": fields["rounds"],
            "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "tasks": sum(ran for _, ran, _ in self._rounds.values()),
            "workers": self._engine.workers,
            "peak_memory": own,
            "peak_memory_of_children": child,
            "host": platform.node(),
            "processor": machine_name(),
            "cores": available_cores(),
            "system": platform.platform(),
            "python": platform.python_version(),
            "nmt_prep": self._version,
        }
        write_json(self._private, notes, compact=True)


def output_bytes(workspace: Workspace, stage: str, directory: str) -> int:
    """Returns the bytes of a stage's output, which is in ``directory``; 0 if there is none."""
    manifest = read_manifest(workspace.manifest(stage))
    if manifest is None:
        return 0
    paths = (workspace.file(directory, name) for name in manifest.files)
    return sum(path.lstat().st_size for path in paths)  # targets of links are not output


def text_bytes(workspace: Workspace) -> int:
    """Returns the bytes of the files that corpora are read from, extracted or in place; 0 if unknown."""
    manifest = read_manifest(workspace.manifest("extract"))
    files = {} if manifest is None else manifest.details.get("files", {})
    sizes = {(file["file"], file["sha256"]): int(file["size"]) for entries in files.values() for file in entries}
    return sum(sizes.values())


def peaks() -> tuple[int, int]:
    """Returns the peak memory in bytes of this process, and of its largest child; 0 if unknown."""
    try:
        match = re.search(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text("ascii"), re.MULTILINE)
    except OSError:
        return 0, 0
    return int(match[1]) * 1024 if match else 0, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def memory_since(before: tuple[int, int]) -> int | None:
    """Returns the bytes held in addition to the program itself; None if the peaks were reached earlier."""
    process, child = (now if now > then else 0 for now, then in zip(peaks(), before, strict=True))
    return max(process - BASE_MEMORY, 0) + child or None


def read_run_notes(path: Path) -> dict[str, Any]:
    """Reads the notes; returns empty notes if there are none, or if they are damaged."""
    with suppress(OSError, ValueError):
        notes = parse_json(path.read_bytes())
        if isinstance(notes, dict) and notes.get("format") == FORMAT and isinstance(notes.get("stages"), dict):
            return notes
    return {"format": FORMAT, "stages": {}}
