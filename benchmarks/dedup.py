"""Measures deduplication out of core, beside ``sort -u`` over the same keys.

    python -m benchmarks.dedup [--pairs 1000000] [--text SOURCE TARGET] [--memory 1GB] [--workers 2] [--kind exact]
                               [--equal 0] [--directory DIRECTORY]

The text is the toy corpus, or two files of lines, which may be compressed with gzip. It is repeated until there are
as many pairs as wanted, with the number of the pair in each line, so that all pairs differ; with ``--equal 0.9``, nine
of ten pairs are the same instead. A run of the command line compiles it. Then the stage clean runs without rules, first
without and then with ``clean.dedup``; the difference is what deduplication adds. GNU sort gets the keys of the pairs,
32 hexadecimal digits a line, as many threads as there are workers, and a buffer of 500 MB.

Times are those of whole processes, by the clock and by processor time; memory is the peak of a process.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import figures
from benchmarks.clean import texts
from nmt_prep.cleaning.dedup.records import KeyKind, keys_of
from nmt_prep.corpora import iter_pairs

SIDES = ("source", "target")
CHUNK = 100_000
KEY_LINE = 33
"""Bytes of a key with its end of line."""


@dataclass(frozen=True)
class Spent:
    """Seconds by the clock, seconds of processor time, and the peak memory of a process in bytes."""

    clock: float
    processor: float
    memory: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--text", nargs=2, type=Path, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kind", choices=["exact", "normalized"], default="exact")
    parser.add_argument("--equal", type=float, default=0.0, help="share of the pairs that are the same")
    parser.add_argument("--directory", type=Path, help="where to write; a temporary directory by default")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        root = arguments.directory or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        root.mkdir(parents=True, exist_ok=True)
        write_text(root, texts(arguments.text), arguments.pairs, arguments.equal)
        compare(root, arguments)


def write_text(root: Path, pairs: list[tuple[str, str]], size: int, equal: float) -> None:
    """Writes the files ``source`` and ``target``."""
    lines = itertools.cycle(pairs)
    with ExitStack() as stack:
        files = [stack.enter_context((root / side).open("w", encoding="utf-8")) for side in SIDES]
        for first in range(0, size, CHUNK):
            numbers = range(first, min(first + CHUNK, size))
            same = [int(number * equal) < int((number + 1) * equal) for number in numbers]
            chosen = [pairs[0] if each else next(lines) for each in same]
            for side, file in enumerate(files):
                file.writelines(
                    f"{pair[side]}\n" if each else f"{number} {pair[side]}\n"
                    for pair, each, number in zip(chosen, same, numbers, strict=True)
                )


def compare(root: Path, arguments: argparse.Namespace) -> None:
    """Runs and prints everything."""
    pairs, kind = arguments.pairs, arguments.kind
    config = root / "config.json"
    config.write_text(json.dumps(settings(root, arguments.memory)))
    command = [sys.executable, "-m", "nmt_prep", "run", str(config), "-q", "--workers", str(arguments.workers)]
    run([*command, "--until", "compile"])
    without = run([*command, "--until", "clean"])
    with_dedup = run([*command, "--until", "clean", "--set", f"clean.dedup.pair={kind}"])
    counts = json.loads((root / "run" / ".nmt_prep" / "manifests" / "clean.json").read_text())["counts"]
    print(f"{pairs:,} pairs, {counts['pairs_out']:,} kept")
    show("clean", without, pairs)
    show(f"clean with dedup: {kind}", with_dedup, pairs)
    added = Spent(with_dedup.clock - without.clock, with_dedup.processor - without.processor, with_dedup.memory)
    show("dedup adds", added, pairs)
    write_keys(root, kind)
    threads = arguments.workers
    sort = [
        "sort",
        "-u",
        f"--parallel={threads}",
        "-S",
        "500M",
        "-T",
        str(root),
        "-o",
        str(root / "sorted"),
        str(root / "keys"),
    ]
    theirs = run(sort)
    show("sort -u of the keys", theirs, pairs)
    what = f"duplicates among {pairs:,} pairs, {threads} threads; the peer sorts the same keys, already computed"
    times = [figures.Spent(each.clock, each.processor) for each in (added, theirs)]
    figures.record(figures.Figure(what, "pairs/s", times[:1], "GNU sort -u", times[1:], pairs))


def settings(root: Path, memory: str) -> dict[str, Any]:
    """Returns a config with one corpus."""
    return {
        "name": "benchmark",
        "languages": {"source": "en", "target": "de"},
        "output_dir": str(root / "run"),
        "seed": 1,
        "splits": {"train": [{"name": "x", "format": "plain", "url": {side: str(root / side) for side in SIDES}}]},
        "vocab": {"kind": "byte_bpe"},
        "clean": {"preset": "none", "fix": [], "dedup": {"pair": "off"}, "rejects": "none"},
        "engine": {"memory": memory},
    }


def run(command: list[str]) -> Spent:
    """Runs a program and measures it."""
    started = time.perf_counter()
    process = subprocess.Popen(command, env={**os.environ, "LC_ALL": "C"}, cwd=Path(__file__).resolve().parents[1])
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return Spent(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def show(name: str, spent: Spent, pairs: int) -> None:
    print(
        f"{name:32}{spent.clock:9.1f} s  {spent.processor:9.1f} s of processor time  {spent.memory / 1e6:7,.0f} MB  "
        f"{pairs / spent.clock / 1e6:7.2f} million pairs/s",
        flush=True,
    )


def write_keys(root: Path, kind: KeyKind) -> None:
    """Writes the key of each compiled pair to the file ``keys``, as hexadecimal digits."""
    with (root / "keys").open("w") as file:
        for part in sorted((root / "run" / "compiled" / "train").iterdir()):
            for batch in iter_pairs(part, columns=SIDES):
                digits = keys_of(batch, ["pair"], kind)["pair"].astype(">u8").tobytes().hex()
                file.writelines(
                    f"{digits[first : first + KEY_LINE - 1]}\n" for first in range(0, len(digits), KEY_LINE - 1)
                )


if __name__ == "__main__":
    main()
