"""Input functions: tensorflow/nmt's scheme, one pair at a time, against get_iterator and make_dataset.

    python -m benchmarks.input [--repeat 4]

Run it in the root of the checkout. The text is WMT22 English–Chinese from the folder of real corpora beside the
checkout, or else the toy corpus; the source is cut into words, the target into characters, each side with a vocabulary
of its 8,192 most frequent. The peer is the plain reimplementation that the tests use. Batches are counted, not computed
with. Tokens count sos or eos, not padding. CPU time is that of all threads: on a busy machine it compares better.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf

from nmt_prep.columns import Ragged
from nmt_prep.input import BatchedInput, get_iterator, make_dataset
from nmt_prep.records import (
    CorpusInfo,
    DatasetInfo,
    GlobalShuffle,
    Languages,
    ShardPlan,
    SpillWriter,
    SplitInfo,
    Vocabularies,
    VocabularyInfo,
    append_id,
    shard_name,
    write_dataset_info,
    write_shard,
)
from tests.reference.nmt_iterator import reference_iterator

REPOSITORY = Path(__file__).resolve().parent.parent
SPECIAL = ["<unk>", "<s>", "</s>"]
EOS = 2
SHARDS = 8

Texts = tuple[list[str], list[str]]


def read_text() -> tuple[str, Texts]:
    archive = REPOSITORY.parent / "shared/corpora/wmt22-enzh/training-parallel-general-v22.tgz"
    if not archive.exists():
        archive = REPOSITORY / "data/toy/training-parallel-toy.tgz"
    with tarfile.open(archive) as tar:
        sides = sorted(name for name in tar.getnames() if name.endswith((".en", ".zh")))[:2]
        source, target = (member.read().decode() for member in map(tar.extractfile, sides) if member is not None)
    words = [" ".join(re.findall(r"\w+|[^\w\s]", line)) for line in source.split("\n")[:-1]]
    characters = [" ".join(line.replace(" ", "")) for line in target.split("\n")[:-1]]
    return archive.name, (words, characters)


def vocabulary(lines: list[str]) -> dict[str, int]:
    counts = Counter(token for line in lines for token in line.split())
    return {word: number for number, word in enumerate(SPECIAL + [word for word, _ in counts.most_common(8189)])}


def table(words: dict[str, int]) -> Any:
    initializer = tf.lookup.KeyValueTensorInitializer(list(words), tf.constant(list(words.values()), tf.int64))
    return tf.lookup.StaticHashTable(initializer, 0)


def write_run(run: Path, texts: Texts, vocabularies: list[dict[str, int]], repeat: int) -> None:
    """What make_dataset reads of a run."""
    records = run / "records"
    records.mkdir()
    (run / "vocab").write_bytes(b"")
    sides = [
        append_id(Ragged.from_lists([[words.get(token, 0) for token in line.split()] for line in lines] * repeat), EOS)
        for lines, words in zip(texts, vocabularies, strict=True)
    ]
    rows = len(sides[0])
    plan = ShardPlan(GlobalShuffle(rows, 1, "train"), SHARDS)
    with SpillWriter(run / "spill", plan) as spill:
        spill.add(0, *sides)
        stats = spill.close()
    paths = [records / shard_name("bench", "train", number, SHARDS) for number in range(SHARDS)]
    shards = [write_shard(path, plan, number, [run / "spill"]) for number, path in enumerate(paths)]
    vocab = VocabularyInfo(
        file="../vocab", kind="plain", size=8192, sha256=hashlib.sha256(b"").hexdigest(), fingerprint="", eos_id=EOS
    )
    dataset = DatasetInfo(
        name="bench",
        config_fingerprint="",
        seed=1,
        languages=Languages(source="en", target="zh"),
        vocab=Vocabularies(source=vocab, target=vocab),
        corpora={"train": (CorpusInfo(name="bench", pairs=rows),)},
        splits={"train": SplitInfo.of(stats, shards)},
    )
    write_dataset_info(records, dataset)


def measure(name: str, make: Callable[[], Any]) -> tuple[float, float]:
    """Runs an epoch, prints a line, and returns pairs a second, of the clock and of the CPU."""
    called = time.perf_counter()
    dataset = make()
    started, cpu_started = time.perf_counter(), time.process_time()
    batches = []
    first = 0.0
    for element in dataset:
        first = first or time.perf_counter()
        batch = element if isinstance(element, BatchedInput) else BatchedInput(None, *element)
        batches.append((*batch[3:], batch.source.shape[1]))
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    pairs = tokens = cells = 0
    for output, source_lengths, target_lengths, width in batches:
        pairs += len(output)
        tokens += int(tf.reduce_sum(source_lengths) + tf.reduce_sum(target_lengths))
        cells += len(output) * (width + output.shape[1])
    print(
        f"{name:32}{pairs:>9,} pairs {pairs / seconds:>10,.0f} pairs/s {tokens / seconds / 1e6:>7.2f} M tokens/s "
        f"{1e6 * cpu_seconds / pairs:>6.1f} us CPU/pair {100 - 100 * tokens / cells:>5.1f} % padding  "
        f"first batch after {first - called:.2f} s"
    )
    return pairs / seconds, pairs / cpu_seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=4, help="times the text is read")
    options = parser.parse_args()
    name, texts = read_text()
    vocabularies = [vocabulary(lines) for lines in texts]
    tables = [table(words) for words in vocabularies]
    print(f"{name}: {len(texts[0]):,} pairs, TensorFlow {tf.__version__}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as directory:
        run = Path(directory)
        paths = [run / "source", run / "target"]
        for path, lines in zip(paths, texts, strict=True):
            path.write_text("".join(f"{line}\n" for line in lines))

        def nmt(function: Callable[..., Any]) -> Any:
            files = [tf.data.TextLineDataset(str(path)).repeat(options.repeat) for path in paths]
            return function(*files, *tables, 128, "<s>", "</s>", 3, 5, src_max_len=50, tgt_max_len=50)

        peer = measure("tensorflow/nmt scheme", lambda: nmt(reference_iterator))
        same = measure("nmt_prep.get_iterator", lambda: nmt(get_iterator))
        write_run(run, texts, vocabularies, options.repeat)
        fast = measure("nmt_prep.make_dataset", lambda: make_dataset(run, "train"))
    for label, ours in (("get_iterator", same), ("make_dataset", fast)):
        print(f"{label}: {ours[0] / peer[0]:.1f} times the peer by the clock, {ours[1] / peer[1]:.1f} by CPU time")


if __name__ == "__main__":
    main()
