"""Compares SentencePiece models run by nmt_prep and by the sentencepiece library: same text, one thread each.

    python -m benchmarks.sentencepiece_encode                       # real corpora beside the checkout, or toy ones
    python -m benchmarks.sentencepiece_encode --model llama.model train.en

Without ``--model``, a BPE and two unigram models are trained on ``--lines`` lines of each text: of ``--size`` pieces,
and of a quarter of them. The larger unigram model encodes the next text too, as a model meets lines in other languages.
All IDs are compared. The lines of the text are distinct, so the cache is cold in the first call; the best of the later
calls has a warm cache. The two take turns and CPU time is measured, so that other load on the machine has little
effect. The library takes a list of strings and returns lists; nmt_prep takes an Arrow array and returns arrays.

Samples (``alpha`` 0.1, dropout 0.1) have other random numbers in the library. Of them, the numbers of IDs are compared.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import sentencepiece

from benchmarks.bpe_texts import column, megabytes, texts
from benchmarks.figures import Figure, Spent, best, record, stopwatch, with_version
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer

_STRENGTH = 0.1
_NEAR = 0.02
"""Difference of the numbers of sampled IDs, as a share, that chance does not explain in these texts."""


def compare(name: str, model: bytes, lines: list[str], repeat: int) -> bool:
    """Prints speeds of encoding; returns True if the IDs are the same."""
    size = megabytes(lines)
    array = column(lines)
    ours = SentencePieceTokenizer(model)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model)
    our_times, their_times = [], []
    same = True
    for turn in range(repeat):
        with stopwatch() as watch:
            rows = ours.encode_batch(array, threads=1)
        our_times.append(watch.spent)
        with stopwatch() as watch:
            lists = theirs.encode(lines, out_type=int, num_threads=1)
        their_times.append(watch.spent)
        if turn == 0:
            ids = np.array([i for row in lists for i in row], np.int32)
            lengths = np.array([len(row) for row in lists])
            same = np.array_equal(rows.values, ids) and np.array_equal(rows.lengths, lengths)
    result = "same IDs" if same else "OTHER IDS"
    report(f"{name}, one thread, first call / later calls, {result}", "MB", our_times, their_times, size, size)
    return same


def compare_samples(name: str, model: bytes, lines: list[str], repeat: int) -> bool:
    """Prints speeds of sampling; returns True if there are about as many IDs."""
    array = column(lines)
    ours = SentencePieceTokenizer(model)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model)
    options: Any = {"dropout" if ours.model_type == "bpe" else "alpha": _STRENGTH}
    our_times, their_times = [], []
    for seed in range(repeat):
        with stopwatch() as watch:
            rows = ours.encode_batch(array, threads=1, seed=seed, **options)
        our_times.append(watch.spent)
    with stopwatch() as watch:
        lists = theirs.encode(lines, out_type=int, num_threads=1, enable_sampling=True, alpha=_STRENGTH, nbest_size=-1)
    their_times.append(watch.spent)
    count, their_count = len(rows.values), sum(len(row) for row in lists)
    near = abs(count / their_count - 1) < _NEAR
    how = " ".join(f"{option} {strength}" for option, strength in options.items())
    result = f"{count / their_count:.3f} times as many IDs" if near else "ANOTHER NUMBER OF IDS"
    report(
        f"{name}, {how}, one thread, first call / later calls, {result}",
        "M ids",
        our_times,
        their_times,
        count / 1e6,
        their_count / 1e6,
    )
    return near


def report(what: str, unit: str, ours: list[Spent], theirs: list[Spent], amount: float, their_amount: float) -> None:
    """Prints and records the first call, and the best of the later ones."""
    peer = best(theirs).times(amount / their_amount)
    times = [ours[0], best(ours[1:])]
    speeds = [f"{amount / each.processor:.1f} ({peer.processor / each.processor:.1f} times)" for each in times]
    print(f"{what}: sentencepiece {amount / peer.processor:.2f} {unit}/s, nmt_prep {' / '.join(speeds)}", flush=True)
    record(Figure(f"SentencePiece, {what}", f"{unit}/s", times, with_version("sentencepiece"), [peer, peer], amount))


def trained(lines: list[str], size: int, kind: Literal["bpe", "unigram"]) -> bytes:
    """Returns the file of a model."""
    return SentencePieceTokenizer.train(lines, size, model_type=kind, hard_vocab_limit=False).model_bytes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("text", nargs="*", type=Path, help="text files, gzipped or not, one sentence per line")
    parser.add_argument("--model", type=Path, help=".model file; else models are trained on each text")
    parser.add_argument("--size", type=int, default=32_000, help="pieces of the trained models")
    parser.add_argument("--lines", type=int, default=20_000, help="lines to train on")
    parser.add_argument("--repeat", type=int, default=5, help="calls of each")
    arguments = parser.parse_args()
    repeat = max(arguments.repeat, 2)
    same = True
    others: dict[str, bytes] = {}
    for name, lines in texts(arguments.text).items():
        if arguments.model is not None:
            sampled, unsampled = {arguments.model.name: arguments.model.read_bytes()}, {}
        else:
            sample, size = lines[: arguments.lines], arguments.size
            sampled = {"bpe": trained(sample, size, "bpe"), "unigram": trained(sample, size, "unigram")}
            unsampled = {f"unigram of {size // 4:,} pieces": trained(sample, size // 4, "unigram")} | others
            others = {f"unigram of {name}": sampled["unigram"]}
        for kind, model in (sampled | unsampled).items():
            same &= compare(f"{name}, {kind}", model, lines, repeat)
        for kind, model in sampled.items():
            same &= compare_samples(f"{name}, {kind}", model, lines, repeat)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
