"""Compares nmt_prep.torch.Batches with a DataLoader and a collator of the kind of Hugging Face's, on the same pairs.

    scripts/test-torch --collect-only -q      # makes .venv-torch
    .venv-torch/bin/python -m benchmarks.torch [--repeat 16]

Run it in the root of the checkout. The text is that of benchmarks.input: WMT22 English–Chinese from the directory of
real corpora beside the checkout, or else the toy corpus. The peer holds the pairs as lists of IDs in memory, as a
mapped dataset gives them, and shuffles them. It pads each batch to its longest row as DataCollatorForSeq2Seq does:
``input_ids``, ``attention_mask``, and ``labels`` with -100. Its batches have as many pairs as those of Batches on
average; with "grouped" they are sorted by length within 50 batches, as Trainer's group_by_length does. The peer reads
the text once, the others ``--repeat`` copies of it. Ids are compared with those of read_records.

Tokens are those of both sides, without padding. CPU time is that of all threads and processes. Each line is the best of
three epochs by the clock, start included. If there is a GPU, copies to it are included.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from benchmarks.figures import Epoch, Figure, Spent, record, with_version
from benchmarks.input_runs import read_text, vocabulary, write_run
from nmt_prep.torch import BatchedInput, Batches
from nmt_prep.training.batches import IdBatch, read_records
from nmt_prep.training.batches.batch_reader import IGNORED

Pair = tuple[list[int], list[int]]


def collate(pairs: list[Pair]) -> dict[str, torch.Tensor]:
    """Pads pairs in Python, then makes tensors."""
    source, target = (max(len(pair[side]) for pair in pairs) for side in (0, 1))
    return {
        "input_ids": torch.tensor([ids + [0] * (source - len(ids)) for ids, _ in pairs]),
        "attention_mask": torch.tensor([[1] * len(ids) + [0] * (source - len(ids)) for ids, _ in pairs]),
        "labels": torch.tensor([ids + [-100] * (target - len(ids)) for _, ids in pairs]),
    }


def grouped(pairs: list[Pair], size: int) -> Iterator[list[int]]:
    """Yields batches of numbers: shuffled, then sorted by length within 50 batches."""
    numbers = random.sample(range(len(pairs)), len(pairs))
    for start in range(0, len(numbers), 50 * size):
        part = sorted(numbers[start : start + 50 * size], key=lambda number: -max(map(len, pairs[number])))
        bounds = [*range(0, len(part), size), len(part)]
        yield from (part[begin:end] for begin, end in pairwise(bounds))


def cells(batch: Any) -> int:
    if isinstance(batch, IdBatch):
        return int(sum(len(side) * side.lengths.max() for side in batch))
    if isinstance(batch, BatchedInput):
        return int(batch.source.numel() + batch.target_output.numel())
    source, target = (batch[name] for name in ("input_ids", "labels"))
    if source.is_nested:
        return int(source.values().numel() + target.values().numel())
    return int(source.numel() + target.numel())


def on_gpu(batch: Any) -> None:
    if isinstance(batch, dict):
        for tensor in batch.values():
            tensor.to("cuda", non_blocking=True)


def measure(name: str, make: Callable[[], Iterable[Any]], tokens: int) -> Epoch:
    """Runs three epochs, and prints a line on the best one."""
    gpu = torch.cuda.is_available()
    found = []
    for _ in range(3):
        started, cpu = time.perf_counter(), sum(os.times()[:4])
        size = count = 0
        for batch in make():
            size, count = size + cells(batch), count + 1
            if gpu:
                on_gpu(batch)
        if gpu:
            torch.cuda.synchronize()
        found.append((time.perf_counter() - started, sum(os.times()[:4]) - cpu, size, count))
    seconds, cpu, size, count = min(found)
    print(
        f"{name:44}{tokens / seconds / 1e6:>7.2f} M tokens/s {tokens / cpu / 1e6:>7.2f} M tokens per second of CPU "
        f"{100 - 100 * tokens / size:>5.1f} % padding {count:>7,} batches",
        flush=True,
    )
    return Epoch(tokens, size, Spent(seconds, cpu))


def same_ids(batches: Iterable[Any], records: Iterable[IdBatch]) -> None:
    """Stops the benchmark unless the batches of both have the same IDs in the same order."""
    for number, (batch, expected) in enumerate(zip(batches, records, strict=True)):
        source, target = batch["input_ids"][batch["attention_mask"] == 1], batch["labels"]
        found = source, target[target != IGNORED]
        if not all(np.array_equal(ids, side.values) for ids, side in zip(found, expected, strict=True)):
            raise SystemExit(f"batch {number} of Batches differs from that of read_records")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=16, help="number of copies of the text in the shards")
    options = parser.parse_args()
    torch.set_num_threads(1)
    name, texts = read_text()
    vocabularies = [vocabulary(lines) for lines in texts]
    with tempfile.TemporaryDirectory() as directory:
        runs = {
            layout: write_run(Path(directory, layout), layout, texts, vocabularies, options.repeat)
            for layout in ("chunk", "example", "packed")
        }
        whole = list(read_records(runs["chunk"], "train"))
        tokens = sum(len(side.values) for batch in whole for side in batch)
        once = write_run(Path(directory, "once"), "chunk", texts, vocabularies, 1)
        pairs = [pair for batch in read_records(once, "train") for pair in zip(*(side.to_lists() for side in batch))]  # noqa: B905
        own = sum(len(side) for pair in pairs for side in pair)
        size = sum(len(batch.source) for batch in whole) // len(whole)
        same_ids(Batches(runs["chunk"], "train"), whole)
        del whole
        print(
            f"{name}: {len(texts[0]):,} pairs; PyTorch {torch.__version__}, {os.cpu_count()} cores, batches of {size}"
        )

        def loader(workers: int, by_length: bool) -> Callable[[], Iterable[Any]]:
            data: Any = pairs
            if by_length:
                return lambda: DataLoader(
                    data, batch_sampler=list(grouped(pairs, size)), collate_fn=collate, num_workers=workers
                )
            return lambda: DataLoader(data, size, shuffle=True, collate_fn=collate, num_workers=workers)

        def ours(layout: str, **arguments: Any) -> Callable[[], Iterable[Any]]:
            batches = Batches(runs[layout], "train", **arguments)
            return lambda: batches

        plain = measure("DataLoader, collator, in the process", loader(0, by_length=False), own)
        two = measure("DataLoader, collator, 2 workers", loader(2, by_length=False), own)
        by_length = measure("DataLoader, collator, 2 workers, grouped", loader(2, by_length=True), own)
        measure("read_records", lambda: read_records(runs["chunk"], "train"), tokens)
        found = measure("Batches", ours("chunk"), tokens)
        measure("Batches, layout example", ours("example"), tokens)
        measure("Batches, BatchedInput", ours("chunk", features="nmt"), tokens)
        measure("Batches, nested", ours("chunk", nested=True), tokens)
        measure("Batches, layout packed", ours("packed"), tokens)
        loaded = Batches(runs["chunk"], "train")
        measure("Batches in a DataLoader of 2 workers", lambda: DataLoader(loaded, None, num_workers=2), tokens)
    for peer, name in (
        (plain, "DataLoader, collator"),
        (two, "DataLoader of two workers, collator"),
        (by_length, "DataLoader of two workers, grouped by length, collator"),
    ):
        theirs = peer.spent.times(found.tokens / peer.tokens)
        what = f"nmt_prep.torch.Batches, {found.padding} (the peer {peer.padding})"
        figure = Figure(what, "tokens/s", [found.spent], f"{with_version('torch')}, {name}", [theirs], found.tokens)
        record(figure)
        [ratio] = figure.ratios()
        print(f"Batches against the {name}: {ratio.clock:.0f} times by the clock, {ratio.processor:.0f} by CPU time")


if __name__ == "__main__":
    main()
