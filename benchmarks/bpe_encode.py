"""Compares byte-level BPE encoding by nmt_prep, tiktoken, tokenizers and gigatoken: same text, one thread each.

    python -m benchmarks.bpe_encode                                     # real corpora beside the checkout, or toy ones
    python -m benchmarks.bpe_encode --vocabulary tokenizer.json train.en

Without ``--vocabulary``, one of ``--size`` is trained on each text. All IDs are compared. The lines of the text are
distinct, so all caches are cold in the first call; the best of the later calls has warm caches. Packages take turns and
CPU time is measured, so that other load on the machine has little effect. tiktoken and tokenizers take a list of
strings, gigatoken a list or one buffer, nmt_prep an Arrow array; tiktoken and tokenizers return lists, the others
arrays.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
import tiktoken
import tokenizers

from benchmarks.bpe_texts import column, megabytes, texts
from benchmarks.figures import Figure, Spent, best, record, stopwatch, with_version
from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN
from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer

Encode = Callable[[], Any]
Flat = Callable[[Any], "np.ndarray[Any, np.dtype[np.int64]]"]


def packages(path: Path, lines: list[str]) -> dict[str, tuple[Encode, Flat]]:
    """Returns a new encoder of each package, and a function that converts its result to one row of IDs."""
    ours = ByteBPETokenizer.load(path)
    array = column(lines)
    vocabulary = ours.vocabulary
    theirs = tiktoken.Encoding(
        "benchmark",
        pat_str=GPT2_PATTERN,
        mergeable_ranks={token: number for number, token in enumerate(vocabulary.tokens) if token},
        special_tokens=dict(vocabulary.specials),
    )
    hugging_face = tokenizers.Tokenizer.from_file(str(path))
    found: dict[str, tuple[Encode, Flat]] = {
        "nmt_prep": (lambda: ours.encode_batch(array, threads=1), lambda rows: rows.values.astype(np.int64)),
        "tiktoken": (
            lambda: [theirs.encode_ordinary(line) for line in lines],
            lambda rows: np.array([i for row in rows for i in row], np.int64),
        ),
        "tokenizers": (
            lambda: hugging_face.encode_batch_fast(lines, add_special_tokens=False),
            lambda rows: np.array([i for row in rows for i in row.ids], np.int64),
        ),
    }
    if importlib.util.find_spec("gigatoken"):
        import awkward  # noqa: PLC0415
        import gigatoken  # noqa: PLC0415

        source = gigatoken.BytesSource(["\n".join(lines).encode()], separator="\n")
        for kind, given in (("list", lines), ("buffer", source)):
            giga = gigatoken.Tokenizer(str(path))
            found[f"gigatoken, {kind}"] = (
                partial(giga.encode_batch, given, parallel=False),
                lambda rows: awkward.to_numpy(awkward.flatten(rows)).astype(np.int64),
            )
    return found


def compare(name: str, kind: str, path: Path, lines: list[str], repeat: int, skip: set[str]) -> bool:
    size = megabytes(lines)
    encoders = {package: pair for package, pair in packages(path, lines).items() if package not in skip}
    seconds: dict[str, list[Spent]] = {package: [] for package in encoders}
    ids = {}
    for turn in range(repeat):
        for package, (encode, flat) in encoders.items():
            with stopwatch() as watch:
                rows = encode()
            seconds[package].append(watch.spent)
            if turn == 0:
                ids[package] = flat(rows)
    same = {package: bool(np.array_equal(ids["nmt_prep"], found)) for package, found in ids.items()}
    print(f"{name}: {len(lines)} distinct lines, {size:.1f} MB, {len(ids['nmt_prep'])} ids")
    times = {package: [taken[0], best(taken[1:])] for package, taken in seconds.items()}
    for package, taken in times.items():
        first, later = (size / each.processor for each in taken)
        cold, warm = (b.processor / a.processor for a, b in zip(times["nmt_prep"], taken, strict=True))
        print(
            f"  {package:18} first {first:6.1f}, best {later:6.1f} MB/s; nmt_prep is {cold:5.1f} and "
            f"{warm:5.1f} times as fast; {'same ids' if same[package] else 'OTHER IDS'}",
            flush=True,
        )
        if package != "nmt_prep":
            what = f"byte-level BPE encoding, {kind}, {name}, one thread, first call / later calls, identical"
            label = ", ".join([with_version(package.split(",")[0]), *package.split(", ")[1:]])
            record(Figure(what, "MB/s", times["nmt_prep"], label, taken, size))
    return all(same.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("text", nargs="*", type=Path, help="text files, gzipped or not, one sentence per line")
    parser.add_argument("--vocabulary", type=Path, help="tokenizer.json; else one is trained on each text")
    parser.add_argument("--size", type=int, default=32_000, help="size of the trained vocabulary")
    parser.add_argument("--repeat", type=int, default=5, help="calls of each package")
    parser.add_argument("--skip", nargs="*", default=[], help="packages to leave out")
    arguments = parser.parse_args()
    same = True
    with tempfile.TemporaryDirectory() as directory:
        for name, lines in texts(arguments.text).items():
            path = arguments.vocabulary
            if path is None:
                path = Path(directory) / "tokenizer.json"
                ByteBPETokenizer.train(column(lines), arguments.size).save(path)
            kind = f"{len(ByteBPETokenizer.load(path)):,} pieces"
            same &= compare(name, kind, path, lines, max(arguments.repeat, 2), set(arguments.skip))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
