"""Compares SentencePiece training by nmt_prep and the sentencepiece library: same text, same options, same bytes.

    python -m benchmarks.sentencepiece_train [--model-types bpe unigram] [--sizes 8000 32000] [--copies 1] [train.en …]

Each training runs in a process of its own, from lines in memory; its peak of memory counts from there. The bytes of the
model files are compared, then pieces and scores. The default texts are the real corpora beside the checkout, or toy
ones. Lines are distinct. ``--copies`` repeats them with a number in each line.
"""

from __future__ import annotations

import argparse
import io
import itertools
import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.bpe_texts import column, megabytes, texts
from benchmarks.figures import Figure, Spent, best, record, stopwatch, with_version


class Training(NamedTuple):
    """A trained model, and what the training took: time, and bytes of memory."""

    model: bytes
    spent: Spent
    memory: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("text", nargs="*", type=Path, help="text files, gzipped or not, one sentence per line")
    parser.add_argument("--model-types", nargs="+", choices=("bpe", "unigram"), default=["bpe", "unigram"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[8000, 32_000], help="sizes of the vocabulary")
    parser.add_argument("--copies", type=int, default=1, help="copies of the text, numbered from the second on")
    parser.add_argument("--repeat", type=int, default=2, help="trainings of each package; the quickest counts")
    arguments = parser.parse_args()
    same = True
    for name, lines in texts(arguments.text).items():
        repeated = [f"{line} {copy}" if copy else line for copy in range(arguments.copies) for line in lines]
        for kind, size in itertools.product(arguments.model_types, arguments.sizes):
            settings = {"vocab_size": size, "model_type": kind, "hard_vocab_limit": False}
            same &= compare(name, repeated, settings, arguments.repeat)
    return 0 if same else 1


def compare(name: str, lines: list[str], settings: dict[str, Any], repeat: int) -> bool:
    """Prints and records the times of both packages; returns True if the models are the same bytes."""
    ours, theirs = (
        [in_a_process(train, lines, settings) for _ in range(repeat)] for train in (train_ours, train_theirs)
    )
    agreement = compared(ours[0].model, theirs[0].model)
    fast, slow = (best([run.spent for run in runs]) for runs in (ours, theirs))
    size = megabytes(lines)
    memory, their_memory = (min(run.memory for run in runs) / size / 1e6 for runs in (ours, theirs))
    what = f"SentencePiece training, {settings['model_type']}, {name}, {size:.1f} MB, {settings['vocab_size']:,} pieces"
    record(Figure(f"{what}, all cores, {agreement}", "s", [fast], with_version("sentencepiece"), [slow]))
    print(
        f"{what}: nmt_prep {fast.clock:.2f} s, sentencepiece {slow.clock:.2f} s, "
        f"{slow.clock / fast.clock:.1f} times as fast; processor time {fast.processor:.2f} s, "
        f"{slow.processor:.2f} s, {slow.processor / fast.processor:.1f} times; memory {memory:.1f}, "
        f"{their_memory:.1f} bytes a byte of text; {agreement}",
        flush=True,
    )
    return agreement == "same bytes"


def in_a_process(train: Any, lines: list[str], settings: dict[str, Any]) -> Training:
    """Returns the result of a training in a new process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(train, lines, settings).result()


def train_ours(lines: list[str], settings: dict[str, Any]) -> Training:
    from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer  # noqa: PLC0415

    array = column(lines)
    options = dict(settings)
    size = options.pop("vocab_size")
    return measured(lambda: SentencePieceTokenizer.train(array, size, **options).model_bytes)


def train_theirs(lines: list[str], settings: dict[str, Any]) -> Training:
    import sentencepiece  # noqa: PLC0415

    # As nmt_prep sets them.
    fixed: dict[str, Any] = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": 3}
    fixed |= {"character_coverage": 0.9995, "byte_fallback": False, "normalization_rule_name": "nmt_nfkc"}
    fixed |= {"num_threads": 16, "shuffle_input_sentence": False, "minloglevel": 2}

    def model() -> bytes:
        written = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=written, **settings, **fixed
        )
        return written.getvalue()

    return measured(model)


def measured(train: Callable[[], bytes]) -> Training:
    """Trains a model and measures time and memory."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = _peak()
    with stopwatch() as watch:
        model = train()
    return Training(model, watch.spent, _peak() - before)


def _peak() -> int:
    """Returns the peak of this process's memory, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def compared(ours: bytes, theirs: bytes) -> str:
    """Returns how far two models agree."""
    if ours == theirs:
        return "same bytes"
    first, second = _pieces(ours), _pieces(theirs)
    if list(first) != list(second):
        shared = len(first.keys() & second.keys()) / max(len(second), 1)
        return f"OTHER PIECES OR ORDER, {shared:.2%} shared"
    return f"same pieces, scores differ by {max(abs(first[piece] - second[piece]) for piece in first):.2g} at most"


def _pieces(model: bytes) -> dict[str, float]:
    import sentencepiece  # noqa: PLC0415

    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return {processor.id_to_piece(number): processor.get_score(number) for number in range(len(processor))}


if __name__ == "__main__":
    sys.exit(main())
