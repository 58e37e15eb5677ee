"""One run at a time in a run's directory."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from nmt_prep.artefacts import writing
from nmt_prep.errors import OutputError
from nmt_prep.manifest import Workspace

_SECONDS_BETWEEN_TRIES = 0.2


@contextmanager
def run_lock(workspace: Workspace, *, wait: bool, waiting: Callable[[str], None]) -> Iterator[None]:
    """Holds the directory of a run; the kernel frees it when the process ends, however that happens.

    Args:
        workspace: the directory.
        wait: wait for another run to end; otherwise it is an error.
        waiting: called once with the holder's description, where there is one to wait for.

    Raises:
        OutputError: another run holds the directory and ``wait`` is false, or the directory cannot be written.
    """
    path = workspace.private / "lock"
    holder = workspace.private / "lock.holder"
    with writing(workspace.root):
        workspace.private.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        told = False
        while True:
            try:
                lock.acquire(timeout=0)
                break
            except Timeout:
                who = _describe(holder)
                if not wait:
                    raise OutputError(f"{workspace.root} is in use by {who}; wait for it to end, or stop it") from None
                if not told:
                    waiting(who)
                    told = True
                time.sleep(_SECONDS_BETWEEN_TRIES)
    try:
        with writing(workspace.root):
            holder.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}), encoding="utf-8")
        yield
    finally:
        with suppress(OSError):
            holder.unlink(missing_ok=True)
        lock.release()


def _describe(holder: Path) -> str:
    try:
        facts = json.loads(holder.read_bytes())
        return f"process {facts['pid']} on {facts['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
