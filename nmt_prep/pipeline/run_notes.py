"""A run's notes in ``report/run.json``: time and memory per stage.

They differ from run to run, so they are in no manifest, and no stage depends on them. A copy in the private directory
keeps the notes of stages that ran before the report was made, or that were still up to date when it was made again.

Errors in reading or writing the notes are ignored.
"""

from __future__ import annotations

import platform
import re
import resource
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from nmt_prep.base.artefacts import parse_json, remove_partial, write_json
from nmt_prep.base.errors import NmtPrepError
from nmt_prep.base.progress import Fields, Listener
from nmt_prep.base.runtime import available_cores
from nmt_prep.pipeline.engines import Engine
from nmt_prep.pipeline.manifest import Workspace

RUN_FILE = "run.json"

FORMAT = 1  # Version of the notes. It increases when a key is removed or changes its meaning.


@cache
def machine_name() -> str:
    """Returns the name of this machine's processor."""
    with suppress(OSError):
        if match := re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE):
            return match[1].strip()
    return platform.machine()


class RunNotes(Listener):
    """Notes a run's stages by its events."""

    def __init__(self, root: Path, engine: Engine, version: str) -> None:
        """Takes the run's directory, the engine, and nmt_prep's version."""
        self._public = root / "report" / RUN_FILE  # beside the page
        self._private = Workspace(root).private / RUN_FILE
        self._engine = engine
        self._version = version
        self._tasks = 0  # that ran in the stage

    def event(self, name: str, fields: Fields) -> None:
        if name == "stage_started":
            self._tasks = 0
        elif name == "task_finished":
            self._tasks += 1
        elif name == "stage_finished":
            with suppress(NmtPrepError, OSError):
                self._note(fields)

    def close(self) -> None:
        """Copies the notes beside the report."""
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
        write_json(self._private, notes, compact=True)


def peaks() -> tuple[int, int]:
    """Returns the peak memory in bytes of this process and of its largest child, or 0 if unknown."""
    try:
        match = re.search(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text("ascii"), re.MULTILINE)
    except OSError:
        return 0, 0
    return int(match[1]) * 1024 if match else 0, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def read_run_notes(path: Path) -> dict[str, Any]:
    """Reads the notes; returns empty notes if there are none, or if they are damaged."""
    with suppress(OSError, ValueError):
        notes = parse_json(path.read_bytes())
        if isinstance(notes, dict) and notes.get("format") == FORMAT and isinstance(notes.get("stages"), dict):
            return notes
    return {"format": FORMAT, "stages": {}}
