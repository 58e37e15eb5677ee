from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.errors import ConfigError, DownloadError, OutputError
from nmt_prep.base.progress import StoppedError
from nmt_prep.corpora.sources.objects import ObjectStore, object_file
from nmt_prep.corpora.sources.transfers import Clock

fsspec = pytest.importorskip("fsspec", reason="the extra cloud is not installed")


class Scene:
    """An in-memory store, the faults that its next requests raise, and the pauses after them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("nmt_prep.corpora.sources.objects.RETRIES", 3)
        self.system = fsspec.filesystem("memory")
        self.pauses: list[float] = []
        self.faults: list[Exception] = []
        for name in ("_open", "cat_file", "find", "rm_file"):
            monkeypatch.setattr(type(self.system), name, self.failing(getattr(type(self.system), name)))

    def store(self) -> ObjectStore:
        clock = Clock(sleep=self.pauses.append, chance=lambda: 1.0)
        return ObjectStore("memory://bucket/a", {}, OutputError, clock)

    def failing(self, request: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            if self.faults:
                raise self.faults.pop(0)
            return request(*arguments, **options)

        return wrapped


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    scene = Scene(monkeypatch)
    yield scene
    scene.system.store.clear()
    scene.system.pseudo_dirs[:] = [""]


class NoCredentialsError(Exception):
    """Has the signature of botocore's exception."""


def nothing(_: int) -> None:
    """Ignores the progress."""


def test_objects_are_written_read_listed_and_removed(scene: Scene, tmp_path: Path) -> None:
    store, file = scene.store(), tmp_path / "file"
    assert (store.sizes(), store.read("x")) == ({}, None)
    file.write_bytes(b"abc" * 1_000_000)
    ticks: list[int] = []
    digest = store.upload(file, "deep/y", ticks.append)
    assert digest == hashlib.sha256(b"abc" * 1_000_000).hexdigest()
    assert sum(ticks) == 3_000_000
    store.write("x", b"123")
    assert store.sizes() == {"x": 3, "deep/y": 3_000_000}
    assert store.download("deep/y", tmp_path / "copy", nothing) == digest
    assert (tmp_path / "copy").read_bytes() == file.read_bytes()
    store.remove("x")
    store.remove("x")
    assert (store.sizes(), store.read("x")) == ({"deep/y": 3_000_000}, None)


@pytest.mark.parametrize(
    "request_of",
    [
        lambda store, file: store.sizes(),
        lambda store, file: store.read("x"),
        lambda store, file: store.write("x", b"1"),
        lambda store, file: store.remove("x"),
        lambda store, file: store.upload(file, "x", nothing),
        lambda store, file: store.download("x", file, nothing),
    ],
)
def test_a_failing_request_is_retried_a_limited_number_of_times(
    scene: Scene, tmp_path: Path, request_of: Callable[[ObjectStore, Path], object]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"1")
    scene.store().write("x", b"1")
    scene.faults = [
        ConnectionResetError(104, "Connection reset by peer"),
        TimeoutError(),
        RuntimeError("signed?secret"),
    ]
    request_of(scene.store(), file)
    assert scene.pauses == [1.0, 2.0, 4.0]
    scene.faults = [OSError(16, "Please reduce your request rate.")] * 4
    with pytest.raises(
        OutputError,
        match=r"^memory://bucket/a.*: the request failed \(OSError: Please reduce your request "
        r"rate\.\); check the network and the storage, and run again \(tried 4 times\)$",
    ):
        request_of(scene.store(), file)
    assert scene.faults == []


def test_errors_that_are_not_retried(scene: Scene, tmp_path: Path) -> None:
    for fault, message in (
        (PermissionError("Access Denied"), r"access denied \(PermissionError: Access Denied\); check"),
        (NoCredentialsError("Unable to locate credentials"), r"no credentials were found; .* AWS_ACCESS_KEY_ID"),
        (FileNotFoundError("The bucket does not exist"), r"there is no such object or bucket; create the bucket"),
    ):
        scene.faults = [fault]
        with pytest.raises(OutputError, match=rf"^memory://bucket/a/x: {message}"):
            scene.store().write("x", b"")
    with pytest.raises(OutputError, match=r"file: No such file or directory; run again to recreate it$"):
        scene.store().upload(tmp_path / "file", "x", nothing)
    with pytest.raises(OutputError, match=r"^cannot write .*/no/file: No such file"):
        scene.store().download("x", tmp_path / "no" / "file", nothing)
    assert scene.pauses == []


def test_an_upload_ends_with_the_run(scene: Scene, tmp_path: Path) -> None:
    def stop(_: int) -> None:
        raise StoppedError

    (tmp_path / "file").write_bytes(b"1")
    with pytest.raises(StoppedError):
        scene.store().upload(tmp_path / "file", "x", stop)
    assert scene.pauses == []


def test_messages_contain_no_signed_urls(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.corpora.sources.objects.RETRIES", 0)
    scene.faults = [RuntimeError("https://host/x?Signature=abc"), OSError("https://host/x?Signature=abc")]
    with pytest.raises(OutputError, match=r"\(RuntimeError\)"):
        scene.store().read("x")
    with pytest.raises(OutputError, match=r"\(OSError: https://host/x\)"):
        scene.store().read("x")


def test_stores_that_cannot_be_opened() -> None:
    with pytest.raises(
        ConfigError, match=r"^nowhere://a cannot be opened \(ValueError\); correct the url or its options$"
    ):
        ObjectStore("nowhere://a", {}, DownloadError)


@pytest.mark.parametrize(
    ("url", "module", "needed"),
    [
        ("s3://b/a", "fsspec", "fsspec: pip install '.[cloud]' in a checkout of nmt_prep"),
        ("s3://b/a", "s3fs", "s3fs: pip install '.[cloud]' in a checkout of nmt_prep"),
        ("gs://b/a", "gcsfs", "gcsfs: pip install '.[cloud]' in a checkout of nmt_prep"),
        ("https://host/a", "aiohttp", "aiohttp: install its package (HTTPFileSystem requires"),
        ("abfs://b/a", "adlfs", "adlfs: install its package (Install adlfs"),
        (
            "sftp://host/a",
            "paramiko",
            'paramiko: install its package (SFTPFileSystem requires "paramiko"',
        ),
    ],
)
def test_missing_libraries(url: str, module: str, needed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for scheme in ("s3", "gs", "https", "abfs", "sftp"):
        monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, scheme, raising=False)  # type: ignore[attr-defined]
    monkeypatch.delitem(sys.modules, "fsspec.implementations.http", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    for opened in (lambda: ObjectStore(url, {}, DownloadError), lambda: object_file(url).__enter__()):
        with pytest.raises(ConfigError) as caught:
            opened()
        assert str(caught.value).startswith(f"{url} needs {needed}")
