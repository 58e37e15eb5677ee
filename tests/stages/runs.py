"""Runs of the stages up to sample on small test corpora."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.progress import Progress
from nmt_prep.config import Config
from nmt_prep.pipeline.drivers import Outcome, Step
from nmt_prep.pipeline.engines import LocalEngine
from nmt_prep.pipeline.manifest import Manifest, Workspace, read_manifest
from nmt_prep.pipeline.pipeline import Pipeline
from nmt_prep.runs.checks import check_config
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.download import Download
from nmt_prep.stages.extract import Extract
from nmt_prep.stages.sample import Sample

BT = {"bt": {"python": "tests.stages.runs:translated", "input": "target", "output": "text"}}


def translated(target: pa.Array) -> pa.Array:
    """Returns lines in capitals."""
    return pc.utf8_upper(target)


def settings_of(directory: Path, *train: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Returns the keys of a config of corpora, whose run directory is ``run``."""
    splits = {"train": list(train), **more.pop("splits", {})}
    base = {"name": "t", "languages": {"source": "en", "target": "zh"}, "output_dir": str(directory / "run"), "seed": 1}
    return {**base, "splits": splits, **more}


def config_of(directory: Path, *train: dict[str, Any], **more: Any) -> Config:
    return check_config(settings_of(directory, *train, **more), "test config").within(directory)


def run(
    config: Config,
    until: str = "sample",
    workers: int = 2,
    force: Collection[str] = (),
    progress: Progress | None = None,
) -> list[Outcome]:
    """Runs the stages."""
    return _pipeline(config, progress).run(LocalEngine(workers), until=until, force=force)


def run_of(directory: Path, *train: dict[str, Any], until: str = "sample", **more: Any) -> Config:
    """Runs the stages on corpora; returns the config."""
    config = config_of(directory, *train, **more)
    run(config, until=until)
    return config


def steps(config: Config) -> list[Step]:
    """Returns the plan for :func:`run`."""
    return _pipeline(config).plan()


def manifest(config: Config, stage: str) -> Manifest:
    found = read_manifest(Workspace(config.run_dir).manifest(stage))
    assert found is not None
    return found


def _pipeline(config: Config, progress: Progress | None = None) -> Pipeline:
    stages = [stage for stage in (Download(), Extract(), Compile(), Clean(), Sample()) if stage.applies(config)]
    return Pipeline(stages, config, progress or Progress())
