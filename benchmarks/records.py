"""Compares writing shuffled shards from IDs: both phases of the stage encode and tf.io.TFRecordWriter, one thread each.

    python -m benchmarks.records [--pairs 400000] [--tokens 35] [--shards 10] [--peer-pairs 40000]

The peer writes each pair as a tf.train.Example to a shard, without shuffling. Speeds are in pairs per second. The
directory is temporary.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import Figure, Spent, record, stopwatch, with_version
from nmt_prep.base.columns import Ragged
from nmt_prep.training.records.shard_reader import read_shard
from nmt_prep.training.records.shuffle_plan import GlobalShuffle, ShardPlan, shard_name
from nmt_prep.training.records.writer import SpillWriter, write_shards

BATCH = 50_000
EOS = 1


def make_ids(pairs: int, tokens: int, rng: np.random.Generator) -> Ragged:
    """Returns rows of 2 to 2 * tokens - 2 IDs of a vocabulary of 8,192, mostly small IDs, each row ending in EOS."""
    lengths = rng.integers(2, 2 * tokens - 1, pairs)
    offsets = np.zeros(pairs + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    values = np.exp(rng.random(int(offsets[-1])) * np.log(8_190)).astype(np.int32) + 1
    values[offsets[1:] - 1] = EOS
    return Ragged(values, offsets)


def batches(rows: Ragged) -> Iterator[Ragged]:
    for first in range(0, len(rows), BATCH):
        yield rows.part(first, first + BATCH)


def ours(directory: Path, inputs: Ragged, targets: Ragged, shards: int) -> tuple[Spent, Spent, Spent]:
    """Returns the time of phase 1, of phase 2, and of reading all shards."""
    pairs = len(inputs)
    estimate = 2 * (len(inputs.values) + len(targets.values)) + 60 * pairs
    plan = ShardPlan(GlobalShuffle(pairs, 1, "train"), shards).divided(estimate, bucket_bytes=8 << 20)
    with stopwatch() as spilling, SpillWriter(directory / "spill", plan) as spill:
        for number, (source, target) in enumerate(zip(batches(inputs), batches(targets), strict=True)):
            spill.add(number * BATCH, source, target)
        stats = spill.close()
    paths = [directory / shard_name("bench", "train", shard, shards) for shard in range(shards)]
    with stopwatch() as writing:
        for shard, path in enumerate(paths):
            write_shards([path], plan, shard, [directory / "spill"])
    with stopwatch() as reading:
        read = sum(len(read_shard(path)[0]) for path in paths)
    if not read == stats.pairs == pairs:
        raise AssertionError(f"{pairs} pairs went in, {stats.pairs} were counted, {read} came out")
    return spilling.spent, writing.spent, reading.spent


def peer(directory: Path, inputs: Ragged, targets: Ragged, shards: int) -> Spent:
    """Returns the time of writing the same IDs with TensorFlow."""
    import tensorflow as tf  # noqa: PLC0415 - loads slowly, and must not count

    with stopwatch() as watch:
        write(tf, directory, inputs, targets, shards)
    return watch.spent


def write(tf: Any, directory: Path, inputs: Ragged, targets: Ragged, shards: int) -> None:
    writers = [tf.io.TFRecordWriter(str(directory / shard_name("peer", "train", i, shards))) for i in range(shards)]
    for row, (source, target) in enumerate(zip(inputs, targets, strict=True)):
        feature = {
            "inputs": tf.train.Feature(int64_list=tf.train.Int64List(value=source)),
            "targets": tf.train.Feature(int64_list=tf.train.Int64List(value=target)),
        }
        example = tf.train.Example(features=tf.train.Features(feature=feature))
        writers[row % shards].write(example.SerializeToString())
    for writer in writers:
        writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=400_000)
    parser.add_argument("--tokens", type=int, default=35, help="mean number of tokens per side")
    parser.add_argument("--shards", type=int, default=10)
    parser.add_argument("--peer-pairs", type=int, default=40_000)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    inputs, targets = (make_ids(options.pairs, options.tokens, rng) for _ in range(2))
    few, few_targets = (Ragged(rows.values, rows.offsets[: options.peer_pairs + 1]) for rows in (inputs, targets))
    with tempfile.TemporaryDirectory() as name:
        spill, shards, read = ours(Path(name), inputs, targets, options.shards)
        theirs = peer(Path(name), few, few_targets, options.shards).times(options.pairs / options.peer_pairs)
    both = Spent(spill.clock + shards.clock, spill.processor + shards.processor)
    print(f"phase 1, spill      {options.pairs / spill.clock:12,.0f} pairs/s")
    print(f"phase 2, shards     {options.pairs / shards.clock:12,.0f} pairs/s")
    print(f"both, shuffled      {options.pairs / both.clock:12,.0f} pairs/s")
    print(f"read back, checked  {options.pairs / read.clock:12,.0f} pairs/s")
    print(f"tf.io.TFRecordWriter{options.pairs / theirs.clock:12,.0f} pairs/s, not shuffled")
    print(f"ratio               {theirs.clock / both.clock:12.1f}")
    what = "IDs to shuffled shards, one thread (the peer does not shuffle)"
    record(Figure(what, "pairs/s", [both], with_version("tensorflow"), [theirs], options.pairs))


if __name__ == "__main__":
    main()
