"""Measures word alignment: speed beside eflomal and fast_align, scoring, memory, and quality where texts are at hand.

    python -m benchmarks.align speed                 # needs eflomal-align, or fast_align and atools, in PATH
    python -m benchmarks.align memory --pairs 10000000
    python -m benchmarks.align scoring quality

Texts are those of the folder beside the checkout: Multi30k, and news of 25 words a side with manual links. Programs run
as processes, with two threads, both directions and symmetrization included; times are by the clock, and of processors.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.figures import Figure, Spent, record

if TYPE_CHECKING:
    from nmt_prep.base.columns import TextColumn
    from nmt_prep.cleaning.align.model import Model

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
OURS = [sys.executable, "-m", "nmt_prep", "align", "--quiet", "--threads", "2"]
Pair = tuple[str, str]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("parts", nargs="+", choices=("speed", "scoring", "memory", "quality"))
    parser.add_argument("--pairs", type=int, default=200_000, help="pairs of generated text for memory")
    arguments = parser.parse_args()
    for part in arguments.parts:
        if part == "memory":
            memory(arguments.pairs)
        else:
            {"speed": speed, "scoring": scoring, "quality": quality}[part]()
    return 0


def multi30k() -> list[Pair]:
    files = (SHARED / "corpora" / "multi30k-ende" / f"train.{language}.gz" for language in ("en", "de"))
    return list(zip(*(gzip.open(file, "rt", encoding="utf-8").read().splitlines() for file in files), strict=True))


def news() -> list[Pair]:
    with gzip.open(SHARED / "golden" / "align" / "en-cs.tsv.gz", "rt", encoding="utf-8") as file:
        return [(source, target) for source, target in (line.rstrip("\n").split("\t")[:2] for line in file)]


def tokenized(pairs: list[Pair]) -> list[Pair]:
    """Returns lower-cased pairs with spaces between words."""
    from nmt_prep.base.columns import TextColumn  # noqa: PLC0415
    from nmt_prep.cleaning.align.word_vocabulary import words_of  # noqa: PLC0415

    sides = []
    for lines in zip(*pairs, strict=True):
        words = words_of(TextColumn.from_strings(lines))
        cut = [
            line.encode()[begin:end].decode().lower()
            for number, line in enumerate(lines)
            for begin, end in zip(
                words.begins[words.offsets[number] : words.offsets[number + 1]],
                words.ends[words.offsets[number] : words.offsets[number + 1]],
                strict=True,
            )
        ]
        bounds = words.offsets.tolist()
        sides.append([" ".join(cut[first:last]) for first, last in pairwise(bounds)])
    return list(zip(*sides, strict=True))


def timed(command: str | list[str], stdin: Path | None, stdout: Path) -> tuple[float, float]:
    """Runs a command; returns the seconds by the clock and of processors."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    with stdout.open("wb") as output, (stdin or Path(os.devnull)).open("rb") as text:
        subprocess.run(
            command,
            stdin=text,
            stdout=output,
            stderr=subprocess.DEVNULL,
            check=True,
            shell=isinstance(command, str),
            env=environment,
            cwd=ROOT,
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, used


def speed() -> None:
    for name, pairs in (("Multi30k", tokenized(multi30k())), ("news", tokenized(news()))):
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            (root / "tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs), "utf-8")
            (root / "bars").write_text("".join(f"{a} ||| {b}\n" for a, b in pairs if a and b), "utf-8")
            ours = timed([*OURS, "--pretokenized"], root / "tsv", root / "links")
            print(
                f"{name}, {len(pairs):,} pairs: nmt-prep align {ours[0]:.1f} s ({ours[1]:.1f} s of processors)",
                flush=True,
            )
            for peer, command in peers(root):
                theirs = timed(command, None, root / "peer")
                what = f"word alignment, {name}, {len(pairs):,} pairs, both directions and symmetrization, two threads"
                record(Figure(what, "s", [Spent(*ours)], peer, [Spent(*theirs)]))
                print(
                    f"  {peer} {theirs[0]:.1f} s ({theirs[1]:.1f} s): {theirs[0] / ours[0]:.1f} times as long "
                    f"({theirs[1] / ours[1]:.1f} times the processor time)",
                    flush=True,
                )


def peers(root: Path) -> Iterator[tuple[str, str]]:
    if shutil.which("eflomal-align"):
        yield "eflomal", f"eflomal-align -i {root}/bars -f {root}/f -r {root}/r --overwrite"
    if shutil.which("fast_align") and shutil.which("atools"):
        both = "; ".join(f"fast_align -{how} -i {root}/bars >{root}/{how}" for how in ("dov", "dovr"))
        yield "fast_align", f"{both}; atools -c grow-diag-final-and -i {root}/dov -j {root}/dovr"


def scoring() -> None:
    from nmt_prep.base.columns import TextColumn  # noqa: PLC0415

    for name, pairs in (("Multi30k", multi30k()), ("news", news())):
        source, target = (TextColumn.from_strings(lines) for lines in zip(*pairs, strict=True))
        model = trained(source, target)
        times = 1 + 50_000 // len(pairs)  # as many pairs at once as a task of the stage has
        source, target = (TextColumn.from_strings(times * list(lines)) for lines in zip(*pairs, strict=True))
        model.score(source, target, 0, 2)
        started, used = time.perf_counter(), time.process_time()
        for _ in range(3):
            model.score(source, target, 0, 2)
        clock, used = time.perf_counter() - started, time.process_time() - used
        scored = 3 * times * len(pairs)
        print(
            f"{name}: {scored / clock:,.0f} pairs/s scored by the clock, "
            f"{2 * scored / used:,.0f} by the processor time of two cores",
            flush=True,
        )
        what = f"scores of pairs by a model of word alignment, {name}, two threads"
        record(Figure(what, "pairs/s", [Spent(clock, used)], amount=scored))


def trained(source: TextColumn, target: TextColumn, **settings: Any) -> Model:
    from nmt_prep.cleaning.align.learning import count, updated  # noqa: PLC0415
    from nmt_prep.cleaning.align.model import Model  # noqa: PLC0415
    from nmt_prep.cleaning.align.settings import Settings  # noqa: PLC0415

    model = Model.start(Settings(**settings))
    while not model.finished:
        model = updated(model, count(model, source, target, 2))
    return model


def quality() -> None:
    from nmt_prep.base.columns import TextColumn  # noqa: PLC0415

    pairs = multi30k()
    for name, some, share, copies in (
        ("Multi30k, 3,000 pairs", pairs[:3000], 0.05, 1),
        ("the same three times", pairs[:3000], 0.05, 3),
        ("Multi30k, 29,000 pairs", pairs, 0.05, 1),
        ("news", news(), 0.05, 1),
        ("news, half of them rotated", news(), 0.5, 1),
    ):
        lines, wrong = rotated(some, share, copies)
        source, target = (TextColumn.from_strings(side) for side in zip(*lines, strict=True))
        scores = trained(source, target).score(source, target, copies, 2)
        found = (scores[wrong] < np.quantile(scores[~wrong], 0.01)).mean()
        print(f"{name}: {found:.1%} of misaligned pairs found where 1% of the others are lost", flush=True)
    source, target = (TextColumn.from_strings(side) for side in zip(*news(), strict=True))
    links = trained(source, target, pretokenized=True).align(source, target)
    with gzip.open(SHARED / "golden" / "align" / "en-cs.links.gz", "rt") as file:
        gold = [{(int(i), int(j)) for i, j in (link.split("-") for link in line.split())} for line in file]
    both = ours = theirs = 0
    for number, expected in enumerate(gold):
        mine = set(map(tuple, links.links[links.offsets[number] : links.offsets[number + 1]].tolist()))
        both, ours, theirs = both + len(mine & expected), ours + len(mine), theirs + len(expected)
    print(
        f"links of news: 1 - F1 {1 - 2 * both / (ours + theirs):.4f}, precision {both / ours:.3f}, "
        f"recall {both / theirs:.3f}"
    )


def rotated(pairs: list[Pair], share: float, copies: int) -> tuple[list[Pair], np.ndarray]:
    """Returns pairs, each several times, some with the target of another pair, and a mask of these."""
    chosen = np.random.default_rng(1).permutation(len(pairs))[: round(len(pairs) * share)]
    lines, wrong = list(pairs), np.zeros(len(pairs), bool)
    for to, of in zip(chosen, np.roll(chosen, 1), strict=True):
        lines[to] = (pairs[to][0], pairs[of][1])
    wrong[chosen] = True
    return lines * copies, np.tile(wrong, copies)


def memory(pairs: int) -> None:
    """Aligns generated text in a process of its own, and prints the memory that it took."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        words = write_generated(root / "tsv", pairs)
        clock, used = timed([*OURS, "--scores", str(root / "scores")], root / "tsv", root / "links")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
        size = (root / "tsv").stat().st_size / 1e9
        print(
            f"memory: {pairs:,} pairs of generated text ({size:.2f} GB, {words:,} different words): {peak:.2f} GB, "
            f"{clock:,.0f} s, {used:,.0f} s of processors",
            flush=True,
        )


def write_generated(path: Path, pairs: int) -> int:
    """Writes pairs of 25 words a side, whose vocabulary grows as in real text; returns its size.

    Words have a Zipf-Mandelbrot distribution without end. Words of the other side are their translations, some
    neighbours in another order, some dropped.
    """
    random = np.random.default_rng(1)
    largest = set()
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, pairs, 10_000):
            lines = min(10_000, pairs - first)
            words = np.minimum(30 * (random.random((lines, 25)) ** (-1 / 0.65) - 1), 1e9).astype(np.int64)
            order = np.argsort(np.arange(25) + random.normal(0, 1, (lines, 25)), axis=1)
            kept = random.random((lines, 25)) < 0.95
            largest.update(np.unique(words).tolist())
            for row, places, there in zip(words.tolist(), order.tolist(), kept.tolist(), strict=True):
                source = " ".join([f"s{word}" for word in row])
                target = " ".join([f"t{row[place]}" for place in places if there[place]])
                file.write(f"{source}\t{target}\n")
    return len(largest)


if __name__ == "__main__":
    sys.exit(main())
