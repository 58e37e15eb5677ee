"""Runs the recipe of tensorflow/nmt, and the original programs one after the other, on the same text.

    python -m benchmarks.recipes                                  # 250 MB of text; about four minutes
    python -m benchmarks.recipes --moses mosesdecoder/scripts     # Perl's scripts in place of sacremoses

The text has halves of real lines in new combinations, and new words made of halves of words. The originals get a slice
of it, and their times are multiplied: those of learning by the number of distinct words, others by the size. The run is
repeated without limits, and with a hold-out, to show what these cost. Times are the best of three runs.
"""

from __future__ import annotations

import argparse
import io
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import sacremoses
import yaml
from subword_nmt.apply_bpe import BPE
from subword_nmt.get_vocab import get_vocab
from subword_nmt.learn_bpe import learn_bpe

from benchmarks.bpe_texts import texts
from benchmarks.figures import Figure, Spent, record, stopwatch, with_version
from nmt_prep.config.file import parse_yaml

_RECIPE = Path(__file__).resolve().parents[1] / "configs" / "recipes" / "tensorflow-nmt-wmt16-de-en.yaml"
_MERGES = 32_000
_NEW_WORDS = 1 / 8
"""New words per line: 250 MB of news have about 600,000 distinct words."""


def combined(lines: Sequence[str], size: int, seed: int) -> Iterator[str]:
    """Yields about ``size`` bytes of new lines."""
    draw = random.Random(seed)
    split = [line.split() for line in lines]
    while size > 0:
        first, second = draw.choice(split), draw.choice(split)
        words = first[: (len(first) + 1) // 2] + second[len(second) // 2 :]
        if draw.random() < _NEW_WORDS:
            one, other = draw.choice(first), draw.choice(second)
            words.append(one[: (len(one) + 1) // 2] + other[len(other) // 2 :])
        line = " ".join(words)
        size -= len(line.encode()) + 1
        yield line


def write(directory: Path, size: int) -> dict[str, Path]:
    """Writes German and English text of about ``size`` bytes together; returns the files by language."""
    named = {name.split()[0]: lines for name, lines in texts([]).items()}
    files = {"de": directory / "x.de", "en": directory / "x.en"}
    german = combined(named["German"], size, 1)
    english = combined([line for line in named["English"] if len(line) < 150], size, 2)
    with files["de"].open("w") as de, files["en"].open("w") as en:
        for pair in zip(german, english, strict=False):
            size -= sum(file.write(f"{line}\n") for file, line in zip((de, en), pair, strict=True))
            if size <= 0:
                break
    return files


def run(directory: Path, files: dict[str, Path], name: str, *settings: str) -> Spent:
    """Runs the recipe on the text; returns its time."""
    config: Any = parse_yaml(_RECIPE.read_text("utf-8"), "recipe")[0]
    config["splits"] = {"train": [{"name": "x", "url": {"source": str(files["de"]), "target": str(files["en"])}}]}
    path = directory / f"{name}.yaml"
    path.write_text(yaml.safe_dump({**config, "output_dir": str(directory / name)}))
    sets = [part for setting in ("engine.memory=500MB", *settings) for part in ("--set", setting)]
    return timed_run(name, path, *sets)


def timed_run(name: str, config: Path, *options: str) -> Spent:
    """Runs a config as a program; returns its time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with stopwatch() as watch:
        subprocess.run([sys.executable, "-m", "nmt_prep", "run", config, "--quiet", *options], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory = after.ru_maxrss / 1e3
    print(f"{name}: {watch.spent.clock:.1f} s, {processor:.1f} s of processors, {memory:.0f} MB", flush=True)
    return Spent(watch.spent.clock, processor)


class Originals:
    """The original programs, in one thread."""

    def __init__(self, moses: Path | None) -> None:
        self._moses = moses
        self.spent = dict.fromkeys(("tokenize", "clean", "learn", "apply", "count"), 0.0)

    def _timed(self, what: str, work: Callable[[], list[str]]) -> list[str]:
        with stopwatch() as watch:
            made = work()
        self.spent[what] += watch.spent.clock
        return made

    def tokens(self, language: str, lines: list[str]) -> list[str]:
        if self._moses is None:
            tokenize = sacremoses.MosesTokenizer(lang=language).tokenize
            return self._timed("tokenize", lambda: [tokenize(line, return_str=True) for line in lines])
        script: list[str | Path] = ["perl", self._moses / "tokenizer" / "tokenizer.perl", "-q", "-l", language]
        text = "".join(f"{line}\n" for line in lines)
        return self._timed("tokenize", lambda: _output(script, Path(), text).split("\n")[:-1])

    def cleaned(self, directory: Path, sides: dict[str, list[str]]) -> dict[str, list[str]]:
        """Returns the pairs that clean-corpus-n.perl keeps; all pairs without Perl's scripts."""
        if self._moses is None:
            return sides
        for side, lines in sides.items():
            (directory / f"tok.{side}").write_text("".join(f"{line}\n" for line in lines))
        script: list[str | Path] = [
            "perl",
            self._moses / "training" / "clean-corpus-n.perl",
            "tok",
            "de",
            "en",
            "clean",
            "1",
            "80",
        ]
        self._timed("clean", lambda: [_output(script, directory, "")])
        return {side: (directory / f"clean.{side}").read_text().split("\n")[:-1] for side in sides}

    def pieces(self, sides: dict[str, list[str]]) -> int:
        """Learns and applies BPE; returns the number of distinct words."""
        codes, every = io.StringIO(), [f"{line}\n" for lines in sides.values() for line in lines]
        with redirect_stderr(io.StringIO()):
            self._timed("learn", lambda: [str(learn_bpe(every, codes, _MERGES))])
        bpe = BPE(io.StringIO(codes.getvalue()))
        made = self._timed("apply", lambda: [bpe.process_line(line) for line in every])
        self._timed("count", lambda: [str(get_vocab(made, io.StringIO()))])
        return len({word for line in every for word in line.split()})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--size", type=int, default=250_000_000, help="bytes of text")
    parser.add_argument("--slice", type=int, default=4_000_000, help="bytes of text for the originals")
    parser.add_argument("--moses", type=Path, help="the directory scripts of Moses, for Perl's tokenizer and cleaning")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        files = write(directory, arguments.size)
        size = sum(path.stat().st_size for path in files.values())
        settings = {
            "recipe": tuple[str, ...](),
            "without-limits": ("limits.tokens=null",),
            "with-hold-out": ("splits.train.0.hold_out=2000",),
        }
        runs = [
            [run(directory, files, f"{name}-{number}", *sets) for name, sets in settings.items()] for number in "123"
        ]
        ours, without, held = (Spent(*map(min, zip(*each, strict=True))) for each in zip(*runs, strict=True))
        words = {word for path in files.values() for line in path.open() for word in line.split()}
        originals = Originals(arguments.moses)
        part = arguments.slice / size
        lines = {side: _first(path, arguments.slice // 2) for side, path in files.items()}
        tokens = {side: originals.tokens(side, each) for side, each in lines.items()}
        distinct = originals.pieces(originals.cleaned(directory, tokens))
    spent = originals.spent
    theirs = sum(seconds for what, seconds in spent.items() if what != "learn") / part
    theirs += spent["learn"] * len(words) / distinct
    peer = with_version("subword-nmt") + (", Moses' Perl" if arguments.moses else f", {with_version('sacremoses')}")
    each = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in spent.items())
    print(f"{size / 1e6:.0f} MB: nmt_prep {ours.clock:.1f} s, {peer} {theirs:.0f} s from a slice ({each})")
    for what, more, less in (("limits", ours, without), ("a hold-out", held, ours)):
        clock, processor = (one / other - 1 for one, other in zip(more, less, strict=True))
        print(f"{what}: {clock:+.1%} by the clock, {processor:+.1%} of processor time")
    done = f"recipe of tensorflow/nmt, {size / 1e6:.0f} MB, everything; the peer from {part:.1%} of the text"
    record(Figure(done, "s", [ours], peer, [Spent(theirs, theirs)]))
    return 0


def _output(command: Sequence[str | Path], directory: Path, text: str) -> str:
    return subprocess.run(command, cwd=directory, input=text, capture_output=True, text=True, check=True).stdout


def _first(path: Path, size: int) -> list[str]:
    with path.open() as file:
        return [line.rstrip("\n") for line in file.readlines(size)]


if __name__ == "__main__":
    sys.exit(main())
