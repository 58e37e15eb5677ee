"""Notes of what each stage of a run took, and on which machine: ``report/run.json``.

They differ from run to run, so they are in no manifest, and no stage depends on them. A copy in the private directory
keeps the notes of stages that ran before the report was made, or that were still fresh when it was made again.
"""

from __future__ import annotations

import platform
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from nmt_prep.artefacts import parse_json, remove_partial, write_json
from nmt_prep.engines import Engine
from nmt_prep.errors import NmtPrepError
from nmt_prep.pipeline.manifest import Workspace
from nmt_prep.pipeline.measured import machine_name, peaks
from nmt_prep.progress import Fields, Listener
from nmt_prep.runtime import available_cores

RUN_FILE = "run.json"

FORMAT = 1
"""Version of the file. It increases when a key goes or changes its meaning."""


class RunNotes(Listener):
    """Notes the stages of a run by its events. It ignores errors: a run does not fail for its notes."""

    def __init__(self, workspace: Workspace, report: str, engine: Engine, version: str) -> None:
        """Takes the name of the report's directory, the engine of the run, and the version of nmt_prep."""
        self._private, self._public = workspace.private / RUN_FILE, workspace.root / report / RUN_FILE
        self._engine = engine
        self._version = version
        self._tasks = 0

    def event(self, name: str, fields: Fields) -> None:
        if name == "stage_started":
            self._tasks = 0
        elif name == "task_finished":
            self._tasks += 1
        elif name == "stage_finished":
            with suppress(NmtPrepError, OSError):
                self._note(fields)

    def close(self) -> None:
        """Copies the notes beside the report, if there is one."""
        with suppress(NmtPrepError, OSError):
            if self._public.parent.is_dir() and self._private.exists():
                remove_partial(self._public.parent)  # left by a run that was killed here
                write_json(self._public, read_run_notes(self._private))

    def _note(self, fields: Fields) -> None:
        notes = read_run_notes(self._private)
        own, child = peaks()
        notes["stages"][str(fields["stage"])] = {
            "seconds": fields["seconds"],
            "processor_seconds": fields["processor_seconds"],
            "rounds": fields["rounds"],
            "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "tasks": self._tasks,
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
        write_json(self._private, notes)


def read_run_notes(path: Path) -> dict[str, Any]:
    """Reads the notes; returns empty ones if there are none, or if they are damaged."""
    with suppress(OSError, ValueError):
        notes = parse_json(path.read_bytes())
        if isinstance(notes, dict) and notes.get("format") == FORMAT and isinstance(notes.get("stages"), dict):
            return notes
    return {"format": FORMAT, "stages": {}}
