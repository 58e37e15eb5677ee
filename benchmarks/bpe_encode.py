"""Compares byte-level BPE encoding by nmt_prep, tiktoken, tokenizers and gigatoken: same text, one thread each.

    python benchmarks/bpe_encode.py                                     # real corpora beside the checkout, or toy ones
    python benchmarks/bpe_encode.py --vocabulary tokenizer.json train.en

Without ``--vocabulary``, one of ``--size`` is trained on each text. All ids are compared. The lines of the text are
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
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
import tiktoken
import tokenizers
from bpe_texts import column, megabytes, texts

from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN
from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer

Encode = Callable[[], Any]
Flat = Callable[[Any], "np.ndarray[Any, np.dtype[np.int64]]"]


def packages(path: Path, lines: list[str]) -> dict[str, tuple[Encode, Flat]]:
    """Returns a new encoder of each package, and a function that converts its result to one row of ids."""
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
                lambda giga=giga, given=given: giga.encode_batch(given, parallel=False),
                lambda rows: awkward.to_numpy(awkward.flatten(rows)).astype(np.int64),
            )
    return found


def compare(name: str, path: Path, lines: list[str], repeat: int, skip: set[str]) -> bool:
    size = megabytes(lines)
    encoders = {package: pair for package, pair in packages(path, lines).items() if package not in skip}
    seconds: dict[str, list[float]] = {package: [] for package in encoders}
    ids = {}
    for turn in range(repeat):
        for package, (encode, flat) in encoders.items():
            started = time.process_time()
            rows = encode()
            seconds[package].append(time.process_time() - started)
            if turn == 0:
                ids[package] = flat(rows)
    same = {package: bool(np.array_equal(ids["nmt_prep"], found)) for package, found in ids.items()}
    print(f"{name}: {len(lines)} distinct lines, {size:.1f} MB, {len(ids['nmt_prep'])} ids")
    warm = size / min(seconds["nmt_prep"][1:])
    cold = size / seconds["nmt_prep"][0]
    for package, taken in seconds.items():
        first, best = size / taken[0], size / min(taken[1:])
        print(
            f"  {package:18} first {first:6.1f}, best {best:6.1f} MB/s; nmt_prep is {cold / first:5.1f} and "
            f"{warm / best:5.1f} times as fast; {'same ids' if same[package] else 'OTHER IDS'}",
            flush=True,
        )
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
            same &= compare(name, path, lines, max(arguments.repeat, 2), set(arguments.skip))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
