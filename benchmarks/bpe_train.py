"""Compares byte-level BPE training by nmt_prep and tokenizers: same text, same process, same number of threads.

    python -m benchmarks.bpe_train [--size 32000] [--threads 1] [train.en …]

Merges and IDs are compared. The default texts are the real corpora beside the checkout, or toy ones. Lines are
distinct.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.figures import Figure, Spent, best, record, stopwatch, with_version


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("text", nargs="*", type=Path, help="text files, gzipped or not, one sentence per line")
    parser.add_argument("--size", type=int, default=32_000, help="size of the vocabulary")
    parser.add_argument("--threads", type=int, default=1, help="threads of both")
    parser.add_argument("--repeat", type=int, default=3, help="trainings of each package")
    arguments = parser.parse_args()
    # Read when tokenizers first runs in parallel.
    os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if arguments.threads > 1 else "false"

    from benchmarks.bpe_texts import megabytes, texts  # noqa: PLC0415

    same = True
    for name, lines in texts(arguments.text).items():
        ours, theirs = [], []
        for _ in range(arguments.repeat):
            ours.append(train_ours(lines, arguments.size, arguments.threads))
            theirs.append(train_theirs(lines, arguments.size))
        found, expected = ours[0][1:], theirs[0][1:]
        same &= found == expected
        fast, slow = (best([spent for spent, *_ in runs]) for runs in (ours, theirs))
        print(
            f"{name}: {len(lines)} distinct lines, {megabytes(lines):.1f} MB, {len(found[0])} tokens, "
            f"{arguments.threads} threads: nmt_prep {fast.clock:.2f} s, tokenizers {slow.clock:.2f} s, "
            f"{slow.clock / fast.clock:.1f} times as fast by the clock, {slow.processor / fast.processor:.1f} by "
            f"processor time; {'same merges' if found == expected else 'OTHER MERGES'}",
            flush=True,
        )
        threads = "one thread" if arguments.threads == 1 else f"{arguments.threads} threads"
        what = f"byte-level BPE training, {name}, {megabytes(lines):.1f} MB, {threads}, same merges"
        record(Figure(what, "s", [fast], with_version("tokenizers"), [slow]))
    return 0 if same else 1


def train_ours(lines: list[str], size: int, threads: int) -> tuple[Spent, dict[str, int], list[tuple[str, str]]]:
    from benchmarks.bpe_texts import column  # noqa: PLC0415
    from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer  # noqa: PLC0415

    array = column(lines)
    with stopwatch() as watch:
        tokenizer = ByteBPETokenizer.train(array, size, threads=threads)
    pieces = tokenizer.pieces
    merges = [(pieces[left], pieces[right]) for left, right, _ in tokenizer.vocabulary.merges.tolist()]
    return watch.spent, {piece: number for number, piece in enumerate(pieces)}, merges


def train_theirs(lines: list[str], size: int) -> tuple[Spent, dict[str, int], list[tuple[str, str]]]:
    import json  # noqa: PLC0415

    from tokenizers import Tokenizer, models, pre_tokenizers, trainers  # noqa: PLC0415

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<pad>", "<EOS>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    with stopwatch() as watch:
        tokenizer.train_from_iterator(lines, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return watch.spent, model["vocab"], [tuple(merge) for merge in model["merges"]]


if __name__ == "__main__":
    sys.exit(main())
