from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import NmtPrepError, OutputError
from nmt_prep.config import Config
from nmt_prep.corpora.sources.objects import ObjectStore
from nmt_prep.runs.runner import run
from tests.corpus import corpus_config, tree
from tests.unreliable_proxy import UnreliableProxy

s3fs = pytest.importorskip("s3fs", reason="the extra cloud is not installed")

MANIFEST = "nmt_prep-manifest.json"

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(autouse=True)
def retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.corpora.sources.objects.RETRIES", 2)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Returns the address of an S3 server: one that is already running, or moto's."""
    if port := os.environ.get("NMT_PREP_TEST_S3_PORT"):
        yield int(port)
        return
    moto = pytest.importorskip("moto.server", reason="moto[server] is not installed")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield server.get_host_and_port()[1]
    server.stop()


class Scene:
    """A finished run, and an empty bucket."""

    def __init__(self, place: Path, port: int, bucket: str) -> None:
        self.place = place
        self.output = place / "run"
        self.endpoint = f"http://127.0.0.1:{port}"
        self.url = f"s3://{bucket}/enzh"
        self.system = s3fs.S3FileSystem(endpoint_url=self.endpoint, use_listings_cache=False)
        self.system.mkdir(bucket)

    def config(self, shards: int = 3, endpoint: str = "", **publish: Any) -> Config:
        settings = {"url": self.url, "options": {"endpoint_url": endpoint or self.endpoint}, **publish}
        return corpus_config(self.output, records={"shards": {"train": shards}}, publish=settings)

    def run(self, shards: int = 3, **publish: Any) -> None:
        run(self.config(shards, **publish), workers=2)

    def failure(self, shards: int, **publish: Any) -> str:
        """Returns the message of a run that fails; empty if it succeeds."""
        try:
            self.run(shards, **publish)
        except NmtPrepError as error:
            return str(error)
        return ""

    def there(self) -> dict[str, bytes]:
        prefix = self.url.removeprefix("s3://") + "/"
        self.system.invalidate_cache()
        found = {}
        for path in self.system.find(prefix):
            found[path.removeprefix(prefix)] = self.system.cat_file(path)
        return found

    def assert_sound(self) -> bool:
        """Asserts what readers rely on at any time; returns True if there is a manifest."""
        there = self.there()
        if MANIFEST not in there:
            return False
        for name, facts in json.loads(there[MANIFEST])["files"].items():
            assert (len(there[name]), hashlib.sha256(there[name]).hexdigest()) == (facts["size"], facts["sha256"])
        return True

    def assert_published(self) -> None:
        assert self.assert_sound()
        there = {name: hashlib.sha256(content).hexdigest() for name, content in self.there().items()}
        del there[MANIFEST]
        parts = ("records/", "report/", "vocab/")
        assert there == {name: digest for name, digest in tree(self.output).items() if name.startswith(parts)}


@pytest.fixture
def scene(
    finished: Path, tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Scene:
    for name, value in (("ACCESS_KEY_ID", "test:tester"), ("SECRET_ACCESS_KEY", "testing"), ("REGION", "us-east-1")):
        monkeypatch.setenv(f"AWS_{name}", os.environ.get(f"NMT_PREP_TEST_S3_{name}", value))
    shutil.copytree(finished, tmp_path / "place")
    bucket = f"b-{hashlib.sha256(f'{request.node.name}{time.time_ns()}'.encode()).hexdigest()[:20]}"
    return Scene(tmp_path / "place", port, bucket)


def test_published_and_fetched(scene: Scene, tmp_path: Path) -> None:
    scene.run()
    scene.assert_published()
    scene.run(shards=2)
    scene.assert_published()
    copy = nmt_prep.fetch_run(scene.url, tmp_path / "copy", options={"endpoint_url": scene.endpoint})
    there = {name: hashlib.sha256(content).hexdigest() for name, content in scene.there().items()}
    assert tree(copy) == there


def test_a_file_of_several_parts(scene: Scene, tmp_path: Path) -> None:
    store = ObjectStore(scene.url, {"endpoint_url": scene.endpoint}, OutputError)
    content = random.Random(1).randbytes(40_000_000)
    (tmp_path / "file").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    assert store.upload(tmp_path / "file", "large", lambda _: None) == digest
    assert store.sizes() == {"large": 40_000_000}
    assert store.download("large", tmp_path / "copy", lambda _: None) == digest


def test_an_aborted_upload_creates_no_object(scene: Scene, tmp_path: Path) -> None:
    store = ObjectStore(scene.url, {"endpoint_url": scene.endpoint}, OutputError)
    (tmp_path / "file").write_bytes(bytes(40_000_000))
    done = 0

    def stop(size: int) -> None:
        nonlocal done
        done += size
        if done > 30_000_000:
            raise OutputError("given up")

    with pytest.raises(OutputError, match="given up"):
        store.upload(tmp_path / "file", "large", stop)
    assert store.sizes() == {}
    assert scene.system.list_multipart_uploads(scene.url.split("/")[2]) in (None, [])


def test_an_unreliable_server(scene: Scene, tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.corpora.sources.objects.RETRIES", 20)
    with UnreliableProxy(port, 0.3) as proxy:
        scene.run(endpoint=proxy.url)
        scene.assert_published()
        copy = nmt_prep.fetch_run(scene.url, tmp_path / "copy", options={"endpoint_url": proxy.url})
        assert len(tree(copy)) == 16
    monkeypatch.setattr("nmt_prep.corpora.sources.objects.RETRIES", 0)
    failures: list[str] = []
    with UnreliableProxy(port, 0.9, most=20_000) as proxy:
        for shards in (2, 4, 3):
            while (failure := scene.failure(shards, endpoint=proxy.url)) and len(failures) < 200:
                failures.append(failure)
                scene.assert_sound()
            scene.assert_published()
    assert proxy.troubles >= 3
    assert [failure for failure in failures if "run again" not in failure] == []


@pytest.mark.parametrize("made", [True, False])
def test_permanent_errors(scene: Scene, monkeypatch: pytest.MonkeyPatch, made: bool) -> None:
    if made:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
        message = r"no credentials were found; .*AWS_ACCESS_KEY_ID"
    else:
        scene.system.rmdir(scene.url.split("/")[2])
        message = (
            r"enzh/nmt_prep-unfinished\.json: there is no such object or bucket; create the bucket, or correct the url$"
        )
    with pytest.raises(OutputError, match=message):
        scene.run(options={"endpoint_url": scene.endpoint, "skip_instance_cache": True})


def test_an_unreachable_server(scene: Scene) -> None:
    with pytest.raises(
        OutputError, match=r"^s3://.*: the request failed .*; check the network and the storage, and run again"
    ):
        scene.run(endpoint="http://127.0.0.1:9")
