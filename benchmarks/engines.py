"""Measures the overhead of engines and checks that they give the same bytes: threads, Dask, job arrays.

    python -m benchmarks.engines [--megabytes 1000] [--repeats 2] [RUN …]

A RUN is ``local:N`` (N threads), ``dask:N`` (N processes of a Dask cluster on this machine), ``harmed:N`` (the same,
but a process is killed every ``--kill-every`` seconds, and one is frozen) or ``array:N`` (job arrays of N members, in
random order; two members of each round are killed and repeated). The default is ``local:2 dask:2``. Runs are
interleaved, and each has its own cache. The text is generated, in a temporary directory. Overheads are relative to the
fastest repeat of the first RUN. The memory of each process is shown beside its share of ``engine.memory``. The exit
status is 1 if bytes differ or a process exceeds its share. On a busy machine, compare CPU times instead of wall-clock
times. Needs the extra ``dask``.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from benchmarks.engine_runs import Watched
from benchmarks.generated import settings, write_generated

FROZEN_SECONDS = 10
"""Seconds after which Dask replaces a frozen worker."""


def engine(kind: str, workers: int, memory: int) -> dict[str, Any]:
    if kind in ("local", "array"):
        return {"kind": "local", "workers": workers if kind == "local" else 1, "memory": memory}
    cluster = {"kind": "local", "workers": workers}
    frozen = {"frozen_seconds": FROZEN_SECONDS} if kind == "harmed" else {}
    return {"kind": "dask", "cluster": cluster, "memory": memory, **frozen}


def share_of(kind: str, workers: int, memory: int, below: bool) -> int:
    """Returns the memory limit of a process; the one that trains vocabularies may use all, while workers are idle."""
    return memory // workers if below else memory


def digests(run: Path) -> dict[str, str]:
    """Returns the digests of all files of a run except its lock."""
    found = {}
    for path in sorted(run.rglob("*")):
        if path.is_file() and path.name != "lock":
            with path.open("rb") as file:
                found[str(path.relative_to(run))] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def measured(root: Path, config: dict[str, Any], kind: str, workers: int, kill_every: float) -> Watched:
    """Runs a config in a directory and writes its file there."""
    file = root / "config.yaml"
    file.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    watched = Watched(file, root / "cache")
    if kind == "harmed":
        watched.run_harmed(kill_every)
    elif kind == "array":
        watched.run_array(workers)
    else:
        watched.run()
    return watched


def show(name: str, watched: Watched, stages: bool) -> None:
    harmed = f", {watched.harmed} processes killed or frozen" if watched.harmed else ""
    print(f"{name}: {watched.seconds:.1f} s, {watched.cpu:.1f} s of CPU time{harmed}")
    if stages:
        for stage, (seconds, cpu) in watched.stages().items():
            print(f"  {stage:10}{seconds:8.2f} s{cpu:8.2f} s of CPU time")


def show_memory(kind: str, workers: int, memory: int, watched: Watched) -> bool:
    """Prints the peak memory of processes; returns True if all kept to their shares."""
    kept = True
    for below, label in ((False, "main process"), (True, "worker")):
        peaks = sorted((peak for (part, _), peak in watched.peaks.items() if part == below), reverse=True)
        if peaks:
            share = share_of(kind, workers, memory, below)
            kept &= peaks[0] <= share
            held = ", ".join(f"{peak / 1e6:,.0f}" for peak in peaks[:8])
            more = f" and {len(peaks) - 8} more" if len(peaks) > 8 else ""
            print(f"  {label}: {held}{more} MB of {share / 1e6:,.0f}{'' if peaks[0] <= share else ' EXCEEDED'}")
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", metavar="RUN", default=["local:2", "dask:2"])
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--memory", type=int, default=2_000_000_000, help="engine.memory in bytes")
    parser.add_argument("--kill-every", type=float, default=3.0, metavar="SECONDS")
    parser.add_argument("--kind", default="t2t", help="of vocabularies")
    parser.add_argument("--directory", type=Path, help="directory to work in (default: a temporary one)")
    options = parser.parse_args()
    runs = [(name, kind, int(number)) for name in options.runs for kind, _, number in [name.partition(":")]]
    expected: dict[str, str] = {}
    good = True
    best: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory(dir=options.directory) as temporary:
        text, root = Path(temporary), Path(temporary, "once")
        pairs, size = write_generated(text, int(options.megabytes * 1e6))
        print(f"{pairs:,} pairs, {size / 1e6:,.0f} MB", flush=True)
        for name, kind, workers in runs * options.repeats:
            root.mkdir()
            config = settings(text, options.kind)
            config |= {"output_dir": str(root / "run"), "engine": engine(kind, workers, options.memory)}
            watched = measured(root, config, kind, workers, options.kill_every)
            show(name, watched, stages=kind != "array")
            good &= show_memory(kind, workers, options.memory, watched)
            seconds, cpu = best.get(name, (watched.seconds, watched.cpu))
            best[name] = min(seconds, watched.seconds), min(cpu, watched.cpu)
            found = digests(root / "run")
            expected = expected or found
            if found != expected:
                good = False
                print(f"  DIFFERENT: {sorted(dict(found.items() ^ expected.items()))}")
            sys.stdout.flush()
            shutil.rmtree(root)
    first = best[runs[0][0]]
    for name, took in list(best.items())[1:]:
        more = [100 * after / before - 100 for before, after in zip(first, took, strict=True)]
        print(f"{name} against {runs[0][0]}: {more[0]:+.1f} % of wall-clock time, {more[1]:+.1f} % of CPU time")
    print(f"{len(expected)} files, {'the same bytes everywhere, memory kept' if good else 'NOT as it should be'}")
    sys.exit(not good)


if __name__ == "__main__":
    main()
