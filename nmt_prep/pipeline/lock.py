"""Lock for a run's directory: one run at a time, or any number of processes that each run a share of the tasks."""

from __future__ import annotations

import errno
import fcntl
import math
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from nmt_prep.base.artefacts import parse_json, write_json, writing
from nmt_prep.base.errors import OutputError
from nmt_prep.pipeline.manifest import Workspace

_SECONDS_BETWEEN_TRIES = 0.2
_HOLDER_BYTES = 4096  # Maximum size of a holder's description, in bytes


@contextmanager
def run_lock(
    workspace: Workspace, *, wait: bool | float, waiting: Callable[[str], None], shared: bool = False
) -> Iterator[None]:
    """Locks a run's directory; the kernel releases the lock when the process ends.

    Args:
        wait: true to wait for the end of another run, false to raise an error then, or the maximum seconds to wait.
        waiting: called once with the holder's description before waiting.
    """
    # Runs lock exclusively, shares of tasks lock shared. The kernel's lock decides; the holder's description is for
    # messages only, so it may be missing or out of date.
    holder = workspace.private / "lock.holder"
    with writing(workspace.root):
        workspace.private.mkdir(parents=True, exist_ok=True)
        handle = os.open(workspace.private / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    with ExitStack() as stack:
        stack.callback(_close, handle)
        with writing(workspace.root):
            _acquire(handle, workspace, wait, waiting, shared)
            if shared:
                _remove(holder)  # left by a killed run: no process holds the lock now
            else:
                stack.callback(_remove, holder)
                # By a rename, which replaces a symbolic link instead of following it.
                write_json(holder, {"pid": os.getpid(), "host": socket.gethostname()})
        yield


def is_running(workspace: Workspace) -> bool:
    """Returns True if a run (not only a share of one) holds a directory's lock. Writes nothing."""
    try:
        handle = os.open(workspace.private / "lock", os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in {errno.EWOULDBLOCK, errno.EACCES}
    finally:
        _close(handle)
    return False


def _acquire(
    handle: int, workspace: Workspace, wait: bool | float, waiting: Callable[[str], None], shared: bool
) -> None:
    told = False
    limit = (math.inf if wait else 0.0) if isinstance(wait, bool) else wait
    began = time.monotonic()
    while not _try_lock(handle, workspace.private / "lock", shared):
        who = _describe(workspace)
        left = limit - (time.monotonic() - began)
        if not left > 0:  # NaN is not a time
            after = f" after {limit:g} seconds" if limit else ""
            raise OutputError(f"{workspace.root} is in use by {who}{after}; wait for it to end, or stop it")
        if not told:
            waiting(who)
            told = True
        time.sleep(min(left, _SECONDS_BETWEEN_TRIES))


def _try_lock(handle: int, path: Path, shared: bool) -> bool:
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
            return False
        if error.errno in {errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK}:
            raise OutputError(
                f"{path} is on a file system without locks ({error.strerror}), which keep two runs apart; "
                "mount it with locks (Lustre: -o flock), or set output_dir elsewhere"
            ) from error
        raise
    return True


def _close(handle: int) -> None:
    with suppress(OSError):  # nothing was written to it, and the lock is released even on an error
        os.close(handle)


def _remove(holder: Path) -> None:
    with suppress(OSError):
        holder.unlink(missing_ok=True)


def _describe(workspace: Workspace) -> str:
    try:
        handle = os.open(workspace.private / "lock.holder", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            facts = parse_json(file.read(_HOLDER_BYTES))
        return f"process {int(facts['pid'])} on {facts['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process, such as one that runs a share of its tasks"
