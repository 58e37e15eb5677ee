"""Searches pairs for evaluation segments: pairs a second on two threads, processor time, time and memory of the index.

    python -m benchmarks.decontaminate [--text SOURCE TARGET] [--segments 200000] [--pairs 400000] [--threads 2]

The text is a corpus beside the checkout, the toy corpus if there is none, or two files of lines, which may be
compressed with gzip. Segments are made from one half of it: every other word is replaced by a random word of the
text, so that they differ from each other and have its usual words. The other half is repeated, with a number at the
end of each line, until there are as many pairs as wanted, and searched.
"""

from __future__ import annotations

import argparse
import itertools
import random
import resource
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

from benchmarks.clean import texts
from nmt_prep.cleaning.evaluation_segments import SegmentIndex

BATCH = 16_384
CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpora" / "multi30k-ende"

Pair = tuple[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", nargs=2, type=Path, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--segments", type=int, default=200_000)
    parser.add_argument("--pairs", type=int, default=400_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--coverage", type=float, default=0.7)
    arguments = parser.parse_args()
    captions = [CORPUS / "train.en.gz", CORPUS / "train.de.gz"] if CORPUS.is_dir() else None
    pairs = texts(arguments.text or captions)
    words = sum(len(line.split()) for pair in pairs for line in pair) / len(pairs) / 2
    print(f"{len(pairs):,} different pairs, {words:.1f} words a side")
    segments = altered(pairs[::2], arguments.segments)
    before, started = memory(), time.process_time()
    first, second = (pa.array(side, pa.large_string()) for side in zip(*segments, strict=True))
    index = SegmentIndex(first, second, arguments.coverage)
    spent = time.process_time() - started
    print(f"index of {len(index):,} segments: {spent:.1f} s of processor time, {memory() - before:,.0f} MB")
    search(index, pairs[1::2], arguments.pairs, arguments.threads)


def altered(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """Returns pairs of which every other word is replaced by a random word of the same side."""
    draw = random.Random(1)
    vocabularies = [[word for pair in pairs for word in pair[side].split()] for side in range(2)]

    def other(line: str, vocabulary: Sequence[str]) -> str:
        words = line.split()
        words[1::2] = draw.choices(vocabulary, k=len(words) // 2)
        return " ".join(words)

    chosen = itertools.islice(itertools.cycle(pairs), count)
    return [(other(source, vocabularies[0]), other(target, vocabularies[1])) for source, target in chosen]


def search(index: SegmentIndex, pairs: Sequence[Pair], count: int, threads: int) -> None:
    """Prints the speed of the search, the best of three runs, and the share of pairs that match."""
    repeated = itertools.islice(itertools.cycle(pairs), count)
    numbered = [(f"{source} {n}", f"{target} {n}") for n, (source, target) in enumerate(repeated)]
    batches = []
    for first in range(0, count, BATCH):
        source, target = zip(*numbered[first : first + BATCH], strict=True)
        batches.append({"source": pa.array(source, pa.large_string()), "target": pa.array(target, pa.large_string())})
    clock = processor = float("inf")
    for _ in range(3):
        started, started_processor = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(threads) as pool:
            matched = sum(int((found.closest >= 0).sum()) for found in pool.map(index.search, batches))
        clock = min(clock, time.perf_counter() - started)
        processor = min(processor, time.process_time() - started_processor)
    print(f"{count / clock:,.0f} pairs/s by the clock on {threads} threads, {matched / count:.2%} match")
    print(f"{processor / count * 1e9:,.0f} ns of processor time a pair: {threads * count / processor:,.0f} pairs/s")


def memory() -> float:
    """Returns the highest memory of the process so far in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
