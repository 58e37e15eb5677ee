from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from nmt_prep.base.errors import ConfigError, DownloadError
from nmt_prep.config import DownloadSettings
from nmt_prep.corpora.sources import address
from nmt_prep.corpora.sources.remote_file import opened_remote
from nmt_prep.corpora.sources.web import Client
from tests.corpora.sources.fetching import Scene, sha256

fsspec = pytest.importorskip("fsspec", reason="the extra cloud is not installed")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Registers fsspec's in-memory file system as a cloud."""
    monkeypatch.setattr(address, "CLOUD_SCHEMES", {"memory", "s3", "gs"})
    system = fsspec.filesystem("memory")
    yield system
    system.rm("/", recursive=True)


def test_an_object_arrives(bucket: Any, scene: Scene) -> None:
    content = bytes(range(256)) * 10_000
    bucket.pipe("/bucket/a.tgz", content)
    fetched = scene.fetch("memory://bucket/a.tgz", expected=sha256(content))
    assert (fetched.path.read_bytes(), fetched.url) == (content, "memory://bucket/a.tgz")


def test_parts_of_an_object(bucket: Any) -> None:
    content = bytes(range(256)) * 10_000
    bucket.pipe("/bucket/a", content)
    with opened_remote("memory://bucket/a", Client(DownloadSettings())) as remote, remote.open() as file:
        assert (remote.size, remote.beginning) == (len(content), content[: 1 << 20])
        file.seek(-300, io.SEEK_END)
        assert file.read() == content[-300:]


@pytest.mark.usefixtures("bucket")
def test_a_missing_object(scene: Scene) -> None:
    missing = r"^memory://bucket/a: there is no such object; check the url"
    with pytest.raises(DownloadError, match=missing), opened_remote("memory://bucket/a", Client(DownloadSettings())):
        pass
    with pytest.raises(DownloadError, match=missing):
        scene.fetch("memory://bucket/a")


def test_an_object_that_is_wrong_or_too_large(bucket: Any, scene: Scene) -> None:
    bucket.pipe("/bucket/a", b"abcd")
    with pytest.raises(DownloadError, match=r"^memory://bucket/a: expected SHA-256 0000"):
        scene.fetch("memory://bucket/a", expected="0" * 64)
    with pytest.raises(DownloadError, match="larger than the maximum of 3 bytes"):
        scene.fetch("memory://bucket/a", max_file_bytes=3)


def test_an_interrupted_read_is_retried(bucket: Any, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket.pipe("/bucket/a", b"abc")
    opened, faults = bucket.open, [PermissionError("no"), ValueError("secret"), RuntimeError("secret")]

    def open_(*arguments: Any, **options: Any) -> Any:
        if faults:
            raise faults.pop()
        return opened(*arguments, **options)

    monkeypatch.setattr(type(bucket), "open", lambda _, *arguments, **options: open_(*arguments, **options))
    with pytest.raises(
        DownloadError, match=r"^memory://bucket/a: access denied \(PermissionError: no\); check the credentials"
    ):
        scene.fetch("memory://bucket/a")
    assert scene.pauses == [1.0, 2.0]
    assert scene.fetch("memory://bucket/a").sha256 == sha256(b"abc")


def test_a_missing_library(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(
        ConfigError, match=r"^s3://bucket/a needs s3fs: pip install '\.\[cloud\]' in a checkout of nmt_"
    ):
        scene.fetch("s3://bucket/a")
