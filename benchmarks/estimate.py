"""How near ``nmt-prep plan --estimate`` comes: constants measured on some text, a run of ten times as much.

    python -m benchmarks.estimate [--megabytes 1000] [--calibrate 100] [--kind t2t] [--workers N] [--directory DIR]

The text is generated; the directory is temporary, and removed. Ratios are predicted to measured. Where others use
the machine too, the measured seconds are too many; the seconds of the processor beside them hardly change.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from nmt_prep.config import SIDES
from nmt_prep.config.file import check_config
from nmt_prep.engines.local import available_cores
from nmt_prep.estimates.advice import gigabytes
from nmt_prep.estimates.estimate import estimate
from nmt_prep.estimates.measure import measure
from nmt_prep.estimates.outcome import Estimate, Machines
from nmt_prep.estimates.runs import RunTimes, timed_run
from nmt_prep.estimates.text import generated_pairs, write_text
from nmt_prep.estimates.workload import configured_corpora
from nmt_prep.lockfile import LockFile


def settings(root: Path, kind: str) -> dict[str, Any]:
    """One corpus, and as many shards as a user would have."""
    return {
        "name": "benchmark",
        "languages": {"source": "en", "target": "zh"},
        "output_dir": str(root / "run"),
        "seed": 1,
        "splits": {
            "train": [{"name": "x", "format": "plain", "url": {side: str(root / f"0.{side}") for side in SIDES}}]
        },
        "vocab": {"kind": kind},
        "records": {"shards": {"train": 20}},
    }


def show(found: Estimate, measured: RunTimes) -> None:
    print(f"{'':18}{'predicted':>10}{'measured':>10}{'ratio':>7}{'processor':>11}{'memory':>20}")
    for stage in found.stages:
        times = measured.stages[stage.stage]
        memory = f"{gigabytes(stage.memory)} / {gigabytes(times.peak)}"
        row(stage.stage, stage.seconds, times.seconds, times.cpu, memory)
        for name, seconds in stage.rounds.items():
            if name in times.rounds:
                row(f"  {name}", seconds, times.rounds[name].seconds, times.rounds[name].cpu)
    took, worked = (sum(getattr(each, what) for each in measured.stages.values()) for what in ("seconds", "cpu"))
    row("in all", found.seconds, took, worked)


def row(name: str, predicted: float, measured: float, worked: float, memory: str = "") -> None:
    ratio = predicted / measured if measured else float("nan")
    print(f"{name:18}{predicted:10.2f}{measured:10.2f}{ratio:7.2f}{worked:11.2f}{memory:>20}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--calibrate", type=float, default=100, help="megabytes to measure constants on")
    parser.add_argument("--kind", default="t2t", help="of vocabularies")
    parser.add_argument("--workers", type=int, default=available_cores())
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--directory", type=Path, help="where to work; the system's for temporary files if left out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        root = Path(name)
        config = check_config(settings(root, options.kind), "benchmark")
        constants = measure(
            config,
            generated_pairs(),
            "generated",
            size=int(options.calibrate * 1e6),
            directory=root,
            repeats=options.repeats,
            told=lambda _: None,
        )
        write_text(generated_pairs(), root, 1, int(options.megabytes * 1e6), "generated")
        corpora = configured_corpora(config, root, LockFile(None), constants, None)
        cores = available_cores()
        machines = Machines(min(options.workers, cores), cores, config.engine.memory)
        found = estimate(config, corpora, constants, machines)
        show(found, timed_run(settings(root, options.kind), root / "cache", options.workers))
        if constants.busy:
            print("others used the machine while constants were measured")


if __name__ == "__main__":
    main()
