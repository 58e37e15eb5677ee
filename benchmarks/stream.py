"""Compares streams of training data with OpusTrainer: the same YAML and files, to a trainer that discards the lines.

    python -m benchmarks.stream [--lines 200000] [--epochs 10]

Run it in the root of the checkout. The text is that of ``benchmarks.input``, with a link between words at the same
place. Each row is one command from its start to the end of its only stage. OpusTrainer reads a tenth of the epochs, its
time is multiplied. "Light modifiers" are those of Mozilla's training without Tags; with Tags, links are remapped to the
pieces of a SentencePiece vocabulary. CPU time is that of all processes; on a busy machine it is more reliable, and "CPU
lines/s" is the speed of two otherwise idle cores.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import yaml

from benchmarks.figures import Figure, Spent, record, with_version
from benchmarks.input_runs import read_text
from nmt_prep import SentencePieceTokenizer

CORES = 2
LIGHT: list[dict[str, Any]] = [
    {"UpperCase": 0.07},
    {"TitleCase": 0.05},
    {"RemoveEndPunct": 0.2},
    {"Typos": 0.05},
    {"Noise": 0.0005},
]


def write_pairs(directory: Path, lines: int, vocabulary: Path) -> int:
    """Writes pairs.tsv and a vocabulary of both sides; returns the number of words of both sides."""
    _, texts = read_text()
    words = 0
    with (directory / "pairs.tsv").open("w", encoding="utf-8") as file:
        for number in range(lines):
            source, target = (side[number % len(side)] for side in texts)
            count = min(len(source.split()), len(target.split()))
            if count:
                words += len(source.split()) + len(target.split())
                file.write(f"{source}\t{target}\t{' '.join(f'{place}-{place}' for place in range(count))}\n")
    SentencePieceTokenizer.train([*texts[0], *texts[1]], size=5000).save(vocabulary)
    return words


def run(command: list[str]) -> Spent:
    """Runs a command; returns its time."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run(command, check=True, stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(perf_counter() - start, processor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        vocabulary = directory / "target.spm"
        words = write_pairs(directory, options.lines, vocabulary)
        lines = sum(1 for _ in (directory / "pairs.tsv").open("rb"))
        tags = {"Tags": 0.005, "augment": 1, "tag": 0, "spm_vocab_trg": str(vocabulary)}
        for what, modifiers in (
            ("plain", []),
            ("light modifiers", LIGHT),
            ("light modifiers and Tags", [*LIGHT, tags]),
        ):
            spent = []
            for epochs in (options.epochs, max(options.epochs // 10, 1)):
                file = directory / f"{epochs}.yml"
                stage = {"mix": ["pairs 1.0", f"until pairs {epochs}"], "modifiers": modifiers}
                datasets = {"pairs": str(directory / "pairs.tsv")}
                file.write_text(yaml.safe_dump({"datasets": datasets, "stages": ["one"], "one": stage, "seed": 1}))
                ours = [sys.executable, "-m", "nmt_prep", "stream", "--opustrainer", str(file), "--columns"]
                sink = ["--", "sh", "-c", "cat > /dev/null"]
                peer = [str(Path(sys.executable).with_name("opustrainer-train")), "-c", str(file), "-d"]
                peer += ["-s", str(directory / "state"), "-j", str(CORES), "-T", str(directory), "sh", "-c", sink[-1]]
                columns = "source,target,links"
                spent.append(run([*ours, columns, *sink] if epochs == options.epochs else peer))
            mine, theirs = spent[0], spent[1].times(options.epochs / max(options.epochs // 10, 1))
            amount = lines * options.epochs
            figure = Figure(f"stream, {what}", "lines/s", [mine], with_version("opustrainer"), [theirs], amount)
            record(figure)
            [ratio] = figure.ratios()
            print(
                f"{what:26}{amount / mine.clock:>11,.0f} lines/s {CORES * amount / mine.processor:>11,.0f} CPU lines/s "
                f"{CORES * words * options.epochs / mine.processor / 1e6:>7.2f} CPU M words/s; opustrainer "
                f"{amount / theirs.clock:>8,.0f} lines/s {CORES * amount / theirs.processor:>8,.0f} CPU lines/s; "
                f"{ratio.clock:.1f} times as fast by the clock, {ratio.processor:.1f} by CPU time",
                flush=True,
            )


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()
