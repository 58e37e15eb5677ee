"""Compares nmt_prep with subword-nmt: the same text and codes, one thread each.

    python -m benchmarks.subword_nmt [--merges 10000 32000] [text …]

Codes and pieces are compared. The default texts are the real corpora beside the checkout, or toy ones. Packages take
turns and CPU time is measured. The lines of the text are distinct, so all caches are cold in the first call.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from contextlib import redirect_stderr
from pathlib import Path

from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from benchmarks.bpe_texts import column, megabytes, texts
from benchmarks.figures import Figure, Spent, best, record, stopwatch, with_version
from nmt_prep import SubwordNMTTokenizer

PEER = "subword-nmt"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("text", nargs="*", type=Path, help="text files, gzipped or not, one sentence per line")
    parser.add_argument("--merges", nargs="*", type=int, default=[10_000, 32_000], help="numbers of merges")
    parser.add_argument("--repeat", type=int, default=3, help="calls of nmt_prep; subword-nmt is called once")
    arguments = parser.parse_args()
    same = True
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in texts(arguments.text).items():
            if name.startswith("Chinese"):
                continue  # text without spaces takes subword-nmt days
            for merges in arguments.merges:
                codes = Path(folder) / f"{merges}.codes"
                same &= compare_learning(name, lines, merges, codes, arguments.repeat)
            same &= compare_applying(name, lines, codes, max(arguments.repeat, 2))
    return 0 if same else 1


def compare_learning(name: str, lines: list[str], merges: int, codes: Path, repeat: int) -> bool:
    ours = []
    for _ in range(repeat):
        with stopwatch() as watch:
            tokenizer = SubwordNMTTokenizer.train(column(lines), merges=merges, threads=1)
        ours.append(watch.spent)
    tokenizer.save(codes)
    out = io.StringIO()
    with redirect_stderr(io.StringIO()), stopwatch() as watch:  # without the progress bar
        learn_bpe([f"{line}\n" for line in lines], out, merges)
    same = out.getvalue() == codes.read_text("utf-8")
    show(f"learning {merges:,} merges, {name}", lines, [best(ours)], [watch.spent], same)
    return same


def compare_applying(name: str, lines: list[str], codes: Path, repeat: int) -> bool:
    tokenizer, array, ours = SubwordNMTTokenizer.load(codes), column(lines), list[Spent]()
    for _ in range(repeat):
        with stopwatch() as watch:
            found = tokenizer.segment(array, threads=1)
        ours.append(watch.spent)
    with codes.open(encoding="utf-8", newline="\n") as file:
        peer = BPE(file)
    theirs = []
    for _ in range(2):
        with stopwatch() as watch:
            expected = [peer.process_line(line) for line in lines]
        theirs.append(watch.spent)
    same = found.to_pylist() == expected
    show(f"applying codes, {name}, first call / later calls", lines, [ours[0], best(ours[1:])], theirs, same)
    return same


def show(what: str, lines: list[str], ours: list[Spent], theirs: list[Spent], same: bool) -> None:
    size = megabytes(lines)
    for each, other in zip(ours, theirs, strict=True):
        print(
            f"{what}: {size:.1f} MB: nmt_prep {size / each.processor:.1f} MB/s, {PEER} "
            f"{size / other.processor:.2f} MB/s, {other.processor / each.processor:.0f} times as fast; "
            f"{'same' if same else 'OTHER'} bytes",
            flush=True,
        )
    record(Figure(f"subword-nmt: {what}, one thread, identical", "MB/s", ours, with_version(PEER), theirs, size))


if __name__ == "__main__":
    sys.exit(main())
