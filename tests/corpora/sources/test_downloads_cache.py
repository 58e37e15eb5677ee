from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from nmt_prep.corpora.sources.downloads import DownloadCache
from tests.corpora.sources.fetching import sha256

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
