"""Measures the accuracy of ``nmt-prep plan --estimate``: scales a measured run to ten times as much text.

    python -m benchmarks.estimate [--megabytes 1000] [--measured 100] [--kind t2t] [--workers N] [--directory DIR]

The text is generated, in a temporary directory by default. Ratios are predicted divided by measured values. On a busy
machine the measured wall-clock time is too long; the CPU time beside it hardly changes.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import yaml
from rich import filesize

from benchmarks.engine_runs import Watched
from benchmarks.generated import settings, write_generated
from nmt_prep.checks import check_config
from nmt_prep.estimates import Machines, configured_corpora, estimate
from nmt_prep.pipeline.forecast import StageEstimate
from nmt_prep.runtime import available_cores
from nmt_prep.sources.lockfile import LockFile


def measured_run(root: Path, cache: Path, kind: str, size: int, workers: int) -> Watched:
    """Runs the pipeline over a number of megabytes of text in a new directory."""
    root.mkdir()
    write_generated(root, size)
    file = root / "config.yaml"
    file.write_text(yaml.safe_dump(settings(root, kind), sort_keys=False), encoding="utf-8")
    watched = Watched(file, cache)
    watched.run("--no-preview", "--workers", str(workers))
    return watched


def predicted(root: Path, cache: Path, kind: str, workers: int) -> list[StageEstimate]:
    """Estimates a run from the measurements in a cache directory."""
    os.environ["NMT_PREP_CACHE"] = str(cache)
    config = check_config(settings(root, kind), "benchmark").within(root)
    machines = Machines(workers, max(workers, available_cores()), config.engine.memory)
    return estimate(config, configured_corpora(config, LockFile(None)), machines)


def row(name: str, predicted: float, measured: float, worked: float, memory: str = "") -> None:
    ratio = predicted / measured if measured else float("nan")
    print(f"{name:18}{predicted:10.2f}{measured:10.2f}{ratio:7.2f}{worked:11.2f}{memory:>20}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--measured", type=float, default=100, help="megabytes of the run that is scaled")
    parser.add_argument("--kind", default="t2t", help="of vocabularies")
    parser.add_argument("--workers", type=int, default=available_cores())
    parser.add_argument("--directory", type=Path, help="directory to work in (default: a temporary one)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        root = Path(name)
        cache = root / "cache"
        measured_run(root / "small", cache, options.kind, int(options.measured * 1e6), options.workers)
        # The second run has its own cache, so that its measurements do not influence the prediction.
        size = int(options.megabytes * 1e6)
        watched = measured_run(root / "large", root / "another", options.kind, size, options.workers)
        found = predicted(root / "large", cache, options.kind, options.workers)
        took = watched.stages()
    print(f"{'':18}{'predicted':>10}{'measured':>10}{'ratio':>7}{'processor':>11}{'memory':>20}")
    for stage in found:
        row(stage.stage, stage.seconds, *took[stage.stage], filesize.decimal(stage.memory))
    seconds, processor_seconds = (sum(amounts) for amounts in zip(*took.values(), strict=True))
    row("total", sum(stage.seconds for stage in found), seconds, processor_seconds)
    print(f"memory measured: {filesize.decimal(max(watched.peaks.values()))}")


if __name__ == "__main__":
    main()
