from __future__ import annotations

import linecache
import socket
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any, cast

import pytest

from nmt_prep.config import DownloadSettings as Limits
from nmt_prep.errors import DownloadError
from nmt_prep.progress import Progress
from nmt_prep.sources.fetch import Fetcher
from nmt_prep.sources.supply import Supply, WantedFile, get_all
from nmt_prep.sources.timing import FetchStoppedError
from nmt_prep.store import Stored
from tests.guard import PATIENCE
from tests.sources.stalling import stalling


class FakeSupply:
    """Serves files by name; ``stuck`` arrives only once fetching is to stop, and ``never`` not even then."""

    def __init__(self, place: Path) -> None:
        self.fetcher = Fetcher(place, place, Limits(), Progress())
        self.got: list[str] = []
        self.waiting = threading.Event()
        self.released = threading.Event()

    def get(self, file: WantedFile) -> Stored:
        if file.name == "missing":  # the other file is being fetched by then
            self.waiting.wait()
        self.got.append(file.name)
        if file.name in ("stuck", "never"):
            self.waiting.set()
        if file.name == "stuck":
            self.fetcher._stop.wait(3600)
            self.fetcher.check()
        if file.name == "never":
            self.released.wait()
        if file.name == "missing":
            raise DownloadError("missing: no such file")
        return Stored(file.name, "0" * 64, 1)


def get(supply: FakeSupply, names: list[str], at_once: int = 2) -> list[str]:
    wanted = [WantedFile((name,), name, None, "c") for name in names]
    return sorted(file.name for file in get_all(cast(Supply, supply), wanted, at_once))


def workers() -> list[threading.Thread]:
    """Returns the threads that fetch, except those whose start was interrupted before there was a thread."""
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("nmt-prep-download")]
    return [thread for thread in threads if thread.ident is not None]


def test_all_files_arrive(tmp_path: Path) -> None:
    supply = FakeSupply(tmp_path)
    assert get(supply, ["a", "b", "c", "d", "e"]) == ["a", "b", "c", "d", "e"]
    assert get(FakeSupply(tmp_path), []) == []
    assert workers() == []


def test_a_failure_stops_the_others(tmp_path: Path) -> None:
    supply = FakeSupply(tmp_path)
    with pytest.raises(DownloadError, match=r"^missing: no such file$"):
        get(supply, ["stuck", "missing", "a", "b"])
    assert supply.got == ["stuck", "missing"]
    assert workers() == []


def test_a_call_that_cannot_be_stopped_is_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.sources.supply.PATIENCE", 0.1)
    supply = FakeSupply(tmp_path)
    with pytest.raises(DownloadError, match=r"^missing: no such file$"):
        get(supply, ["never", "missing"])
    [left] = workers()
    assert left.daemon
    supply.released.set()
    left.join()


INTERRUPTIBLE = {get_all.__code__, threading.Thread.start.__code__, threading.Thread.join.__code__}


def interrupted_at(line: int, supply: FakeSupply) -> bool:
    """Fetches files that never arrive, and raises KeyboardInterrupt at the given line, in order of execution.

    Counts the lines of ``get_all`` and of starting and joining threads, except those of ``with``, where Python does not
    check for signals. Returns True if that many lines were executed.
    """
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code not in INTERRUPTIBLE:
            return None
        if event != "line" or linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip().startswith("with "):
            return trace
        count += 1
        if count == line:
            sys.settrace(None)
            raise KeyboardInterrupt
        if "ended.get()" in linecache.getline(frame.f_code.co_filename, frame.f_lineno):
            supply.waiting.wait()
            supply.fetcher.stop()  # ends a run that was not interrupted
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        get(supply, ["stuck", "stuck"])
    except KeyboardInterrupt:
        return True
    except FetchStoppedError:  # all lines were executed
        return False
    finally:
        sys.settrace(before)
    raise AssertionError("files came that should not")


def test_ctrl_c_at_any_line_waits_for_no_thread(tmp_path: Path) -> None:
    line = 0
    more = True
    while more:
        line += 1
        supply = FakeSupply(tmp_path)
        more = interrupted_at(line, supply)
        for thread in workers():
            assert thread.daemon  # so the interpreter does not wait for it
        if supply.got:
            with pytest.raises(FetchStoppedError):
                supply.fetcher.check()
        supply.fetcher.stop()
        for thread in workers():
            while thread.is_alive():
                thread.join()
    assert line > 25


@pytest.mark.parametrize("point", ["handshake", "head", "page", "body", "chunk", "retry"])
def test_a_stop_ends_a_fetch_at_any_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with stalling(point) as server:
        scheme = "https" if point == "handshake" else "http"
        fetcher = Fetcher(tmp_path, tmp_path, Limits(connect_seconds=3600, stall_seconds=3600), Progress())
        ended: list[BaseException] = []

        def fetch() -> None:
            try:
                fetcher.fetch([f"{scheme}://127.0.0.1:{server.port}/a"])
            except BaseException as error:  # noqa: BLE001 - looked at below
                ended.append(error)

        thread = threading.Thread(target=fetch, daemon=True)
        thread.start()
        assert server.reached.acquire(timeout=PATIENCE)
        fetcher.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        assert isinstance(ended[0], FetchStoppedError | DownloadError)


def test_a_connection_opened_after_a_stop_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with stalling("head") as server:
        fetcher = Fetcher(tmp_path, tmp_path, Limits(connect_seconds=3600, stall_seconds=3600), Progress())
        made = threading.Event()
        resolve = socket.getaddrinfo

        def resolve_and_stop(*arguments: Any, **options: Any) -> Any:
            fetcher.stop()  # after the fetch checked for a stop, and before there is a connection to shut down
            made.set()
            return resolve(*arguments, **options)

        monkeypatch.setattr(socket, "getaddrinfo", resolve_and_stop)
        with pytest.raises(FetchStoppedError):
            fetcher.fetch([f"http://127.0.0.1:{server.port}/a"])
        assert made.is_set()
