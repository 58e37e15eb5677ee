"""Compares encoding with a Tensor2Tensor vocabulary by nmt_prep and the package tensor2tensor: same text and process.

    python -m benchmarks.t2t_encode                          # real corpora beside the checkout, or the toy corpus
    python -m benchmarks.t2t_encode --vocabulary v.subwords train.en --threads 2

Without ``--vocabulary``, one is built from each text. Caches are cold in the first call, and warm in the best of the
later calls.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import pyarrow as pa

from benchmarks.figures import Figure, best, record, stopwatch, with_version
from benchmarks.t2t_corpora import corpora, megabytes, peer
from nmt_prep.subwords.t2t.tokenizer import T2TTokenizer


def compare(name: str, lines: list[str], arguments: argparse.Namespace, path: Path) -> bool:
    if arguments.vocabulary is None:
        T2TTokenizer.train(pa.array(lines, pa.large_string()), arguments.size).save(path)
    ours = T2TTokenizer.load(path)
    column = pa.array(lines, pa.large_string())
    size = megabytes(lines)
    seconds = []
    for _ in range(arguments.repeat):
        with stopwatch() as watch:
            rows = ours.encode_batch(column, threads=arguments.threads)
        seconds.append(watch.spent)
    first, warm = seconds[0], best(seconds)
    found = f"{name}: {size:.1f} MB, nmt_prep first {size / first.clock:.0f}, best {size / warm.clock:.0f} MB/s"
    if not arguments.peer:
        print(found, flush=True)
        return True
    upstream = peer()
    theirs = upstream(str(path))
    with stopwatch() as watch:
        expected = [theirs.encode(line) for line in lines]
    same = rows.to_lists() == expected
    print(
        f"{found}, tensor2tensor {size / watch.spent.clock:.1f} MB/s, ratio {watch.spent.clock / warm.clock:.0f}, "
        f"{'identical' if same else 'DIFFERENT'}",
        flush=True,
    )
    threads = "one thread" if arguments.threads == 1 else f"{arguments.threads} threads"
    what = f"Tensor2Tensor encoding, {name}, {threads}, first call / later calls, identical"
    record(Figure(what, "MB/s", [first, warm], with_version("tensor2tensor"), [watch.spent] * 2, size))
    return same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*", type=Path, help="UTF-8 text, one sentence per line; .gz is unpacked")
    parser.add_argument("--vocabulary", type=Path)
    parser.add_argument("--size", type=int, default=8192)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--no-peer", dest="peer", action="store_false")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = arguments.vocabulary or Path(directory) / "built.subwords"
        texts = corpora(arguments.texts)
        same = [compare(name, lines, arguments, path) for name, lines in texts.items()]
        return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
