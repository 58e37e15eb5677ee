from __future__ import annotations

import errno
import os
import socket
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from nmt_prep.base.digests import DigestCache
from nmt_prep.base.errors import DownloadError
from nmt_prep.base.progress import Progress
from nmt_prep.config import DownloadSettings as Limits
from nmt_prep.corpora.sources.downloads import DownloadCache, Downloads, Needed, Store, Stored, download_all
from nmt_prep.corpora.sources.fetch import Fetcher
from nmt_prep.corpora.sources.transfers import FetchStoppedError
from tests.corpora.sources.fetching import sha256
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


@pytest.mark.parametrize(
    ("key", "where"),
    [
        ("train/c/both", "splits.train.c.url"),
        ("train/c/both/00001", "splits.train.c.url"),
        ("dev/c.1/source", "splits.dev.c.1.url.source"),
        ("train/c/scores.s", "splits.train.c.scores.s"),
        ("train/c/document", "splits.train.c.document"),
        ("vocab.from.source", "vocab.from.source"),
        ("vocab.from/merges", "vocab.from: merges"),
        ("sacrebleu:/wmt20-en-de/both", "clean.decontaminate.against: sacrebleu:wmt20-en-de"),
    ],
)
def test_the_config_key_of_a_file(key: str, where: str) -> None:
    assert Needed(key, (), None).where == where


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


ABC = sha256(b"abc")


@pytest.fixture
def cache(tmp_path: Path) -> DownloadCache:
    return DownloadCache(tmp_path / "cache")


@pytest.fixture
def offered(tmp_path: Path, cache: DownloadCache) -> Path:
    path = tmp_path / "a.tgz"
    path.write_bytes(b"abc")
    cache.offer(path, ABC)
    return tmp_path / "cache" / ABC[:2] / ABC


def test_an_offered_file_can_be_taken(tmp_path: Path, cache: DownloadCache, offered: Path) -> None:
    assert cache.take(ABC, tmp_path / "run" / "b.tgz")
    assert (tmp_path / "run" / "b.tgz").read_bytes() == b"abc"
    assert offered.samefile(tmp_path / "run" / "b.tgz")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["b.tgz"]


def test_a_missing_file(tmp_path: Path, cache: DownloadCache) -> None:
    assert not cache.take(ABC, tmp_path / "b.tgz")
    assert not (tmp_path / "b.tgz").exists()


def test_a_damaged_file_is_not_taken_and_can_be_offered_again(
    tmp_path: Path, cache: DownloadCache, offered: Path
) -> None:
    offered.write_bytes(b"abd")
    assert not cache.take(ABC, tmp_path / "b.tgz")
    assert not offered.exists()
    assert not (tmp_path / "b.tgz").exists()
    (tmp_path / "c.tgz").write_bytes(b"abc")
    cache.offer(tmp_path / "c.tgz", ABC)
    assert cache.take(ABC, tmp_path / "b.tgz")


def test_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offered: Path) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    assert DownloadCache(tmp_path / "cache").take(ABC, tmp_path / "b.tgz")
    assert not offered.samefile(tmp_path / "b.tgz")


def test_unwritable_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    cache = DownloadCache(tmp_path / "file" / "cache")
    cache.offer(tmp_path / "file", ABC)
    assert not cache.take(ABC, tmp_path / "b.tgz")


def test_concurrent_use(tmp_path: Path, cache: DownloadCache) -> None:
    contents = [bytes([number]) * 100_000 for number in range(4)]
    wrong: list[str] = []

    def work(worker: int) -> None:
        for number, content in enumerate(contents * 3):
            path = tmp_path / f"{worker}" / f"{number}"
            if not cache.take(sha256(content), path):
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
                cache.offer(path, sha256(content))
            if path.read_bytes() != content:
                wrong.append(str(path))

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len([path for path in (tmp_path / "cache").rglob("*") if path.is_file()]) == 4


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / ABC).mkdir()
    (tmp_path / ABC / "a.tgz").write_bytes(b"abc")
    return Store(tmp_path, DigestCache(tmp_path))


def test_a_noted_file_is_found(store: Store) -> None:
    stored = Stored(f"{ABC}/a.tgz", ABC, 3)
    assert store.find(["url", "x"]) is None
    assert store.note(["url", "x"], stored) == stored
    assert store.find(["url", "x"]) == stored
    assert store.find(["url", "y"]) is None


def test_a_changed_file_does_not_count(store: Store) -> None:
    store.note("x", Stored(f"{ABC}/a.tgz", ABC, 3))
    path = store.directory / ABC / "a.tgz"
    path.write_bytes(b"abd")
    os.utime(path, (0, 0))
    assert store.find("x") is None
    assert store.find_digest(ABC, "a.tgz") is None
    path.unlink()
    assert store.find("x") is None


@pytest.mark.parametrize("text", ['{"file": ', "[" * 200_000, '{"file": 1, "sha256": "", "size": 1}', "[]"])
def test_a_damaged_note_does_not_count(store: Store, text: str) -> None:
    store.note("x", Stored(f"{ABC}/a.tgz", ABC, 3))
    [note] = (store.directory / ".notes").iterdir()
    note.write_text(text)
    assert store.find("x") is None


@pytest.mark.parametrize("name", ["a.tgz", "other.tgz"])
def test_a_file_is_found_by_digest_under_any_name(store: Store, name: str) -> None:
    assert store.find_digest(ABC, name) == Stored(f"{ABC}/a.tgz", ABC, 3)
    assert store.find_digest("0" * 64, name) is None


def test_a_forgotten_file_is_not_found(store: Store) -> None:
    store.forget()
    store.note("x", Stored(f"{ABC}/a.tgz", ABC, 3))
    store.forget()
    assert store.find("x") is None
    assert store.find_digest(ABC, "a.tgz") == Stored(f"{ABC}/a.tgz", ABC, 3)
