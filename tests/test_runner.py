from __future__ import annotations

from pathlib import Path

import pytest

import nmt_prep
from nmt_prep.errors import ConfigError, HealthError
from nmt_prep.pipeline.lock import run_lock
from nmt_prep.pipeline.manifest import Workspace
from tests.corpus import corpus_config, write_corpus


def test_stages_that_the_config_does_not_have_are_refused(tmp_path: Path) -> None:
    config = corpus_config(tmp_path / "run")
    with pytest.raises(ConfigError, match="this config has no stage 'encod'; its stages are download, extract"):
        nmt_prep.run(config, until="encod")
    with pytest.raises(ConfigError, match="this config has no stage 'outputs'"):
        nmt_prep.plan(config, force=["outputs"])
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

    nmt_prep.run(corpus_config(tmp_path / "run"), base_dir=tmp_path, until="extract", then=then)
    assert held == [True]


def test_a_config_from_python_runs_like_one_from_a_file(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    outcomes = nmt_prep.run(corpus_config(tmp_path / "run"), base_dir=tmp_path, until="sample")
    assert [outcome.stage for outcome in outcomes] == ["download", "extract", "compile", "sample"]
    steps = nmt_prep.plan(corpus_config(tmp_path / "run"), base_dir=tmp_path)
    assert [step.stage for step in steps if not step.fresh] == ["vocab", "encode", "report"]


def test_a_strict_run_with_warnings_publishes_nothing(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    target = tmp_path / "published"
    config = corpus_config(tmp_path / "run", publish={"url": target.as_uri()})
    seen: list[str] = []
    with pytest.raises(HealthError) as caught:
        nmt_prep.run(
            config,
            base_dir=tmp_path,
            strict=True,
            then=lambda outcomes: seen.extend(outcome.stage for outcome in outcomes),
        )
    first, second = str(caught.value).split("\n")
    assert (
        first
        == "the run ended with a warning about its data (everything that it made is kept, but nothing is published):"
    )
    assert second.startswith("  the source vocabulary has 112 pieces")
    assert seen[-1] == "report"
    assert not target.exists()
    nmt_prep.run(config, base_dir=tmp_path)
    assert target.exists()
    assert nmt_prep.run(corpus_config(tmp_path / "run", vocab={"size": 112}), base_dir=tmp_path, strict=True)
