"""Damaged archives: they are not pinned when they arrive, and later errors give advice."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.digests import cache_directory
from nmt_prep.base.errors import ArchiveError, DownloadError
from nmt_prep.base.progress import Progress
from nmt_prep.config import Config
from nmt_prep.corpora.sources.lockfile import LockFile
from nmt_prep.pipeline.engines import LocalEngine
from nmt_prep.pipeline.pipeline import Pipeline
from nmt_prep.stages.download import Download
from nmt_prep.stages.extract import Extract
from tests.server import WebServer
from tests.stages.runs import config_of

GOOD = gzip.compress(b"one\teins\n" * 5000, mtime=0)
CUT = GOOD[:-9]


def corpus(url: Any, **more: Any) -> dict[str, Any]:
    return {"name": "c", "url": url, "format": "tsv", **more}


def run(config: Config, lock: Path | None, *, renew: bool = False, until: str = "extract") -> None:
    stages = (Download(), Extract())
    pipeline = Pipeline(stages, config, Progress(), LockFile(lock, renew=renew))
    pipeline.run(LocalEngine(1), until=until, force=("download",) if renew else ())


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def pinned(lock: Path) -> list[str]:
    return [facts["sha256"] for facts in json.loads(lock.read_text())["files"].values()]


def copies(config: Config) -> list[Path]:
    roots = (config.run_dir / "downloads", cache_directory() / "downloads")
    return [path for root in roots for path in root.rglob("*") if path.is_file() and ".notes" not in path.parts]


def test_a_damaged_download_is_not_kept(server: WebServer, tmp_path: Path) -> None:
    lock = tmp_path / "t.lock"
    url = server.give("/a.tsv.gz", CUT, GOOD)
    config = config_of(tmp_path, corpus(url))
    with pytest.raises(DownloadError) as caught:
        run(config, lock)
    assert str(caught.value) == (
        f"{url}: all {len(CUT)} bytes were received, but the file is damaged (Compressed file ended before the "
        "end-of-stream marker was reached); it is damaged on the server or was damaged in transit, and is deleted: "
        "run again later, or use another mirror"
    )
    assert not lock.exists()
    assert copies(config) == []
    run(config, lock)
    assert pinned(lock) == [sha256(GOOD)]
    assert server.asked == ["/a.tsv.gz"] * 2


def test_another_mirror_has_the_undamaged_file(server: WebServer, tmp_path: Path) -> None:
    lock = tmp_path / "t.lock"
    run(config_of(tmp_path, corpus([server.give("/a.tsv.gz", CUT), server.give("/b.tsv.gz", GOOD)])), lock)
    assert pinned(lock) == [sha256(GOOD)]


def test_a_damaged_file_that_was_pinned(server: WebServer, tmp_path: Path) -> None:
    lock = tmp_path / "t.lock"
    url = server.give("/a.tsv.gz", CUT, GOOD)
    config = config_of(tmp_path, corpus(url))
    lock.write_text(json.dumps({"files": {url: {"sha256": sha256(CUT), "size": len(CUT)}}, "version": 1}))
    with pytest.raises(ArchiveError) as caught:
        run(config, lock)
    assert str(caught.value).endswith(
        f"; it has the SHA-256 that {lock} gives ({sha256(CUT)}), so it was damaged when it was first fetched, and was "
        "removed: fetch it again with `nmt-prep lock CONFIG --update c`"
    )
    assert copies(config) == []
    run(config, lock, renew=True)
    assert pinned(lock) == [sha256(GOOD)]


def test_a_damaged_file_without_a_lock(server: WebServer, tmp_path: Path) -> None:
    url = server.give("/a.tsv.gz", CUT, GOOD)
    config = config_of(tmp_path, corpus(url, sha256=sha256(CUT)))
    run(config, None, until="download")
    config = config_of(tmp_path, corpus(url))
    with pytest.raises(ArchiveError, match=r"; it was already damaged when it was fetched, and was removed: run again"):
        run(config, None)
    run(config, None)
    assert server.asked == ["/a.tsv.gz"] * 2


def test_a_damaged_file_that_the_config_names(server: WebServer, tmp_path: Path) -> None:
    config = config_of(tmp_path, corpus(server.give("/a.tsv.gz", CUT), sha256=sha256(CUT)))
    for _ in range(2):
        with pytest.raises(ArchiveError) as caught:
            run(config, tmp_path / "t.lock")
        assert str(caught.value).endswith(
            f"; it has the SHA-256 that the config gives ({sha256(CUT)}), so the publisher's file is damaged: use "
            "another file or mirror, and correct sha256 in the config"
        )
    assert server.asked == ["/a.tsv.gz"]


def test_a_damaged_file_of_the_users_own(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(CUT)
    with pytest.raises(ArchiveError) as caught:
        run(config_of(tmp_path, corpus("a.tsv.gz")), None)
    assert str(caught.value).endswith(
        f"; its SHA-256 is {sha256(CUT)}: compare it with the publisher's, and replace the file by an intact copy"
    )
    assert path.read_bytes() == CUT


def test_a_file_damaged_after_its_download(server: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "t.lock"
    # Simulates a faulty disk: the bytes change, but size and times do not.
    monkeypatch.setattr("nmt_prep.base.digests.DigestCache._stamp", staticmethod(lambda _: [0, 0, 0, 0]))
    config = config_of(tmp_path, corpus(server.give("/a.tsv.gz", GOOD)))
    run(config, lock, until="download")
    [stored] = (config.run_dir / "downloads").rglob("a.tsv.gz")
    stored.write_bytes(CUT)
    with pytest.raises(ArchiveError, match=r"was removed: run again to fetch it$"):
        run(config, lock)
    monkeypatch.undo()
    monkeypatch.setenv("no_proxy", "*")
    run(config, lock)
    assert pinned(lock) == [sha256(GOOD)]
