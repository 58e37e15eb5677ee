"""Measures a whole run: plain files of parallel text to shuffled shards, with a shared vocabulary of 32,768 pieces.

    python -m benchmarks.whole_run [SOURCE TARGET] [--megabytes 254] [--shards 100] [--repeats 2] [--set KEY=VALUE]

The text is that of the given files; by default Multi30k's captions and the news of dirty-ende, English and German, if
they lie beside the checkout, or else the toy corpus. It is repeated up to the size, with a counter in each line, so
that lines differ. Each repeat is a run of ``python -m nmt_prep run`` in a fresh directory and with
an empty cache. Printed are the seconds of each stage by the clock, the whole time of the process, its processor time in
user mode and in the kernel, its peak memory, and the speed of encoding with its shuffle: bytes of text by the seconds
of the stage encode. All repeats must give the same shards.

There is no peer: Tensor2Tensor's generator takes minutes for a hundredth of this text (benchmarks/t2t_vocabulary.py and
benchmarks/t2t_encode.py compare with its steps).
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure, Spent, best, record

REPOSITORY = Path(__file__).resolve().parents[1]
CORPORA = REPOSITORY.parent / "shared" / "corpora"
TOY = REPOSITORY / "data" / "toy" / "training-parallel-toy.tgz"
SIDES = ("source", "target")
_SECONDS_BETWEEN_LOOKS = 0.02


@dataclass(frozen=True)
class Took:
    """What a run took.

    Attributes:
        stages: seconds of each stage: by the clock, of the processor in user mode, and of it in the kernel.
        seconds: of the whole process by the clock, with its start.
        user: seconds of the processor in user mode.
        kernel: seconds of the processor in the kernel.
        peak: largest resident memory in bytes.
    """

    stages: dict[str, tuple[float, float, float]]
    seconds: float
    user: float
    kernel: float
    peak: int


def default_pairs() -> list[tuple[bytes, bytes]]:
    """Returns the pairs of the corpora beside the checkout, or those of the toy corpus."""
    if not CORPORA.exists():
        with tarfile.open(TOY) as members:
            read = [members.extractfile(f"training/toy.zh-en.{side}") for side in ("en", "zh")]
            return _pairs(*(file.read() for file in read if file is not None))
    captions = (gzip.decompress((CORPORA / f"multi30k-ende/train.{side}.gz").read_bytes()) for side in ("en", "de"))
    news = gzip.decompress((CORPORA / "dirty-ende/train.tsv.gz").read_bytes()).splitlines()
    columns = [line.split(b"\t") for line in news]
    return _pairs(*captions) + [(line[0], line[1]) for line in columns if len(line) >= 2]


def _pairs(source: bytes, target: bytes) -> list[tuple[bytes, bytes]]:
    return list(zip(source.split(b"\n")[:-1], target.split(b"\n")[:-1], strict=True))


def write_text(pairs: list[tuple[bytes, bytes]], directory: Path, size: int) -> tuple[int, int]:
    """Writes about ``size`` bytes to the files ``source`` and ``target``; returns their pairs and bytes."""
    written = 0
    with (directory / "source").open("wb") as source, (directory / "target").open("wb") as target:
        for number, (first, second) in enumerate(itertools.cycle(pairs)):
            if written >= size:
                return number, written
            counter = number // len(pairs) * 1000 + number % 1000
            written += source.write(b"%s %d\n" % (first, counter)) + target.write(b"%s %d\n" % (second, counter))
    raise AssertionError("a cycle has no end")


def measured(root: Path, text: Path, shards: int, settings: list[str]) -> Took:
    """Runs the pipeline in an empty directory."""
    config = root / "config.json"
    urls = {side: str(text / side) for side in SIDES}
    content = {
        "name": "whole",
        "languages": {"source": "en", "target": "de"},
        "output_dir": str(root / "run"),
        "seed": 1,
        "splits": {"train": [{"name": "text", "format": "plain", "url": urls}]},
        "vocab": {"kind": "t2t", "size": 32768, "shared": True},
        "records": {"shards": {"train": shards}},
    }
    config.write_text(json.dumps(content), encoding="utf-8")
    log = root / "log.jsonl"
    command = [sys.executable, "-m", "nmt_prep", "run", str(config), "--quiet", "--log-json", str(log)]
    for setting in settings:
        command += ["--set", setting]
    environment = {**os.environ, "NMT_PREP_CACHE": str(root / "cache")}
    samples: list[tuple[float, float, float]] = []
    began = time.monotonic()
    with subprocess.Popen(command, cwd=REPOSITORY, env=environment) as process:
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            times = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
            user, kernel = (int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in times)
            samples.append((time.time(), user, kernel))
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        seconds = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(ended[1])
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    used = ended[2]
    return Took(_stages(log, samples), seconds, used.ru_utime, used.ru_stime, used.ru_maxrss * 1024)


def _stages(log: Path, samples: list[tuple[float, float, float]]) -> dict[str, tuple[float, float, float]]:
    """Returns the seconds of each stage, from the log of a run and samples of its time, user and kernel seconds."""
    at, user, kernel = zip(*samples, strict=True)
    found = {}
    began = 0.0
    for event in map(json.loads, log.read_text(encoding="utf-8").splitlines()):
        if event["event"] == "stage_started":
            began = event["time"]
        elif event["event"] == "stage_finished":
            times = [np.interp([began, event["time"]], at, spent) for spent in (user, kernel)]
            found[event["stage"]] = (event["seconds"], *(float(end - start) for start, end in times))
    return found


def digest_of_shards(run: Path) -> str:
    """Returns one digest of all shards and dataset.json."""
    digest = hashlib.sha256()
    for path in sorted(path for path in (run / "records").iterdir() if path.is_file()):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def show(took: Took, size: int) -> None:
    print("  stage        clock   user  kernel (s)")
    clock = sum(seconds for seconds, _, _ in took.stages.values())
    whole = (took.seconds, took.user, took.kernel)
    for name, seconds in {**took.stages, "process": whole}.items():
        print("  {:10} {:7.2f}{:7.2f}{:7.2f}".format(name, *seconds))
    processor = took.user + took.kernel
    print(
        f"  all stages {clock:.2f} s by the clock; processor {processor:.2f} s, "
        f"{100 * took.kernel / processor:.0f} % of it in the kernel",
        f"  encode with shuffle {size / 1e6 / took.stages['encode'][0]:.0f} MB/s by the clock; "
        f"peak memory {took.peak / 1e6:.0f} MB",
        sep="\n",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="a file for each side, one line a pair")
    parser.add_argument("--megabytes", type=float, default=254)
    parser.add_argument("--shards", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of the config")
    parser.add_argument("--directory", type=Path, help="directory to work in (default: a temporary one)")
    options = parser.parse_args()
    if len(options.files) not in (0, 2):
        parser.error("give a file for each side, or none")
    pairs = _pairs(*(path.read_bytes() for path in options.files)) if options.files else default_pairs()
    found, runs = set(), []
    with tempfile.TemporaryDirectory(dir=options.directory) as text:
        count, size = write_text(pairs, Path(text), int(options.megabytes * 1e6))
        print(f"{count:,} pairs, {size / 1e6:,.0f} MB, {options.shards} shards, {len(os.sched_getaffinity(0))} cores")
        for _ in range(options.repeats):
            with tempfile.TemporaryDirectory(dir=options.directory) as root:
                runs.append(measured(Path(root), Path(text), options.shards, options.set))
                show(runs[-1], size)
                found.add(digest_of_shards(Path(root, "run")))
    shape = f"{size / 1e6:.0f} MB of text, plain files to {options.shards} shuffled shards"
    stages = best([Spent(sum(c for c, _, _ in t.stages.values()), t.user + t.kernel) for t in runs])
    encode = best([Spent(took.stages["encode"][0], sum(took.stages["encode"][1:])) for took in runs])
    record(Figure(f"whole run, {shape}, shared vocabulary of 32,768 pieces: its stages", "s", [stages]))
    record(Figure("stage encode of that run, with its shuffle", "MB/s", [encode], amount=size / 1e6))
    print(f"{'the same' if len(found) == 1 else 'DIFFERENT'} shards in all repeats: {', '.join(sorted(found))}")
    sys.exit(len(found) != 1)


if __name__ == "__main__":
    main()
