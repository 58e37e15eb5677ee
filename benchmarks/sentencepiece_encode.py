"""Compares encoding with SentencePiece models by nmt_prep and the sentencepiece library: same text, one thread each.

    python -m benchmarks.sentencepiece_encode                       # real corpora beside the checkout, or toy ones
    python -m benchmarks.sentencepiece_encode --model llama.model train.en

Without ``--model``, a BPE and a unigram model of ``--size`` pieces are trained on ``--lines`` lines of each text. All
ids are compared. The lines of the text are distinct, so the cache is cold in the first call; the best of the later
calls has a warm cache. The two take turns and CPU time is measured, so that other load on the machine has little
effect. The library takes a list of strings and returns lists; nmt_prep takes an Arrow array and returns arrays.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import sentencepiece

from benchmarks.bpe_texts import column, megabytes, texts
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer


def compare(name: str, model: bytes, lines: list[str], repeat: int) -> bool:
    """Prints speeds; returns True if the ids are the same."""
    size = megabytes(lines)
    array = column(lines)
    ours = SentencePieceTokenizer(model)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model)
    our_seconds, their_seconds = [], []
    same = True
    for turn in range(repeat):
        started = time.process_time()
        rows = ours.encode_batch(array, threads=1)
        our_seconds.append(time.process_time() - started)
        started = time.process_time()
        lists = theirs.encode(lines, out_type=int, num_threads=1)
        their_seconds.append(time.process_time() - started)
        if turn == 0:
            ids = np.array([i for row in lists for i in row], np.int32)
            lengths = np.array([len(row) for row in lists])
            same = np.array_equal(rows.values, ids) and np.array_equal(rows.lengths, lengths)
    cold, warm = size / our_seconds[0], size / min(our_seconds[1:])
    best = size / min(their_seconds)
    print(
        f"{name}: {size:.1f} MB, {len(rows.values)} ids; sentencepiece {best:.1f} MB/s, nmt_prep {cold:.1f} first, "
        f"{warm:.1f} best: {cold / best:.1f} and {warm / best:.1f} times as fast; "
        f"{'same ids' if same else 'OTHER IDS'}",
        flush=True,
    )
    return same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("text", nargs="*", type=Path, help="text files, gzipped or not, one sentence per line")
    parser.add_argument("--model", type=Path, help=".model file; else two are trained on each text")
    parser.add_argument("--size", type=int, default=32_000, help="pieces of the trained models")
    parser.add_argument("--lines", type=int, default=60_000, help="lines to train on")
    parser.add_argument("--repeat", type=int, default=5, help="calls of each")
    arguments = parser.parse_args()
    same = True
    for name, lines in texts(arguments.text).items():
        if arguments.model is not None:
            models = {arguments.model.name: arguments.model.read_bytes()}
        else:
            models = {
                kind: SentencePieceTokenizer.train(
                    lines[: arguments.lines], arguments.size, model_type=kind, hard_vocab_limit=False
                ).model_bytes
                for kind in ("bpe", "unigram")
            }
        for kind, model in models.items():
            same &= compare(f"{name}, {kind}", model, lines, max(arguments.repeat, 2))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
