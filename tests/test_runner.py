from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import ConfigError, DownloadError, HealthError
from nmt_prep.pipeline.lock import run_lock
from nmt_prep.pipeline.manifest import Workspace
from tests.corpus import corpus_config, write_corpus
from tests.server import web_server


def test_stages_that_the_config_does_not_have_are_refused(tmp_path: Path) -> None:
    config = corpus_config(tmp_path / "run")
    with pytest.raises(ConfigError, match="this config has no stage 'encod'; its stages are download, extract"):
        nmt_prep.run(config, until="encod")
    with pytest.raises(ConfigError, match="this config has no stage 'outputs'"):
        nmt_prep.plan(config, force=["outputs"])
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"force": "publish"}, r"^force is 'publish'; give a list of names: \['publish'\]$"),
        ({"force": [1]}, r"^force is \[1\]; give a list of names$"),
        ({"force": None}, r"^force is None; give a list of names$"),
        ({"renew_lock": "a"}, r"^renew_lock is 'a'; give a list of names: \['a'\]$"),
        ({"until": ["encode"]}, r"^until is \['encode'\]; give the name of one stage$"),
    ],
)
def test_names_are_not_taken_apart(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    config = corpus_config(tmp_path / "run")
    with pytest.raises(ConfigError, match=message):
        nmt_prep.run(config, **arguments)
    if "force" in arguments:
        with pytest.raises(ConfigError, match=message):
            nmt_prep.plan(config, **arguments)
    assert not (tmp_path / "run").exists()


def test_work_after_the_run_still_holds_the_lock(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    held = []

    def then(outcomes: list[object]) -> None:
        try:
            with run_lock(Workspace(tmp_path / "run"), wait=False, waiting=lambda holder: None):
                held.append(False)
        except nmt_prep.NmtPrepError:
            held.append(True)

    nmt_prep.run(corpus_config(tmp_path / "run"), until="extract", then=then)
    assert held == [True]


def test_a_run_of_a_file_does_what_the_command_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.chdir(tmp_path)
    base = {"name": "t", "languages": {"source": "en", "target": "zh"}, "output_dir": "run", "seed": 1}
    (tmp_path / "a.tsv").write_text("a\tb\n")
    with web_server() as server:
        url = server.give("/b.tsv", b"c\td\n")
        corpora = [{"name": "local", "url": "a.tsv"}, {"name": "remote", "url": url}]
        (tmp_path / "t.yaml").write_text(json.dumps({**base, "splits": {"train": corpora}}))
        outcomes = nmt_prep.run("t.yaml", until="compile")
        assert [outcome.stage for outcome in outcomes if outcome.ran] == ["download", "extract", "compile"]
        assert [*json.loads((tmp_path / "t.lock").read_text())["files"]] == [url]
        server.give("/b.tsv", b"changed\t!\n")
        elsewhere = nmt_prep.load_config("t.yaml", ["output_dir=other", "download.cache=false"])
        with pytest.raises(DownloadError, match="lock"):
            nmt_prep.run(elsewhere, until="download")
    assert [step.stage for step in nmt_prep.plan("t.yaml") if step.fresh] == ["download", "extract", "compile"]


def test_the_directory_of_a_config(tmp_path: Path) -> None:
    config = corpus_config(tmp_path / "run")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.yaml").write_text(json.dumps(json.loads(config.model_dump_json(exclude_unset=True))))
    loaded = nmt_prep.load_config(str(tmp_path / "sub" / "c.yaml"))
    assert (loaded.file, loaded.base_dir) == (tmp_path / "sub" / "c.yaml", tmp_path / "sub")
    assert pickle.loads(pickle.dumps(loaded)).base_dir == tmp_path / "sub"


def test_a_strict_run_with_warnings_publishes_nothing(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    target = tmp_path / "published"
    config = corpus_config(tmp_path / "run", publish={"url": target.as_uri()})
    seen: list[str] = []
    with pytest.raises(HealthError) as caught:
        nmt_prep.run(config, strict=True, then=lambda outcomes: seen.extend(outcome.stage for outcome in outcomes))
    first, second = str(caught.value).split("\n")
    kept = "everything that it made is kept, but nothing is published"
    assert first == f"the run ended with a warning about its data ({kept}):"
    assert second.startswith("  the source vocabulary has 112 pieces")
    assert seen[-1] == "report"
    assert not target.exists()
    nmt_prep.run(config)
    assert target.exists()
    assert nmt_prep.run(corpus_config(tmp_path / "run", vocab={"size": 112}), strict=True)
