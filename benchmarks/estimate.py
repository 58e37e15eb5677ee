"""Accuracy of ``nmt-prep plan --estimate``: a measured run is scaled to ten times as much text.

    python -m benchmarks.estimate [--megabytes 1000] [--measured 100] [--kind t2t] [--workers N] [--directory DIR]

The text is generated; the directory is temporary, and removed. Ratios are predicted to measured. Where others use
the machine too, the measured seconds are too many; the seconds of the processor beside them hardly change.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import yaml

from benchmarks.engine_runs import Watched
from benchmarks.generated import settings, write_generated
from nmt_prep.checks import check_config
from nmt_prep.estimates import Machines, StageEstimate, configured_corpora, estimate, gigabytes
from nmt_prep.runtime.cores import available_cores
from nmt_prep.sources.lockfile import LockFile


def measured_run(root: Path, cache: Path, kind: str, size: int, workers: int) -> Watched:
    """Runs the pipeline over so much text in a directory of its own."""
    root.mkdir()
    write_generated(root, size)
    file = root / "config.yaml"
    file.write_text(yaml.safe_dump(settings(root, kind), sort_keys=False), encoding="utf-8")
    watched = Watched(file, cache)
    watched.run("--no-preview", "--workers", str(workers))
    return watched


def predicted(root: Path, cache: Path, kind: str, workers: int) -> list[StageEstimate]:
    """Estimates the run in a directory by the notes in a cache."""
    os.environ["NMT_PREP_CACHE"] = str(cache)
    config = check_config(settings(root, kind), "benchmark")
    machines = Machines(workers, max(workers, available_cores()), config.engine.memory)
    return estimate(config, configured_corpora(config, root, LockFile(None)), machines)


def row(name: str, predicted: float, measured: float, worked: float, memory: str = "") -> None:
    ratio = predicted / measured if measured else float("nan")
    print(f"{name:18}{predicted:10.2f}{measured:10.2f}{ratio:7.2f}{worked:11.2f}{memory:>20}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--measured", type=float, default=100, help="megabytes of the run that is scaled")
    parser.add_argument("--kind", default="t2t", help="of vocabularies")
    parser.add_argument("--workers", type=int, default=available_cores())
    parser.add_argument("--directory", type=Path, help="where to work; the system's for temporary files if left out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        root = Path(name)
        cache = root / "cache"
        measured_run(root / "small", cache, options.kind, int(options.measured * 1e6), options.workers)
        # The second run has a cache of its own, so that what it measures is not in what is predicted.
        size = int(options.megabytes * 1e6)
        watched = measured_run(root / "large", root / "another", options.kind, size, options.workers)
        found = predicted(root / "large", cache, options.kind, options.workers)
        took = watched.stages()
    print(f"{'':18}{'predicted':>10}{'measured':>10}{'ratio':>7}{'processor':>11}{'memory':>20}")
    for stage in found:
        row(stage.stage, stage.seconds, *took[stage.stage], gigabytes(stage.memory))
    row("total", sum(stage.seconds for stage in found), *map(sum, zip(*took.values(), strict=True)))
    print(f"memory measured: {gigabytes(max(watched.peaks.values()))}")


if __name__ == "__main__":
    main()
