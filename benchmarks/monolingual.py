"""Runs a config with a corpus of one side that a program translates, and one with the same pairs from files.

    python -m benchmarks.monolingual                          # 1 and 10 million lines; about five minutes

The program, ``tr``, answers at once, so the difference is what nmt_prep adds: the pass over the lines, the program's
pipe, the stored texts. The second measure is the stage clean of lines with four rules and exact duplicates, against as
many pairs that share half of the lines: the rounds of a run without these lines are subtracted, and those of limit and
translation do not count.
Times are the best of three runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from benchmarks.bpe_texts import texts
from benchmarks.figures import Figure, Spent, best, record
from benchmarks.recipes import combined, timed_run

_RULES = {"length": {"max": 200}, "longest_word": {"max": 40}, "alphabetic": {"min": 0.3}, "repetition": {}}
_AFTER = ("line-draw", "line-limit", "translate", "made-pairs")
"""The rounds after those that are measured."""
_BASE = {
    "languages": {"source": "de", "target": "en"},
    "seed": 1,
    "vocab": {"kind": "sentencepiece", "size": 8000},
    "sample": {"made": True},
    "engine": {"memory": "1GB"},
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--lines", type=int, default=1_000_000, help="lines to translate")
    parser.add_argument("--against", type=int, default=10_000_000, help="lines, and pairs to compare them with")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _translate(Path(folder), arguments.lines)
        _compare(Path(folder), arguments.against)
    return 0


def _translate(directory: Path, count: int) -> None:
    target, source = directory / "x.en", directory / "x.de"
    _write(target, islice(_lines(), count))
    with target.open() as given, source.open("w") as made:
        subprocess.run(["tr", "aeiou", "eioua"], stdin=given, stdout=made, check=True)
    pairs = {"url": {"source": str(source), "target": str(target)}}
    made_pairs = {"url": {"target": str(target)}, "translate": "bt"}
    runs: dict[str, list[Spent]] = {"pairs": [], "translated": []}
    for number in range(3):
        for name, corpus in (("pairs", pairs), ("translated", made_pairs)):
            config = {"splits": {"train": [{"name": "x", **corpus}]}, "clean": {"preset": "light"}}
            if name == "translated":
                config["computed"] = {"bt": _program(directory / f"texts-{number}")}
            runs[name].append(_run(directory, f"{name}-{number}", config))
    ours, theirs = best(runs["translated"]), best(runs["pairs"])
    clock, processor = (one / other - 1 for one, other in zip(ours, theirs, strict=True))
    print(f"translating {count:,} lines: {clock:+.0%} by the clock, {processor:+.0%} of processor time")
    what = f"{count / 1e6:g} million lines with a program that answers at once, whole run; and as pairs from files"
    record(Figure(what, "s", [ours], "nmt_prep, pairs", [theirs]))


def _compare(directory: Path, count: int) -> None:
    files = {name: directory / f"y.{name}" for name in ("de", "en", "mono")}
    numbers = range(count + count // 2)
    _write(files["de"], (f"{line} {number}" for number, line in zip(numbers[:count], _lines(), strict=False)))
    _write(files["en"], (f"{line} {number}" for number, line in zip(numbers[:count], _lines(), strict=False)))
    every = (f"{line} {number}" for number, line in zip(numbers, _lines(), strict=False))
    _write(files["mono"], islice(every, count // 2, None))
    pairs = {"name": "y", "url": {"source": str(files["de"]), "target": str(files["en"])}}
    mono = {"name": "mono", "url": {"target": str(files["mono"])}, "translate": "bt", "limit": 1000}
    clean = {"preset": "none", "rules": _RULES, "dedup": {"pair": "exact"}}
    runs: dict[str, list[Spent]] = {"without": [], "with": []}
    for number in range(3):
        for name, corpora in (("without", [pairs]), ("with", [pairs, mono])):
            config = {"splits": {"train": corpora}, "clean": clean}
            if name == "with":
                config["computed"] = {"bt": _program(directory / f"few-{number}")}
            _run(directory, f"{name}-{number}", config, "--until", "clean")
            runs[name].append(_cleaning(directory / f"{name}-{number}"))
    with_lines, without = best(runs["with"]), best(runs["without"])
    spent = Spent(*(one - other for one, other in zip(with_lines, without, strict=True)))
    print(f"{count:,} lines: {count / 1e6 / spent.clock:.2f} million lines/s, on two cores")
    what = f"{count / 1e6:g} million lines, rules and duplicates, against as many pairs"
    record(Figure(what, "million lines/s", [spent], amount=count / 1e6))


def _cleaning(run: Path) -> Spent:
    """Returns the time of a run's rounds of rules and duplicates."""
    stages = json.loads((run / ".nmt_prep" / "run.json").read_text())["stages"]
    rounds = [times for name, times in stages["clean"]["rounds"].items() if name not in _AFTER]
    return Spent(*(sum(times[what] for times in rounds) for what in ("seconds", "processor_seconds")))


def _program(cache: Path) -> dict[str, Any]:
    words = {"program": ["tr", "aeiou", "eioua"], "input": "target", "output": "text", "end": "exit", "batch": 20_000}
    return {**words, "cache": str(cache)}


def _lines() -> Iterable[str]:
    english = next(lines for name, lines in texts([]).items() if name.split()[0] == "English")
    return combined([line for line in english if len(line) < 150], 1 << 62, 2)


def _write(path: Path, lines: Iterable[str]) -> None:
    with path.open("w") as file:
        file.writelines(f"{line}\n" for line in lines)


def _run(directory: Path, name: str, config: Mapping[str, Any], *options: str) -> Spent:
    path = directory / f"{name}.yaml"
    path.write_text(yaml.safe_dump({"name": "x", **_BASE, **config, "output_dir": str(directory / name)}))
    return timed_run(name, path, *options)


if __name__ == "__main__":
    sys.exit(main())
