"""Near duplicates: speed of the rounds of the stage clean, and recall, beside rensa's MinHash.

    python -m benchmarks.near_duplicates [--text SOURCE TARGET] [--pairs 300000] [--recall-pairs 20000]
                                         [--similarity 0.75] [--workers 2]

The text is two files of lines, which may be compressed with gzip, or generated like the toy corpus. Where it has fewer
pairs than wanted, further ones are made of the first half of one pair and the second half of another. One pair in 20 is
followed by a near duplicate, in which a word of each side is replaced.

Speed: a run of ``dedup: {pair: near}`` up to clean is compared with one of ``dedup: {pair: normalized}``; the
difference is what near duplicates take. rensa signs and looks up the same pairs, as sets of n-grams of both sides, with
128 permutations in 16 bands on one core; it only finds candidates. Its time is without making the sets.

Recall: all pairs of the first pairs whose sides both have the similarity are found by an exact join of their sets.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.generated import SIDES, settings, write_generated

PERMUTATIONS, PEER_BANDS = 128, 16

Pairs = Sequence[tuple[str, str]]
Found = set[tuple[int, int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", nargs=2, type=Path, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--pairs", type=int, default=300_000)
    parser.add_argument("--recall-pairs", type=int, default=20_000)
    parser.add_argument("--similarity", type=float, default=0.75)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        pairs = distinct(enlarged(read_text(directory, arguments.text, arguments.pairs), arguments.pairs))
        print(f"{len(pairs):,} pairs, {np.mean([len(a) + len(b) for a, b in pairs]):.0f} characters on average")
        show_recall(pairs[: arguments.recall_pairs], arguments.similarity)
        show_speed(directory, pairs, arguments.similarity, arguments.workers)
    show_peer_speed(pairs[:20_000])


def read_text(directory: Path, files: Sequence[Path] | None, pairs: int) -> list[tuple[str, str]]:
    if not files:
        write_generated(directory, 150 * pairs)
        files = [directory / side for side in SIDES]
    sides = [
        (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode().split("\n")[:-1]
        for path in files
    ]
    return [(a, b) for a, b in zip(*sides, strict=True) if a.strip() and b.strip()]


def enlarged(text: Pairs, wanted: int) -> Iterator[tuple[str, str]]:
    """Yields the pairs of the text, then combinations of halves, and near duplicates between them."""
    draw = random.Random(1)
    for number in range(wanted):
        pair = text[number] if number < len(text) else mixed(draw.choice(text), draw.choice(text))
        yield pair
        if draw.random() < 0.05:
            yield replaced(pair[0], draw), replaced(pair[1], draw)


def mixed(one: tuple[str, str], other: tuple[str, str]) -> tuple[str, str]:
    source, target = (a[: len(a) // 2] + b[len(b) // 2 :] for a, b in zip(one, other, strict=True))
    return source, target


def replaced(line: str, draw: random.Random) -> str:
    words = line.split(" ")
    words[draw.randrange(len(words))] = "".join(draw.choices("abcdefgh", k=5))
    return " ".join(words)


def distinct(pairs: Iterator[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns the pairs that differ in more than case, punctuation and digits."""
    from _nmt_prep_core import line_keys  # noqa: PLC0415  (loads the native core)

    from nmt_prep.base.columns import TextColumn  # noqa: PLC0415

    held = list(pairs)
    columns = [TextColumn.from_strings(list(side)) for side in zip(*held, strict=True)]
    keys = np.hstack([line_keys(column.data, column.offsets, True) for column in columns])
    _, first = np.unique(keys, axis=0, return_index=True)
    return [held[place] for place in np.sort(first).tolist()]


def show_recall(pairs: Pairs, similarity: float) -> None:
    """Prints how many of all near duplicates are candidates, here and with rensa."""
    sets = [tuple(frozenset(grams(side)) for side in pair) for pair in pairs]
    true = exact_join(sets, similarity)
    ours, theirs = our_candidates(pairs, similarity), peer_candidates(sets)
    print(f"recall among {len(pairs):,} pairs, which have {len(true):,} near duplicates at {similarity}:")
    for name, found in (("nmt_prep", ours), ("rensa", theirs)):
        print(
            f"  {name:9} {len(true & found) / max(len(true), 1):7.2%} of {len(true):,}; {len(found):,} candidates, of "
            f"which {len(true & found) / max(len(found), 1):.1%} are near duplicates"
        )


def grams(line: str) -> list[str]:
    from tests.reference.near import grams  # noqa: PLC0415

    return grams(line)


def exact_join(sets: Sequence[tuple[frozenset[str], ...]], similarity: float) -> Found:
    """Returns all pairs of sets whose sides are similar.

    Similar sets of sources have an n-gram in common among the rarest ``(1 - similarity) * size + 1`` of each.
    """
    counts = Counter(gram for source, _ in sets for gram in source)
    holders: dict[str, list[int]] = {}
    found = set()
    for number, (source, target) in enumerate(sets):
        rarest = sorted(source, key=lambda gram: (counts[gram], gram))
        prefix = rarest[: len(rarest) - int(np.ceil(similarity * len(rarest) - 1e-9)) + 1]
        for other in {other for gram in prefix for other in holders.get(gram, ())}:
            sides = zip((source, target), sets[other], strict=True)
            if all(len(a & b) / len(a | b) >= similarity for a, b in sides):
                found.add((number, other))
        for gram in prefix:
            holders.setdefault(gram, []).append(number)
    return found


def our_candidates(pairs: Pairs, similarity: float) -> Found:
    from _nmt_prep_core import band_hashes  # noqa: PLC0415

    from nmt_prep.base.columns import TextColumn  # noqa: PLC0415
    from nmt_prep.cleaning.dedup import near  # noqa: PLC0415

    bands = near.Bands.of(similarity)
    source, target = (TextColumn.from_strings(list(side)) for side in zip(*pairs, strict=True))
    hashes = band_hashes(source.data, source.offsets, target.data, target.offsets, bands.bands, bands.rows)
    places = np.repeat(np.arange(len(pairs), dtype=np.uint64), bands.bands)
    records = np.column_stack([hashes.reshape(-1), places])
    return {
        (worse, better) for edges in near.edges_of(records, near.BucketCounts()) for worse, better in edges.tolist()
    }


def peer_candidates(sets: Sequence[tuple[frozenset[str], ...]]) -> Found:
    from rensa import RMinHash, RMinHashLSH  # noqa: PLC0415  (only for the comparison)

    signed = RMinHash.from_token_sets([tokens(*each) for each in sets], PERMUTATIONS, 1)
    index = RMinHashLSH(0.75, PERMUTATIONS, PEER_BANDS)
    index.insert_many(signed)
    found = enumerate(index.query_all(signed))
    return {(number, other) for number, others in found for other in others if other < number}


def tokens(source: frozenset[str], target: frozenset[str]) -> list[str]:
    """Returns the n-grams of both sides, marked by their side, in one order for all processes."""
    return sorted([f"s{gram}" for gram in source] + [f"t{gram}" for gram in target])


def show_speed(directory: Path, pairs: Pairs, similarity: float, workers: int) -> None:
    """Prints the time that near duplicates add to a run."""
    for side, lines in zip(SIDES, zip(*pairs, strict=True), strict=True):
        (directory / side).write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    clock, processor, _ = run_time(directory, {"pair": "normalized"}, workers)
    near_clock, near_processor, memory = run_time(
        directory, {"pair": "near", "near": {"similarity": similarity}}, workers
    )
    print(
        f"nmt_prep: compile and clean take {clock:.1f} s with normalized, {near_clock:.1f} s with near "
        f"({processor:.1f} and {near_processor:.1f} s of processor time); peak memory {memory >> 20:,} MB"
    )
    added = max(near_processor - processor, 1e-9)
    print(
        f"  near duplicates take {1e6 * added / len(pairs):.1f} µs of processor time a pair; "
        f"{len(pairs) / max(near_clock - clock, 1e-9):,.0f} pairs/s by the clock, "
        f"{workers * len(pairs) / added:,.0f} by processor time on {workers} cores"
    )


def run_time(directory: Path, dedup: dict[str, Any], workers: int) -> tuple[float, float, int]:
    """Returns the seconds by the clock and of processor time, and the peak memory in bytes, of a run up to clean."""
    kind = dedup["pair"]
    clean = {"preset": "none", "rejects": "none", "dedup": dedup}
    config = {**settings(directory, "t2t"), "output_dir": str(directory / kind), "clean": clean}
    (directory / f"{kind}.yaml").write_text(json.dumps(config))  # which is YAML, too
    command = [sys.executable, "-m", "nmt_prep", "run", f"{kind}.yaml", "--until", "clean", "--workers", str(workers)]
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit("the run failed")
    return time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss << 10


def show_peer_speed(pairs: Pairs) -> None:
    from rensa import RMinHash, RMinHashLSH  # noqa: PLC0415  (only for the comparison)

    made = [tokens(*(frozenset(grams(side)) for side in pair)) for pair in pairs]
    started, started_processor = time.perf_counter(), time.process_time()
    signed = RMinHash.from_token_sets(made, PERMUTATIONS, 1)
    index = RMinHashLSH(0.75, PERMUTATIONS, PEER_BANDS)
    index.insert_many(signed)
    index.query_all(signed)
    clock, processor = time.perf_counter() - started, time.process_time() - started_processor
    print(
        f"rensa: {1e6 * processor / len(pairs):.1f} µs of processor time a pair; {len(pairs) / clock:,.0f} pairs/s by "
        "the clock, without making sets and without verification"
    )


if __name__ == "__main__":
    main()
