from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from nmt_prep.base.errors import DownloadError
from nmt_prep.base.progress import Progress
from nmt_prep.config import DownloadSettings as Limits
from nmt_prep.corpora.sources.downloads import Downloads, Needed, Stored, download_all
from nmt_prep.corpora.sources.fetch import Fetcher
from nmt_prep.corpora.sources.transfers import FetchStoppedError
from tests.corpora.sources.stalling import stalling
from tests.guard import PATIENCE


class FakeDownloads:
    """Serves files by name; ``stuck`` arrives only once fetching is to stop."""

    def __init__(self, place: Path) -> None:
        self.fetcher = Fetcher(place, place, Limits(), Progress())
        self.waiting = threading.Event()

    def get(self, file: Needed) -> Stored:
        if file.name == "missing":  # the other file is being fetched by then
            self.waiting.wait()
        if file.name == "stuck":
            self.waiting.set()
            self.fetcher._stop.wait(3600)
            self.fetcher._stop.check()
        if file.name == "missing":
            raise DownloadError("missing: no such file")
        return Stored(file.name, "0" * 64, 1)


def get(downloads: FakeDownloads, names: list[str], at_once: int = 2) -> list[str]:
    wanted = [Needed(f"train/c/{name}", (name,), None) for name in names]
    return sorted(file.name for file in download_all(cast(Downloads, downloads), wanted, at_once))


def test_all_files_arrive(tmp_path: Path) -> None:
    downloads = FakeDownloads(tmp_path)
    assert get(downloads, ["a", "b", "c", "d", "e"]) == ["a", "b", "c", "d", "e"]
    assert get(FakeDownloads(tmp_path), []) == []


def test_a_failure_stops_the_others(tmp_path: Path) -> None:
    downloads = FakeDownloads(tmp_path)
    with pytest.raises(DownloadError, match=r"^missing: no such file$"):
        get(downloads, ["stuck", "missing"])
    with pytest.raises(FetchStoppedError):
        downloads.fetcher._stop.check()


@pytest.mark.parametrize("point", ["handshake", "head", "page", "body", "chunk", "retry"])
def test_a_stop_ends_a_fetch_at_any_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with stalling(point) as server:
        scheme = "https" if point == "handshake" else "http"
        fetcher = Fetcher(tmp_path, tmp_path, Limits(), Progress())
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
        fetcher = Fetcher(tmp_path, tmp_path, Limits(), Progress())
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
