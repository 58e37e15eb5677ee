"""Compares input functions: get_iterator and make_dataset with those of tensorflow/nmt and Tensor2Tensor.

    python -m benchmarks.input [--repeat 32]

Run it in the root of the checkout. The text is WMT22 English–Chinese from the directory of real corpora beside the
checkout, or else the toy corpus. The source is split into words, the target into characters; the vocabularies hold the
8,192 most frequent of each. The peers are the simple reimplementations that the tests use. The batches of get_iterator
are compared with the peer's, and those of make_dataset with those of read_records; this is not timed.

Batches are only taken, one after the other. Token counts include sos or eos, but not padding. CPU time is that of all
threads; on a busy machine it is more reliable, and "CPU M tokens/s" is the speed of two otherwise idle cores. Each line
is an epoch, including its start, or the best of three epochs where there is a figure in README; the start alone is the
time to the first batch. Functions that read text read it 4 times, and Tensor2Tensor's reads 4 copies of it. Memory is
the peak of the process during each line, including TensorFlow and earlier lines.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf

from benchmarks.figures import Epoch, Figure, Spent, best, record, stopwatch
from benchmarks.input_runs import read_text, vocabulary, with_documents, write_run, write_text_run
from nmt_prep.training.batches import IdBatch, read_records
from nmt_prep.training.records.shuffle_plan import Layout
from nmt_prep.training.tensorflow import BatchedInput, get_iterator, make_dataset
from tests.reference.nmt_iterator import reference_iterator
from tests.reference.t2t_batching import reference_t2t_batches

CORES = 2
TEXT_READS, PEER_COPIES = 4, 4
VOCABULARY = 23_000  # more than this text gives with a shared vocabulary are refused


class Counted(NamedTuple):
    """Counts of a batch; for packed rows, the pairs in them."""

    pairs: int
    tokens: int
    cells: int


def table(words: dict[str, int]) -> Any:
    initializer = tf.lookup.KeyValueTensorInitializer(list(words), tf.constant(list(words.values()), tf.int32))
    return tf.lookup.StaticHashTable(initializer, 2)


def count(batch: Any) -> Counted:
    if isinstance(batch, dict):
        inputs, targets = batch["inputs"].numpy(), batch["targets"].numpy()
        segments = batch.get("inputs_segmentation")
        pairs = len(inputs) if segments is None else int(segments.numpy().max(axis=1).sum())
        return Counted(pairs, int(np.count_nonzero(inputs) + np.count_nonzero(targets)), inputs.size + targets.size)
    if not isinstance(batch, BatchedInput) and hasattr(batch, "target"):
        lengths = batch.source.lengths, batch.target.lengths
        return Counted(
            len(lengths[0]), int(sum(map(np.sum, lengths))), len(lengths[0]) * int(sum(map(np.max, lengths)))
        )
    fields: Any = batch[1:] if isinstance(batch, BatchedInput) else batch
    source, _, output, *lengths = fields
    cells = len(source) * (source.shape[1] + output.shape[1])
    return Counted(len(source), int(sum(tf.reduce_sum(length) for length in lengths)), cells)


def reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def measure(name: str, make: Callable[[], Any], epochs: int = 1, kept: list[Any] | None = None) -> Epoch:
    """Times epochs, prints a line on the best one, and returns it.

    Args:
        name: first word of the line.
        make: returns the batches of an epoch.
        epochs: number of epochs.
        kept: gets the batches of the only epoch; without it, another epoch counts them, so that none is held in memory.
    """
    reset_peak()
    found = [timed(make, kept) for _ in range(epochs)]
    memory = peak_mb()
    counts = map(count, make() if kept is None else kept)
    pairs, tokens, cells = (sum(column) for column in zip(*counts, strict=True))
    seconds, cpu_seconds = best([epoch for epoch, _ in found])
    first, cpu_first = best([start for _, start in found])
    print(
        f"{name:38}{pairs / seconds:>9,.0f} pairs/s {tokens / seconds / 1e6:>6.2f} M tokens/s "
        f"{1e6 * cpu_seconds / pairs:>6.1f} us CPU/pair {CORES * tokens / cpu_seconds / 1e6:>6.2f} CPU M tokens/s "
        f"{100 - 100 * tokens / cells:>5.1f} % padding  first batch {first:>5.2f} s "
        f"({cpu_first:.2f} CPU) {memory:>6,} MB",
        flush=True,
    )
    return Epoch(tokens, cells, Spent(seconds, cpu_seconds), pairs)


def timed(make: Callable[[], Any], kept: list[Any] | None) -> tuple[Spent, Spent]:
    """Runs an epoch, and returns the time of the whole epoch and the time to its first batch."""
    with stopwatch() as whole:
        with stopwatch() as start:
            batches = iter(make())
            first = next(batches)
        if kept is None:
            for _ in batches:
                pass
        else:
            kept.extend([first, *batches])
    return whole.spent, start.spent


def same_batches(ours: Iterable[BatchedInput], peers: Iterable[Any]) -> None:
    """Stops the benchmark unless all fields of all batches are equal."""
    for number, (batch, other) in enumerate(zip(ours, peers, strict=True)):
        if not all(np.array_equal(field, expected) for field, expected in zip(batch[1:], other, strict=True)):
            raise SystemExit(f"batch {number} of get_iterator differs from the peer's")


def same_ids(batches: Iterable[BatchedInput], records: Iterable[IdBatch]) -> None:
    """Stops the benchmark unless the batches of both have the same IDs in the same order."""
    for number, (batch, expected) in enumerate(zip(batches, records, strict=True)):
        sides = (batch.source, batch.source_sequence_length), (batch.target_output, batch.target_sequence_length)
        for (ids, lengths), side in zip(sides, expected, strict=True):
            real = np.arange(ids.shape[1]) < lengths.numpy()[:, np.newaxis]
            if not (np.array_equal(lengths, side.lengths) and np.array_equal(ids.numpy()[real], side.values)):
                raise SystemExit(f"batch {number} of make_dataset differs from that of read_records")


class Text(NamedTuple):
    """The text to read.

    Attributes:
        lines: the lines of both sides.
        directory: directory for runs.
        repeat: number of copies of the text in the shards.
    """

    lines: tuple[list[str], list[str]]
    directory: Path
    repeat: int

    def run(self, name: str, layout: Layout = "chunk", repeat: int | None = None) -> Path:
        """Writes a run, with its records in a layout."""
        vocabularies = [vocabulary(lines) for lines in self.lines]
        return write_run(self.directory / name, layout, self.lines, vocabularies, repeat or self.repeat)


def compare_iterators(text: Text) -> None:
    """Compares get_iterator with that of tensorflow/nmt."""
    paths = [text.directory / side for side in ("source", "target")]
    for path, lines in zip(paths, text.lines, strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    tables = [table(vocabulary(lines)) for lines in text.lines]

    def nmt(function: Callable[..., Any]) -> Any:
        files = [tf.data.TextLineDataset(str(path)).repeat(TEXT_READS) for path in paths]
        return function(*files, *tables, 128, "<s>", "</s>", 3, 5, src_max_len=50, tgt_max_len=50)

    upstream: list[Any] = []
    peer = measure("tensorflow/nmt, a pair at a time", lambda: nmt(reference_iterator), kept=upstream)
    same = measure("get_iterator", lambda: nmt(get_iterator), 3)
    same_batches(nmt(get_iterator), upstream)
    compared("get_iterator, same batches", same, "tensorflow/nmt's input pipeline", peer)


def compare_datasets(text: Text) -> None:
    """Compares make_dataset, with layouts and buckets, with the input pipeline of Tensor2Tensor."""
    small = text.run("small", "example", PEER_COPIES)
    examples = sorted(map(str, (small / "records").glob("bench-*")))
    peer = measure("Tensor2Tensor, a pair at a time", lambda: reference_t2t_batches(examples, 4096, 256), kept=[])
    layouts: tuple[Layout, ...] = ("example", "chunk", "packed")
    runs = {layout: text.run(layout, layout) for layout in layouts}

    def ours(layout: Layout, **arguments: Any) -> Callable[[], Any]:
        return lambda: make_dataset(runs[layout], "train", **arguments)

    t2t: dict[str, Any] = {"features": "t2t"}
    example = measure("make_dataset, example", ours("example"))
    chunk = measure("make_dataset, chunk", ours("chunk"), 3)
    same_ids(ours("chunk")(), read_records(runs["chunk"], "train"))
    measure("make_dataset, chunk, 16 best buckets", ours("chunk", bucketing="optimal"))
    measure("make_dataset, chunk, T2T's buckets", ours("chunk", bucketing="t2t", **t2t))
    measure("make_dataset, chunk, pad_to 5 lengths", ours("chunk", pad_to=[16, 32, 64, 128, 256]))
    measure("make_dataset, chunk, packed online", ours("chunk", packed=True, **t2t))
    measure("make_dataset, packed", ours("packed", **t2t))
    for label, found in (("make_dataset, layout example", example), ("make_dataset, layout chunk", chunk)):
        compared(f"{label}, {found.padding} (the peer {peer.padding})", found, "Tensor2Tensor's input pipeline", peer)


def compare_reading(text: Text) -> None:
    """Compares read_records for plain pairs, for corpora with a temperature, and for windows of documents."""
    plain, half, whole = (text.run(name) for name in ("plain", "half", "whole"))
    with_documents(half, share=0.5)
    with_documents(whole, share=1)
    cases: dict[str, tuple[Path, Any]] = {
        "read_records, layout chunk, without TensorFlow": (plain, {}),
        "read_records, temperature 5": (plain, {"temperature": 5}),
        "read_records, windows of half of the documents": (half, {}),
        "read_records, windows of all documents": (whole, {}),
    }
    found = {
        label: measure(label, partial(read_records, run, "train", **given), 5) for label, (run, given) in cases.items()
    }
    first, *others = found.items()
    for label, epoch in others:
        speed = epoch.tokens / epoch.spent.processor / (first[1].tokens / first[1].spent.processor)
        print(f"{label}: {speed:.2f} times the speed of plain pairs by CPU time")
    for label, epoch in found.items():
        record(Figure(label, "tokens/s", [epoch.spent], amount=epoch.tokens))


def measure_text(text: Text) -> None:
    """Measures read_records of layout text, and drawing subwords."""
    run = write_text_run(text.directory / "text", text.lines, text.repeat, VOCABULARY)
    measure("read_records, text", lambda: read_records(run, "train"), 3)
    sampling = {side: {"dropout": 0.1} for side in ("source", "target")}
    sampled = measure("read_records, text, BPE-dropout 0.1", lambda: read_records(run, "train", subwords=sampling), 3)
    label = f"read_records, layout text, BPE-dropout 0.1, {VOCABULARY:,} pieces"
    record(Figure(label, "tokens/s", [sampled.spent], amount=sampled.tokens))


def compared(label: str, found: Epoch, name: str, peer: Epoch) -> None:
    """Records a figure beside that of a peer, and prints their ratio."""
    theirs = peer.spent.times(found.pairs / peer.pairs)
    figure = Figure(label, "tokens/s", [found.spent], name, [theirs], found.tokens)
    record(figure)
    [ratio] = figure.ratios()
    print(f"{label}, against {name}: {ratio.clock:.1f} times by the clock, {ratio.processor:.1f} by CPU time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=32, help="number of copies of the text in the shards")
    options = parser.parse_args()
    name, lines = read_text()
    print(f"{name}: {len(lines[0]):,} pairs; TensorFlow {tf.__version__}, {os.cpu_count()} cores")
    for compare in (compare_iterators, compare_datasets, compare_reading, measure_text):
        with tempfile.TemporaryDirectory() as directory:
            compare(Text(lines, Path(directory), options.repeat))


if __name__ == "__main__":
    main()
