"""Notes of what stages took on this machine, which ``nmt-prep plan --estimate`` scales.

Runs write them to the cache directory, never to ``output_dir``. A note is taken of a stage that did all of its work in
one run, on threads of this machine, over enough text to be scaled. Nothing depends on notes: those that cannot be
written, or read, are left out.
"""

from __future__ import annotations

import platform
import re
import resource
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from nmt_prep.artefacts import write_json
from nmt_prep.config import Config
from nmt_prep.digests import cache_directory
from nmt_prep.engines import Engine
from nmt_prep.engines.engine import BASE_MEMORY
from nmt_prep.engines.local import LocalEngine
from nmt_prep.errors import NmtPrepError
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.progress import Fields, Listener, Meter
from nmt_prep.subwords import dialect_of

MEASURED = ("extract", "compile", "sample", "vocab", "encode")
"""The stages that notes are taken of. Downloads depend on the network, and the others take next to no time."""

LEAST_WORK = 10_000_000
"""Bytes of work below which no note is taken: what is there however little text there is would be scaled too."""

_KEPT = 5
"""Notes of a kind, the last ones."""

_THIN, _COUNTING = 16, 20


class StageNote(BaseModel):
    """What a stage took.

    Attributes:
        machine: the processor that it ran on, in words.
        made: the day, as 2026-01-31.
        work: bytes that it worked on, by :func:`work_of`.
        written: bytes that it published.
        seconds: from its beginning to its end.
        workers: tasks that ran at once.
        memory: bytes that the process grew by; None where that cannot be told.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    machine: str
    made: str
    work: int = Field(ge=1)
    written: int = Field(ge=0)
    seconds: float = Field(gt=0)
    workers: int = Field(ge=1)
    memory: int | None = Field(ge=0)


_NOTES = TypeAdapter(list[StageNote])


def kind_of(stage: str, config: Config) -> str:
    """Returns the name under which notes of a stage are kept: the stage, and what its speed depends on."""
    dialect = dialect_of(config.vocab).variant(config.vocab)
    return {"vocab": f"vocab-{dialect}", "encode": f"encode-{dialect}-{config.records.layout}"}.get(stage, stage)


def work_of(stage: str, text: float, sample: float) -> float:
    """Returns the bytes that the time of a stage is in proportion to, by those of all corpora and of the sample."""
    if stage == "vocab":
        return sample
    if stage == "sample":  # for a thin sample, the lines between those taken are only counted
        return (text if text < _THIN * sample else sample) + text / _COUNTING
    return text


def notes_path(kind: str) -> Path:
    """Returns the file of the notes of a kind."""
    return cache_directory() / "measured" / f"{kind}.json"


def read_notes(kind: str) -> list[StageNote]:
    """Returns the notes of a kind from machines like this one, oldest first; none where they are damaged."""
    with suppress(OSError, ValidationError):
        return [note for note in _NOTES.validate_json(notes_path(kind).read_bytes()) if note.machine == machine_name()]
    return []


def save_note(kind: str, note: StageNote) -> None:
    """Adds a note to those of its kind, of which the last few are kept.

    Raises:
        OutputError: the cache directory cannot be written.
    """
    kept = [*read_notes(kind), note][-_KEPT:]
    write_json(notes_path(kind), _NOTES.dump_python(kept, mode="json"))


def machine_name() -> str:
    """Returns the name of this machine's processor."""
    with suppress(OSError):
        if found := re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE):
            return found[1].strip()
    return platform.machine()


class StageNotes(Listener):
    """Listens to a run, and takes notes."""

    def __init__(self, config: Config, directories: Mapping[str, str], engine: Engine) -> None:
        """Takes no note yet.

        Args:
            config: of the run.
            directories: of the stages, below the run's directory, by their names.
            engine: runs the tasks; notes are only taken where its workers are threads of this process.
        """
        self._config = config
        self._workspace = Workspace(config.run_dir)
        self._directories = directories
        self._engine = engine
        self._whole = False
        self._tasks: Counter[str] = Counter()
        self._before = (0, 0)

    def event(self, name: str, fields: Fields) -> None:
        if name == "stage_started":
            self._begin(str(fields["stage"]))
        elif name == "tasks_resumed":
            self._whole = False
        elif name == "task_finished":
            self._tasks[str(fields["round"])] += 1
        elif name == "stage_finished" and self._whole:
            with suppress(NmtPrepError, OSError, ValidationError):
                self._end(str(fields["stage"]), float(str(fields["seconds"])))

    def advanced(self, meter: Meter) -> None:
        """Only events count."""

    def close(self) -> None:
        """There is nothing to close."""

    def _begin(self, stage: str) -> None:
        # Extract keeps what it extracted before, so only the first time it does everything.
        again = stage == "extract" and self._workspace.manifest(stage).exists()
        self._whole = stage in MEASURED and not again and isinstance(self._engine, LocalEngine)
        self._tasks.clear()
        self._before = peaks()

    def _end(self, stage: str, seconds: float) -> None:
        work = int(work_of(stage, self._published("extract"), self._published("sample")))
        if work < LEAST_WORK:
            return
        parallel = 1 if stage == "vocab" else max(self._tasks.values(), default=1)
        note = StageNote(
            machine=machine_name(),
            made=time.strftime("%Y-%m-%d"),
            work=work,
            written=self._published(stage),
            seconds=seconds,
            workers=min(self._engine.workers, parallel),
            memory=memory_since(self._before),
        )
        save_note(kind_of(stage, self._config), note)

    def _published(self, stage: str) -> int:
        """Bytes that a stage has published."""
        manifest = read_manifest(self._workspace.manifest(stage))
        directory = self._workspace.root / self._directories[stage]
        return 0 if manifest is None else sum((directory / name).stat().st_size for name in manifest.files)


def peaks() -> tuple[int, int]:
    """Returns the most bytes that this process, and a child of it, held so far; 0 where that cannot be told."""
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text("ascii"), re.MULTILINE)
    except OSError:
        return 0, 0
    return int(found[1]) * 1024 if found else 0, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def memory_since(before: tuple[int, int]) -> int | None:
    """Returns the bytes held beside the program itself; None where the peaks are those of an earlier time."""
    own, child = (now if now > then else 0 for now, then in zip(peaks(), before, strict=True))
    return max(own - BASE_MEMORY, 0) + child or None
