"""Compares building a Tensor2Tensor vocabulary by nmt_prep and the package tensor2tensor: same text and process.

python -m benchmarks.t2t_vocabulary                       # real corpora beside the checkout, or the toy corpus
python -m benchmarks.t2t_vocabulary --no-peer train.zh    # own file, without the slow peer
python -m benchmarks.t2t_vocabulary --scaling 2 20 200    # time and memory over megabytes of distinct tokens
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.figures import Figure, record, stopwatch, with_version
from benchmarks.t2t_corpora import corpora, megabytes, peer
from nmt_prep.subwords.t2t.tokenizer import T2TTokenizer


def compare(name: str, lines: list[str], arguments: argparse.Namespace) -> bool:
    column = pa.array(lines, pa.large_string())
    with stopwatch() as watch:
        ours = T2TTokenizer.train(
            column, arguments.size, max_subtoken_length=arguments.max_subtoken_length, threads=arguments.threads
        )
        ours.encode("")  # makes the tables for encoding, which the peer has by then
    spent = watch.spent
    text = f"{name}, {megabytes(lines):.1f} MB, {len(ours):,} pieces"
    found = f"{text}: nmt_prep {spent.clock:.3f} s ({spent.processor:.3f} s of processors)"
    if not arguments.peer:
        print(found, flush=True)
        return True
    upstream = peer()
    with stopwatch() as watch:
        theirs = upstream.build_from_generator(lines, arguments.size, arguments.max_subtoken_length)
    same = ours.pieces == theirs.all_subtoken_strings
    print(
        f"{found}, tensor2tensor {watch.spent.clock:.1f} s, ratio {watch.spent.clock / spent.clock:.0f}, "
        f"{'identical' if same else 'DIFFERENT'}",
        flush=True,
    )
    threads = f"{arguments.threads} threads (the peer has one)" if arguments.threads > 1 else "one thread"
    what = f"Tensor2Tensor vocabulary, {text}, {threads}, identical"
    record(Figure(what, "s", [spent], with_version("tensor2tensor"), [watch.spent]))
    return same


def distinct_tokens(megabyte_count: float) -> pa.Array:
    """Returns distinct Chinese-like clauses of 4 to 24 characters (3 bytes each), distributed by Zipf's law."""
    draw = np.random.default_rng(1)
    words = [draw.integers(0x4E00, 0x4E00 + 5000, size) for size in draw.integers(1, 5, 30_000)]
    rows, size = [], 0
    while size < megabyte_count * 1e6:
        picked = draw.zipf(1.2, 4096 * 8) % len(words)
        flat = np.concatenate([words[i] for i in picked])
        bounds = np.cumsum(draw.integers(4, 25, len(flat) // 14))
        clauses = ["".join(map(chr, clause)) for clause in np.split(flat, bounds[bounds < len(flat)])]
        rows += clauses
        size += 3 * len(flat)
    return pa.array(sorted(set(rows)), pa.large_string())


def scale(megabyte_count: float, threads: int) -> None:
    column = distinct_tokens(megabyte_count)
    characters = sum(len(line) + 1 for line in column.to_pylist())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    tokenizer = T2TTokenizer.train(column, 8192, threads=threads)
    seconds = time.perf_counter() - started
    # Memory that was freed after generating the text is reused, so this is slightly too low for small texts.
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(
        f"{column.nbytes / 1e6:.0f} MB, {characters / 1e6:.1f} M characters of distinct tokens: {seconds:.2f} s, "
        f"{seconds / characters * 1e9:.0f} ns and {peak / characters:.0f} bytes a character, {len(tokenizer)} pieces",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*", type=Path, help="UTF-8 text, one sentence per line; .gz is unpacked")
    parser.add_argument("--size", type=int, default=8192)
    parser.add_argument("--max-subtoken-length", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-peer", dest="peer", action="store_false")
    parser.add_argument("--scaling", nargs="+", type=float, metavar="MB")
    arguments = parser.parse_args()
    if arguments.scaling and len(arguments.scaling) == 1:
        scale(arguments.scaling[0], arguments.threads)
        return 0
    if arguments.scaling:  # one process each, because peak memory never decreases
        for each in arguments.scaling:
            command = [
                sys.executable,
                "-m",
                "benchmarks.t2t_vocabulary",
                "--scaling",
                str(each),
                "--threads",
                str(arguments.threads),
            ]
            subprocess.run(command, check=True)
        return 0
    same = [compare(name, lines, arguments) for name, lines in corpora(arguments.texts).items()]
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
