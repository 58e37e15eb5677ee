from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from _nmt_prep_core import block_facts

from nmt_prep.base.errors import DownloadError
from nmt_prep.config import Config
from nmt_prep.pipeline.manifest import Workspace
from nmt_prep.runs.runner import plan
from nmt_prep.runs.runner import run as verified_run
from tests.server import Answer, WebServer
from tests.stages.runs import config_of, manifest, run

ABC = hashlib.sha256(b"abc").hexdigest()


def corpus(name: str, source: Any, target: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "url": {"source": source, "target": target}, **more}


def download(config: Config) -> dict[str, Any]:
    run(config, until="download")
    return dict(manifest(config, "download").details["files"])


def entry(content: bytes, name: str, local: bool) -> dict[str, object]:
    """Returns the entry of a file; a local one must be one line without a newline, no archive and not compressed."""
    facts = {"size": len(content), "step": 1 << 20, "newlines": [0], "hashes": [block_facts(content)[1]]}
    steps = {**facts, "unended": True} if local else None
    digest = hashlib.sha256(content).hexdigest()
    return {"sha256": digest, "size": len(content), "name": name, "local": local, "steps": steps}


def stored(config: Config) -> dict[str, bytes]:
    root = config.run_dir / "downloads"
    paths = (path for path in root.rglob("*") if path.is_file() and not {".notes", ".incoming"} & {*path.parts})
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


def test_remote_and_local_files(server: WebServer, tmp_path: Path) -> None:
    (tmp_path / "a.zh").write_bytes(b"local")
    config = config_of(tmp_path, corpus("c", server.give("/x/a.en", b"abc"), "a.zh"))
    assert download(config) == {
        "train/c/source": entry(b"abc", "a.en", local=False),
        "train/c/target": entry(b"local", "a.zh", local=True),
    }
    assert stored(config) == {f"{ABC}/a.en": b"abc"}
    assert manifest(config, "download").files == {f"{ABC}/a.en": ABC}


def test_one_url_of_several_corpora_is_fetched_once(server: WebServer, tmp_path: Path) -> None:
    url = server.give("/dev.tgz", b"abc")
    train = [{"name": name, "url": url, "source": "a", "target": "b"} for name in ("x", "y")]
    config = config_of(tmp_path, *train, splits={"dev": [{"name": "x", "url": url, "source": "c", "target": "d"}]})
    assert sorted(download(config)) == ["dev/x/both", "train/x/both", "train/y/both"]
    assert server.asked == ["/dev.tgz"]


def test_the_serving_mirror_does_not_change_the_output(server: WebServer, tmp_path: Path) -> None:
    first, second, target = f"{server.url}/a.en", server.give("/other-name", b"abc"), server.give("/a.zh", b"def")
    config = config_of(tmp_path, corpus("c", [first, second], target))
    server.answers["/a.en"] = [Answer(status=404), Answer(b"abc")]
    details = download(config)
    assert details["train/c/source"] == entry(b"abc", "a.en", local=False)
    again = config_of(tmp_path / "again", corpus("c", [first, second], target))
    assert download(again) == details
    assert manifest(again, "download").output_digest == manifest(config, "download").output_digest
    assert sorted(server.asked) == ["/a.en", "/a.en", "/a.zh", "/a.zh", "/other-name"]


def test_another_corpus_fetches_only_its_own(server: WebServer, tmp_path: Path) -> None:
    first = corpus("c", server.give("/a", b"abc"), server.give("/b", b"def"))
    download(config_of(tmp_path, first))
    second = corpus("d", server.give("/c", b"ghi"), server.give("/a", b"abc"))
    download(config_of(tmp_path, first, second))
    assert sorted(server.asked) == ["/a", "/b", "/c"]


def test_a_pinned_file_is_taken_from_the_store(server: WebServer, tmp_path: Path) -> None:
    place = tmp_path / "run" / "downloads" / ABC
    place.mkdir(parents=True)
    (place / "a.en").write_bytes(b"abc")
    pinned = {"source": ABC, "target": ABC}
    config = config_of(tmp_path, corpus("c", f"{server.url}/a.en", f"{server.url}/b.zh", sha256=pinned))
    assert download(config)["train/c/target"] == entry(b"abc", "b.zh", local=False)
    assert server.asked == []
    assert stored(config) == {f"{ABC}/a.en": b"abc", f"{ABC}/b.zh": b"abc"}


def test_force_fetches_files_that_are_not_pinned(server: WebServer, tmp_path: Path) -> None:
    urls = server.give("/a", b"abc", b"abd"), server.give("/b", b"def")
    pinned = {"target": hashlib.sha256(b"def").hexdigest()}
    config = config_of(tmp_path, corpus("c", *urls, sha256=pinned))
    download(config)
    run(config, until="download", force=("download",))
    assert sorted(server.asked) == ["/a", "/a", "/b"]
    assert manifest(config, "download").details["files"]["train/c/source"] == entry(b"abd", "a", local=False)


def test_files_and_bytes_are_counted(server: WebServer, tmp_path: Path) -> None:
    (tmp_path / "a.zh").write_bytes(b"local")
    url = server.give("/a", b"abc")
    config = config_of(tmp_path, corpus("c", url, "a.zh"), corpus("d", url, "a.zh"))
    download(config)
    assert manifest(config, "download").counts.other == {"files": 2, "bytes": 8}


def test_a_damaged_file_is_fetched_again(server: WebServer, tmp_path: Path) -> None:
    config = config_of(tmp_path, corpus("c", server.give("/a", b"abc"), server.give("/b", b"def")))
    download(config)
    (config.run_dir / "downloads" / ABC / "a").write_bytes(b"ab")
    outcomes = run(config, until="download")
    assert (outcomes[0].ran, outcomes[0].reason.endswith("/a was changed after it was made")) == (True, True)
    assert server.asked.count("/a") == 2
    assert server.asked.count("/b") == 1
    assert stored(config)[f"{ABC}/a"] == b"abc"


def test_a_changed_checksum_fetches_again(server: WebServer, tmp_path: Path) -> None:
    url = server.give("/a.tgz", b"old", b"abc")
    corpus_of = {"name": "c", "url": url, "source": "a", "target": "b"}
    download(config_of(tmp_path, corpus_of))
    details = download(config_of(tmp_path, {**corpus_of, "sha256": ABC}))
    assert details == {"train/c/both": entry(b"abc", "a.tgz", local=False)}


def test_two_checksums_for_one_url(server: WebServer, tmp_path: Path) -> None:
    url = server.give("/a", b"abc")
    pinned = {"source": ABC, "target": "0" * 64}
    with pytest.raises(
        DownloadError,
        match=rf"splits.train.c.url.source expects SHA-256 {ABC}, but splits.train.c.url.target expects 0000",
    ):
        download(config_of(tmp_path, corpus("c", url, url, sha256=pinned)))


def test_a_local_file_is_pinned_too(tmp_path: Path) -> None:
    for name in ("a.en", "a.zh"):
        (tmp_path / name).write_bytes(b"x\n")
    config = config_of(tmp_path, corpus("c", "a.en", "a.zh", sha256={"source": ABC}))
    with pytest.raises(DownloadError, match=rf"^{tmp_path}/a\.en: expected SHA-256 {ABC}, found 73cb3858"):
        download(config)


def test_the_first_local_path_that_exists(tmp_path: Path) -> None:
    (tmp_path / "b.en").write_bytes(b"abc")
    (tmp_path / "a.zh").write_bytes(b"def")
    config = config_of(tmp_path, corpus("c", ["a.en", "b.en"], "a.zh"))
    assert download(config)["train/c/source"] == entry(b"abc", "b.en", local=True)


def test_a_missing_local_file(tmp_path: Path) -> None:
    with pytest.raises(
        DownloadError, match=r"cannot read .*a\.en \(splits\.train\.c\.url\.source in the config\): No such file"
    ):
        download(config_of(tmp_path, corpus("c", "a.en", "a.zh")))


@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
def test_a_local_path_that_is_not_a_file(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(
        DownloadError, match=r"cannot read .* \(splits\.train\.c\.url\.source in the config\): it is not a regular file"
    ):
        download(config_of(tmp_path, corpus("c", name, "a")))


def test_verify_finds_a_download_that_differs_from_its_digest(server: WebServer, tmp_path: Path) -> None:
    config = config_of(tmp_path, corpus("c", server.give("/a", b"a\n"), server.give("/b", b"b\n")))
    before = download(config)
    digest, other = hashlib.sha256(b"a\n").hexdigest(), hashlib.sha256(b"x\n").hexdigest()
    (config.run_dir / "downloads" / digest / "a").write_bytes(b"x\n")
    path = Workspace(config.run_dir).manifest("download")
    path.write_text(path.read_text().replace(f'/a": "{digest}"', f'/a": "{other}"'))
    assert plan(config)[0].reason == "nothing changed"
    reason = f"{config.run_dir}/downloads/{digest}/a does not have the digest in its name"
    assert plan(config, verify=True)[0].reason == reason
    assert verified_run(config, until="download", verify=True)[0].reason == reason
    assert download(config) == before
    assert plan(config, verify=True)[0].reason == "nothing changed"
