from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from nmt_prep.base.errors import OutputError
from nmt_prep.pipeline.lock import is_running, run_lock
from nmt_prep.pipeline.manifest import Workspace
from tests.guard import PATIENCE

HOLDER = """
import sys
from pathlib import Path
from nmt_prep.pipeline.lock import run_lock
from nmt_prep.pipeline.manifest import Workspace
with run_lock(Workspace(Path(sys.argv[1])), wait=False, waiting=print):
    print("held", flush=True)
    sys.stdin.read()
"""


OTHERS = "in use by another process, such as one that runs a share of its tasks"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def never(holder: str) -> None:
    raise AssertionError(f"waited for {holder}")


def held(workspace: Workspace, *, shared: bool = False) -> AbstractContextManager[None]:
    return run_lock(workspace, wait=False, waiting=never, shared=shared)


def refused(workspace: Workspace, message: str, *, shared: bool = False) -> None:
    with pytest.raises(OutputError, match=message), held(workspace, shared=shared):
        pass


def test_the_second_run_names_the_holder(workspace: Workspace) -> None:
    expected = rf"in use by process {os.getpid()} on {socket.gethostname()}; wait for it to end"
    with held(workspace):
        refused(workspace, expected)


def test_the_second_run_waits_and_then_continues(workspace: Workspace) -> None:
    told, entered = threading.Event(), threading.Event()

    def second() -> None:
        with run_lock(workspace, wait=True, waiting=lambda holder: told.set()):
            entered.set()

    thread = threading.Thread(target=second)
    with held(workspace):
        thread.start()
        assert told.wait(PATIENCE)
        assert not entered.is_set()
    thread.join(PATIENCE)
    assert entered.is_set()


def test_a_wait_has_an_end(tmp_path: Path) -> None:
    workspace, told = Workspace(tmp_path), list[str]()
    expected = rf"in use by process {os.getpid()} on {socket.gethostname()} after 0.01 seconds; wait for it to end"
    with (
        held(workspace),
        pytest.raises(OutputError, match=expected),
        run_lock(workspace, wait=0.01, waiting=told.append),
    ):
        pass
    assert len(told) <= 1
    with run_lock(workspace, wait=0.01, waiting=never):
        pass


def test_a_killed_holder_frees_the_lock(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        assert process.stdout.readline() == b"held\n"
        refused(Workspace(tmp_path), f"in use by process {process.pid} on")
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
    with held(Workspace(tmp_path)):
        pass


def test_a_path_that_cannot_be_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused(Workspace(tmp_path / "file"), r"cannot write .*file")


def test_a_killed_run_is_not_named_as_the_holder(workspace: Workspace) -> None:
    workspace.private.mkdir()
    (workspace.private / "lock.holder").write_text('{"pid": 1, "host": "h"}')
    with held(workspace, shared=True):
        refused(workspace, OTHERS)


def test_shares_do_not_wait_for_each_other(workspace: Workspace) -> None:
    with held(workspace, shared=True), held(workspace, shared=True):
        refused(workspace, OTHERS)
    with held(workspace):
        refused(workspace, "in use by process", shared=True)


def test_a_file_system_without_locks_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(handle: int, operation: int) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    refused(Workspace(tmp_path), r"lock is on a file system without locks .* \(Lustre: -o flock\)")


def test_a_link_at_the_path_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    workspace, victim = Workspace(tmp_path / "run"), tmp_path / "victim"
    victim.write_text("precious")
    workspace.private.mkdir(parents=True)
    holder = workspace.private / "lock.holder"
    holder.symlink_to(victim)
    with held(workspace):
        assert not holder.is_symlink()
    assert victim.read_text() == "precious"
    (workspace.private / "lock").unlink()
    (workspace.private / "lock").symlink_to(tmp_path / "elsewhere")
    refused(workspace, r"cannot write .*lock")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.write_text("[" * 4096), lambda path: path.mkdir()])
def test_an_invalid_description_of_the_holder_is_ignored(workspace: Workspace, make: Callable[[Path], object]) -> None:
    with held(workspace):
        (workspace.private / "lock.holder").unlink()
        make(workspace.private / "lock.holder")
        refused(workspace, "in use by another process")
        if (workspace.private / "lock.holder").is_dir():
            (workspace.private / "lock.holder").rmdir()


def test_a_running_run_is_detected(tmp_path: Path, workspace: Workspace) -> None:
    assert not is_running(workspace)
    assert not list(tmp_path.iterdir())
    with held(workspace):
        assert is_running(workspace)
    assert not is_running(workspace)
    with held(workspace, shared=True):
        assert not is_running(workspace)
