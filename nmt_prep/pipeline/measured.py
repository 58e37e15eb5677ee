"""Measurements of stages on this machine, which ``nmt-prep plan --estimate`` scales.

Runs write them to the cache directory, never to ``output_dir``. A stage is measured if it did all of its work on
threads of this machine, over enough text to be scaled. A run that is interrupted leaves its time in the private
directory, and the run that resumes the stage adds it to its own. Measurements are optional: errors in reading or
writing them are ignored.
"""

from __future__ import annotations

import json
import platform
import re
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from math import log
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from nmt_prep.artefacts import write_json
from nmt_prep.cleaning.corpus_rules import COMPUTED_SCORES
from nmt_prep.cleaning.presets import effective_rules
from nmt_prep.config import Config, ExistingVocab
from nmt_prep.digests import cache_directory
from nmt_prep.engines import Engine
from nmt_prep.engines.engine import BASE_MEMORY
from nmt_prep.engines.local import LocalEngine
from nmt_prep.errors import NmtPrepError
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.progress import Fields, Listener
from nmt_prep.subwords import dialect_of

MEASURED = ("extract", "compile", "clean", "align", "sample", "vocab", "encode", "outputs")
"""The stages that are measured. Downloads depend on the network, and the others take almost no time."""

LEAST_WORK = 10_000_000
"""Minimum bytes of work for a measurement; below it, fixed costs would be scaled too."""

_KEPT = 5
"""Number of notes that are kept per kind."""

_THIN, _COUNTING = 16, 20


class StageNote(BaseModel):
    """Measurement of a stage.

    Attributes:
        machine: name of the processor.
        made: the day, as 2026-01-31.
        work: bytes of work, see :func:`work_of`.
        written: bytes of its output.
        seconds: duration.
        workers: number of parallel tasks.
        memory: bytes by which the process grew; None if unknown.
        rounds: seconds of each round by its name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    machine: str
    made: str
    work: int = Field(ge=1)
    written: int = Field(ge=0)
    seconds: float = Field(gt=0)
    workers: int = Field(ge=1)
    memory: int | None = Field(ge=0)
    rounds: dict[str, float] = {}


class _Interrupted(BaseModel):
    """Work on a stage that has not ended, in ``.nmt_prep/interrupted.json``.

    Attributes:
        stage: name of the stage.
        seconds: duration so far.
        tasks: number of finished tasks by round.
        rounds: seconds of each round so far.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    stage: str
    seconds: float = Field(ge=0)
    tasks: dict[str, int]
    rounds: dict[str, float]


@cache
def _notes() -> TypeAdapter[list[StageNote]]:
    return TypeAdapter(list[StageNote])


def kind_of(stage: str, config: Config, *, in_place: bool = False) -> str:
    """Returns the key of a stage's notes: its name, and the options that its speed depends on.

    ``in_place`` is true if compile need not write any text, because large plain files are read in their places.
    """
    vocab = config.vocab
    if isinstance(vocab, ExistingVocab):
        training, dialect = "existing", dialect_of(vocab).kind
    else:
        training = dialect = dialect_of(vocab).variant(vocab)
    kinds = {"vocab": f"vocab-{training}", "encode": f"encode-{dialect}-{config.records.layout}"}
    if config.outputs:
        options = [output.model_dump(mode="json", exclude={"name", "shards"}) for output in config.outputs]
        kinds["outputs"] = f"outputs-{dialect}-{sha256(json.dumps(options).encode()).hexdigest()[:12]}"
    if in_place:
        kinds["compile"] = "compile-in-place"
    if config.clean is not None:
        computed = COMPUTED_SCORES.intersection(effective_rules(config.clean.preset, config.clean.rules))
        kinds["clean"] = "-".join(["clean", config.clean.preset, *sorted(computed)])
    return kinds.get(stage, stage)


def work_of(stage: str, text: float, sample: float) -> float:
    """Returns the bytes to which a stage's duration is proportional, from those of all corpora and of the sample."""
    if stage == "vocab":
        return sample
    if stage == "sample":  # for a small sample, the lines in between are only counted
        return (text if text < _THIN * sample else sample) + text / _COUNTING
    return text


def notes_path(kind: str) -> Path:
    """Returns the file of the notes of a kind."""
    return cache_directory() / "measured" / f"{kind}.json"


def read_notes(kind: str) -> list[StageNote]:
    """Reads the notes of a kind from machines like this one, oldest first; none if they are damaged."""
    with suppress(OSError, ValidationError):
        return [
            note for note in _notes().validate_json(notes_path(kind).read_bytes()) if note.machine == machine_name()
        ]
    return []


def nearest_note(kind: str, work: float) -> StageNote | None:
    """Returns the note of a kind with the most similar amount of work, the latest of equals; None without notes."""
    return min(reversed(read_notes(kind)), key=lambda note: abs(log(note.work / max(work, 1.0))), default=None)


def save_note(kind: str, note: StageNote) -> None:
    """Adds a note to those of its kind, and keeps the last few.

    Raises:
        OutputError: the cache directory cannot be written.
    """
    kept = [*read_notes(kind), note][-_KEPT:]
    write_json(notes_path(kind), _notes().dump_python(kept, mode="json"))


def machine_name() -> str:
    """Returns the name of this machine's processor."""
    with suppress(OSError):
        if found := re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE):
            return found[1].strip()
    return platform.machine()


class StageNotes(Listener):
    """Measures the stages of a run by its events, and writes notes."""

    def __init__(self, config: Config, directories: Mapping[str, str], engine: Engine) -> None:
        """Takes the directories of the stages by name; measures only stages that run on threads of this process."""
        self._config = config
        self._workspace = Workspace(config.run_dir)
        self._directories = directories
        self._engine = engine
        self._whole = False
        self._tasks: Counter[str] = Counter()
        self._before = (0, 0)
        self._interrupted = self._workspace.private / "interrupted.json"
        self._running: str | None = None
        self._earlier: _Interrupted | None = None
        self._spent = 0.0
        self._started_at = 0.0
        self._ended_at = 0.0
        self._rounds: defaultdict[str, float] = defaultdict(float)

    def event(self, name: str, fields: Fields) -> None:
        if name == "stage_started":
            self._begin(str(fields["stage"]))
        elif name == "tasks_resumed":
            self._resume(str(fields["round"]), int(str(fields["done"])))
        elif name == "task_finished":
            self._tasks[str(fields["round"])] += 1
            before, self._ended_at = self._ended_at, time.monotonic()
            self._rounds[str(fields["round"])] += self._ended_at - before
        elif name == "stage_finished":
            self._running = None
            with suppress(NmtPrepError, OSError, ValidationError):
                self._interrupted.unlink(missing_ok=True)
                if self._whole:
                    self._end(str(fields["stage"]), self._spent + float(str(fields["seconds"])))

    def close(self) -> None:
        """Notes the work on a stage that has not ended."""
        if self._running is None or not (self._tasks or self._earlier is None):
            return
        seconds = self._spent + time.monotonic() - self._started_at
        with suppress(NmtPrepError, OSError):
            if self._whole:
                note = _Interrupted(
                    stage=self._running, seconds=seconds, tasks=dict(self._tasks), rounds=dict(self._rounds)
                )
                write_json(self._interrupted, note.model_dump(mode="json"))
            else:
                self._interrupted.unlink(missing_ok=True)

    def _begin(self, stage: str) -> None:
        # Extract keeps earlier output, so only its first run does all the work.
        again = stage == "extract" and self._workspace.manifest(stage).exists()
        self._whole = stage in MEASURED and not again and isinstance(self._engine, LocalEngine)
        self._tasks.clear()
        self._before = peaks()
        self._running, self._started_at = stage, time.monotonic()
        self._ended_at = self._started_at
        self._rounds.clear()
        self._earlier, self._spent = None, 0.0
        with suppress(OSError, ValidationError):
            earlier = _Interrupted.model_validate_json(self._interrupted.read_bytes())
            self._earlier = earlier if earlier.stage == stage else None

    def _resume(self, round_name: str, done: int) -> None:
        """Takes over the tasks of earlier runs, if the time of all of them is known."""
        if self._earlier is None or self._earlier.tasks.get(round_name) != done:
            self._whole = False
        else:
            self._spent = self._earlier.seconds
            self._tasks[round_name] = done
            self._rounds[round_name] = self._earlier.rounds.get(round_name, 0.0)

    def _end(self, stage: str, seconds: float) -> None:
        copied, text = self._output_bytes("extract"), text_bytes(self._workspace)
        work = copied if stage == "extract" else int(work_of(stage, text, self._output_bytes("sample")))
        if work < LEAST_WORK:
            return
        parallel = 1 if stage == "vocab" else max(self._tasks.values(), default=1)
        note = StageNote(
            machine=machine_name(),
            made=time.strftime("%Y-%m-%d"),
            work=work,
            written=self._output_bytes(stage),
            seconds=seconds,
            workers=min(self._engine.workers, parallel),
            memory=memory_since(self._before),
            rounds=dict(self._rounds),
        )
        save_note(kind_of(stage, self._config, in_place=not self._has_text(stage)), note)

    def _output_bytes(self, stage: str) -> int:
        return output_bytes(self._workspace, stage, self._directories[stage])

    def _has_text(self, stage: str) -> bool:
        """Returns True if a stage wrote any text, not only where it is in other files."""
        manifest = read_manifest(self._workspace.manifest(stage))
        return manifest is not None and any(name.endswith(".parquet") for name in manifest.files)


def output_bytes(workspace: Workspace, stage: str, directory: str) -> int:
    """Returns the bytes of a stage's output, which is in ``directory``; 0 if there is none."""
    manifest = read_manifest(workspace.manifest(stage))
    if manifest is None:
        return 0
    paths = (workspace.file(directory, name) for name in manifest.files)
    return sum(path.lstat().st_size for path in paths)  # what a link points to is not output


def text_bytes(workspace: Workspace) -> int:
    """Returns the bytes of the files that corpora are read from, those in their places included; 0 if unknown."""
    manifest = read_manifest(workspace.manifest("extract"))
    files = {} if manifest is None else manifest.details.get("files", {})
    sizes = {(file["file"], file["sha256"]): int(file["size"]) for each in files.values() for file in each}
    return sum(sizes.values())


def peaks() -> tuple[int, int]:
    """Returns the peak memory in bytes of this process, and of its largest child; 0 if unknown."""
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text("ascii"), re.MULTILINE)
    except OSError:
        return 0, 0
    return int(found[1]) * 1024 if found else 0, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def memory_since(before: tuple[int, int]) -> int | None:
    """Returns the bytes held in addition to the program itself; None if the peaks were reached earlier."""
    own, child = (now if now > then else 0 for now, then in zip(peaks(), before, strict=True))
    return max(own - BASE_MEMORY, 0) + child or None
