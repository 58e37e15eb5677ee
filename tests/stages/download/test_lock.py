"""Tests of the lock file, the shared cache, and files that are fetched by hand."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.digests import cache_directory
from nmt_prep.base.errors import ConfigError, DownloadError
from nmt_prep.base.progress import Progress
from nmt_prep.config import Config
from nmt_prep.corpora.sources.lockfile import LockFile
from nmt_prep.pipeline.drivers import Outcome, Step
from nmt_prep.pipeline.engines import LocalEngine
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.pipeline.pipeline import Pipeline
from nmt_prep.stages.download import Download
from tests.server import Answer, WebServer
from tests.stages.runs import config_of

ABC = hashlib.sha256(b"abc").hexdigest()
DEF = hashlib.sha256(b"def").hexdigest()


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "t.lock"


def corpus(source: Any, target: Any, **more: Any) -> dict[str, Any]:
    return {"name": "c", "url": {"source": source, "target": target}, **more}


def pipeline(config: Config, lock: Path | None, *, renew: bool = False) -> Pipeline:
    return Pipeline((Download(),), config, Progress(), LockFile(lock, renew=renew))


def download(config: Config, lock: Path | None) -> Outcome:
    return pipeline(config, lock).run(LocalEngine(2))[0]


def renew(config: Config, lock: Path) -> Outcome:
    return pipeline(config, lock, renew=True).run(LocalEngine(2), force=("download",))[0]


def plan(config: Config, lock: Path | None) -> Step:
    return pipeline(config, lock).plan()[0]


def locked(lock: Path) -> dict[str, str]:
    return {url: facts["sha256"] for url, facts in json.loads(lock.read_text())["files"].items()}


def test_the_first_download_is_noted(server: WebServer, tmp_path: Path, lock: Path) -> None:
    (tmp_path / "a.zh").write_bytes(b"local")
    moved = server.give("/moved", Answer(b"abc", headers={"ETag": '"one"'}))
    url = server.give("/a", Answer(status=302, headers={"Location": "/moved"}))
    config = config_of(tmp_path, corpus(url, "a.zh"))
    download(config, lock)
    facts = json.loads(lock.read_text())["files"]
    assert list(facts) == [url]
    time = facts[url].pop("time")
    assert facts[url] == {"etag": '"one"', "sha256": ABC, "size": 3, "url": moved}
    assert len(time) == 20
    assert (plan(config, lock).fresh, download(config, lock).ran) == (True, False)


def test_nothing_is_noted_of_local_files(tmp_path: Path, lock: Path) -> None:
    (tmp_path / "a").write_bytes(b"local")
    download(config_of(tmp_path, corpus("a", (tmp_path / "a").as_uri())), lock)
    assert not lock.exists()


def test_the_lock_leaves_no_trace_in_a_run(server: WebServer, tmp_path: Path, lock: Path) -> None:
    config = config_of(tmp_path, corpus(server.give("/a", b"abc"), server.give("/b", b"def")))
    download(config, lock)

    def files() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in config.run_dir.rglob("*") if path.is_file()}

    with_lock = files()
    shutil.rmtree(config.run_dir)
    download(config, None)
    assert files() == with_lock


def test_a_download_that_changed(server: WebServer, tmp_path: Path, lock: Path) -> None:
    url = server.give("/a", b"abc", b"abd")
    config = config_of(tmp_path, corpus(url, url), download={"cache": False})
    download(config, lock)
    shutil.rmtree(config.run_dir)
    with pytest.raises(DownloadError) as caught:
        download(config, lock)
    found = hashlib.sha256(b"abd").hexdigest()
    assert str(caught.value) == (
        f"{url}: expected SHA-256 {ABC}, found {found} (3 bytes); the file was changed or damaged there: {lock} has "
        "its first digest; use another mirror, or if the change is intended, renew the lock with "
        "`nmt-prep lock CONFIG --update c`"
    )
    assert locked(lock) == {url: ABC}
    renew(config, lock)
    assert locked(lock) == {url: found}
    assert not download(config, lock).ran


def test_the_lock_applies_to_mirrors(server: WebServer, tmp_path: Path, lock: Path) -> None:
    url, other = server.give("/a", b"abc"), server.give("/other", b"abd")
    config = config_of(tmp_path, corpus([url, other], url), download={"cache": False, "retries": 0})
    download(config, lock)
    shutil.rmtree(config.run_dir)
    server.give("/a", Answer(status=404))
    with pytest.raises(DownloadError, match=rf"all 2 mirrors failed:(?s:.*)/other: expected SHA-256 {ABC}"):
        download(config, lock)
    mirrors = [server.give("/new", b"abc"), url]
    added = config_of(tmp_path, corpus(mirrors, mirrors), download={"cache": False})
    download(added, lock)
    assert locked(lock) == {url: ABC, f"{server.url}/new": ABC}


def test_a_lock_changed_by_another_process(server: WebServer, tmp_path: Path, lock: Path) -> None:
    url = server.give("/a", b"abc")
    config = config_of(tmp_path, corpus(url, url))
    download(config, lock)
    facts = json.loads(lock.read_text())
    facts["files"][url]["sha256"] = DEF
    lock.write_text(json.dumps(facts))
    assert plan(config, lock).reason == "splits.train.c.url.source is another file in t.lock"
    with pytest.raises(DownloadError, match=f"expected SHA-256 {DEF}, found {ABC}"):
        download(config, lock)
    server.give("/a", b"def")
    assert download(config, lock).ran
    assert not download(config, lock).ran


def test_a_lost_lock_is_rewritten_without_the_network(server: WebServer, tmp_path: Path, lock: Path) -> None:
    url = server.give("/a", b"abc")
    config = config_of(tmp_path, corpus(url, url))
    download(config, None)
    assert plan(config, lock).reason == "splits.train.c.url.source is not in t.lock"
    download(config, lock)
    assert locked(lock) == {url: ABC}
    assert server.asked == ["/a"]


def test_a_checksum_in_the_config_overrides_the_lock(server: WebServer, tmp_path: Path, lock: Path) -> None:
    url = server.give("/a", b"abc", b"def")
    download(config_of(tmp_path, corpus(url, url)), lock)
    pinned = config_of(tmp_path, corpus(url, url, sha256={"source": DEF, "target": DEF}))
    download(pinned, lock)
    assert locked(lock) == {url: DEF}
    assert not download(pinned, lock).ran


def test_a_failed_update_leaves_the_lock_unchanged(server: WebServer, tmp_path: Path, lock: Path) -> None:
    one, two = server.give("/a", b"abc"), server.give("/b", b"def")
    config = config_of(tmp_path, corpus(one, two), download={"retries": 0})
    download(config, lock)
    before = lock.read_bytes()
    server.give("/a", b"new")
    server.give("/b", Answer(status=500))
    with pytest.raises(DownloadError):
        renew(config, lock)
    assert lock.read_bytes() == before


def test_no_secret_is_kept(server: WebServer, tmp_path: Path, lock: Path) -> None:
    server.give("/a?token=s3cret", b"abc")
    host = server.url.removeprefix("http://")
    url = f"http://user:s3cret@{host}/a?token=s3cret"
    config = config_of(tmp_path, corpus(url, url))
    download(config, lock)
    assert locked(lock) == {f"http://{host}/a?token=***": ABC}
    kept = [path for path in (*tmp_path.rglob("*"), *cache_directory().rglob("*")) if path.is_file()]
    assert len(kept) > 5
    assert [path for path in kept if b"s3cret" in path.read_bytes()] == []
    changed = config_of(tmp_path, corpus(url.replace("s3cret", "another"), url.replace("s3cret", "another")))
    assert plan(changed, lock).fresh


def test_other_runs_share_fetched_files(server: WebServer, tmp_path: Path, lock: Path) -> None:
    url = server.give("/a.tgz", b"abc")
    download(config_of(tmp_path / "one", corpus(url, url)), lock)
    config = config_of(tmp_path / "two", corpus(url, url))
    download(config, lock)
    assert server.asked == ["/a.tgz"]
    assert (config.run_dir / "downloads" / ABC / "a.tgz").read_bytes() == b"abc"


def test_files_are_shared_by_digest_only(server: WebServer, tmp_path: Path) -> None:
    url = server.give("/a", b"abc", b"def")
    download(config_of(tmp_path / "one", corpus(url, url)), None)
    config = config_of(tmp_path / "two", corpus(url, url))
    download(config, None)
    manifest = read_manifest(Workspace(config.run_dir).manifest("download"))
    assert manifest is not None
    assert list(manifest.files.values()) == [DEF]


def test_without_the_cache(server: WebServer, tmp_path: Path, lock: Path) -> None:
    url = server.give("/a", b"abc")
    download(config_of(tmp_path, corpus(url, url), download={"cache": False}), lock)
    assert not (cache_directory() / "downloads").exists()


def test_changed_download_options_rerun_nothing(server: WebServer, tmp_path: Path) -> None:
    url = server.give("/a", b"abc")
    download(config_of(tmp_path, corpus(url, url)), None)
    options = {"parallel": 1, "retries": 0, "max_file_bytes": "1KB", "max_bytes_per_second": "1MB", "cache": False}
    changed = config_of(tmp_path, corpus(url, url), download=options)
    assert plan(changed, None).fresh


def test_limits_of_the_config_apply(server: WebServer, tmp_path: Path) -> None:
    url = server.give("/a", b"x" * 1001)
    with pytest.raises(DownloadError, match="larger than the maximum of 1,000 bytes"):
        download(config_of(tmp_path, corpus(url, url), download={"max_file_bytes": "1KB"}), None)


def test_an_interrupted_file_resumes_in_the_next_run(server: WebServer, tmp_path: Path) -> None:
    content = bytes(range(256)) * 100
    whole = Answer(content, headers={"ETag": '"one"'}, ranges=True)
    url = server.give("/a", Answer(content, headers={"ETag": '"one"'}, cut=20_000))
    config = config_of(tmp_path, corpus(url, url), download={"retries": 0})
    with pytest.raises(DownloadError):
        download(config, None)
    server.give("/a", whole)
    download(config, None)
    assert server.headers[-1]["Range"] == "bytes=20000-"
    assert not (config.run_dir / "downloads" / ".incoming").exists()


def test_files_that_are_fetched_by_hand(tmp_path: Path) -> None:
    un = {"name": "un", "url": "un.tar", "source": "a", "target": "b", "manual": "Register at https://un.example."}
    config = config_of(tmp_path, un, corpus("a.en", "a.zh", manual="Ask the authors."))
    with pytest.raises(DownloadError) as caught:
        download(config, None)
    assert str(caught.value) == (
        "these files must be fetched by hand, and are missing:\n"
        f"  splits.train.un.url: put it at {tmp_path}/un.tar\n    Register at https://un.example.\n"
        f"  splits.train.c.url.source: put it at {tmp_path}/a.en\n    Ask the authors.\n"
        f"  splits.train.c.url.target: put it at {tmp_path}/a.zh\n    Ask the authors."
    )
    for name in ("un.tar", "a.en", "a.zh"):
        (tmp_path / name).write_bytes(b"abc")
    assert download(config, None).ran


@pytest.mark.parametrize("url", ["http://host/a.tar", ["a.tar", "https://host/a.tar"], "opus:Books/v1/en-zh"])
def test_a_file_fetched_by_hand_needs_a_path(tmp_path: Path, url: Any) -> None:
    with pytest.raises(ConfigError, match="fetched by hand: url must be the path of that file"):
        config_of(tmp_path, {"name": "c", "url": url, "source": "a", "target": "b", "manual": "Ask."})
