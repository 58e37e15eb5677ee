"""Threads of the native core."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np
import pytest
from _nmt_prep_core import (
    Bucket,
    ByteBPESplitter,
    ByteBPEWordCounter,
    ChunkWriter,
    FrequentHashes,
    LineSampler,
    PairBatches,
    SentencePieceOptions,
    SentencePieceTrainingText,
    SpillBuffer,
    T2TTokenCounter,
    T2TTrainer,
    byte_bpe_scanner,
    ordered_records,
)

from nmt_prep.base.columns import TextColumn

Calls: TypeAlias = "tuple[Callable[[], object], Callable[[], object]]"
"""A long call of an object, and a short one."""

PROGRAM = """
import resource
import numpy as np
from _nmt_prep_core import T2TTokenCounter

text = np.frombuffer(b"a b " * 400_000, np.uint8)
offsets = np.arange(0, len(text) + 1, 4, dtype=np.int64)
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (200 << 20),) * 2)
counter = T2TTokenCounter()
counter.add(text, offsets, 16)
print(sorted(counter.items()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits are set as Linux does it")
def test_work_goes_on_if_threads_cannot_be_started() -> None:
    larger_stacks = 'ulimit -s 1000000 && exec "$0" -c "$1"'  # than there is memory for
    done = subprocess.run(
        ["/bin/sh", "-c", larger_stacks, sys.executable, PROGRAM],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    counts = "[(' ', 400000), ('a', 400000), ('b', 400000)]\n"
    assert (done.returncode, done.stdout) == (0, counts), done.stderr


def lines(number: int) -> TextColumn:
    return TextColumn.from_strings([f"the {n % 5000} house{n}" for n in range(number)])


def training_text(column: TextColumn) -> SentencePieceTrainingText:
    text = SentencePieceTrainingText(b"", True, True, False, True, False, [], "", 10_000, 10**9)
    text.add(column.data, column.offsets, 1)
    return text


def counted_tokens() -> T2TTokenCounter:
    column, counter = lines(20_000), T2TTokenCounter()
    counter.add(column.data, column.offsets, 1)
    return counter


def bucket(rows: int, payload: str) -> Bucket:
    ids, offsets = np.ones(8 * rows, np.int32), np.arange(rows + 1) * 8
    data = ordered_records(ids, offsets, ids, offsets, np.zeros(rows, np.int32), payload)
    return Bucket(data, 0, rows, payload)


def of_token_counter() -> Calls:
    column, counter = lines(100_000), T2TTokenCounter()
    return lambda: counter.add(column.data, column.offsets, 1), lambda: counter.add_token("a", 1)


def of_token_trainer() -> Calls:
    trainer = T2TTrainer(counted_tokens(), [], -1)
    return lambda: trainer.build(1, 2, 1), lambda: trainer.most_pieces(1)


def of_trained_counter() -> Calls:
    counter = counted_tokens()
    return lambda: T2TTrainer(counter, [], -1), counter.items


def of_word_counter() -> Calls:
    column, counter = lines(100_000), ByteBPEWordCounter()
    scanner = byte_bpe_scanner(r"\S+|\s+", False, True)
    assert scanner is not None
    splitter = ByteBPESplitter([scanner], False, False, [], [])
    return lambda: counter.add(column.data, column.offsets, splitter, 1), counter.places


def of_spill_buffer() -> Calls:
    buffer, rows = SpillBuffer(np.arange(12, dtype=np.uint64), 10**9, 1, 1, "example"), 200_000
    ids, offsets, firsts = np.ones(8 * rows, np.int32), np.arange(rows + 1) * 8, itertools.count(0, rows)
    return lambda: buffer.add(next(firsts), ids, offsets, ids, offsets, 0), lambda: buffer.held


def of_bucket() -> Calls:
    records = bucket(200_000, "example")
    return records.index, lambda: records.largest


def of_chunk_writer() -> Calls:
    records, writer = bucket(200_000, "ids"), ChunkWriter(256, 0)
    return lambda: writer.add(records), writer.take


def of_pair_batches() -> Calls:
    batches = PairBatches(1000, 10, 0, 1, 1, 1, 0, 1, 2)
    ids, lengths = np.ones(10 * 50_000, np.int32), np.full(50_000, 10)

    def add(pairs: int) -> None:
        side = ids[: 10 * pairs], lengths[:pairs]
        batches.add(*side, *side, np.zeros(pairs, np.int64))

    return lambda: add(50_000), lambda: add(0)


def of_frequent_hashes() -> Calls:
    frequent, hashes = FrequentHashes(1000), np.arange(500_000, dtype=np.uint64)
    return lambda: frequent.add(hashes), lambda: frequent.above(1)


def of_training_text() -> Calls:
    column = lines(100_000)
    text = training_text(lines(10))
    return lambda: text.add(column.data, column.offsets, 1), lambda: text.lines


def of_line_sampler() -> Calls:
    sampler, block = LineSampler(1, 10**12), np.frombuffer(b"a line\n" * 1_000_000, np.uint8)
    return lambda: sampler.feed(block, False), lambda: sampler.lines


@pytest.mark.parametrize(
    "make",
    [
        of_token_counter,
        of_token_trainer,
        of_trained_counter,
        of_word_counter,
        of_spill_buffer,
        of_bucket,
        of_chunk_writer,
        of_pair_batches,
        of_frequent_hashes,
        of_training_text,
        of_line_sampler,
    ],
)
def test_calls_of_another_thread_are_refused(make: Callable[[], Calls]) -> None:
    """The long call releases the GIL for some milliseconds, and the short one is tried meanwhile, else again."""
    long, short = make()
    refused = []

    def tried(call: Callable[[], object]) -> bool:
        try:
            call()
        except RuntimeError as error:
            refused.append(str(error))
            return True
        return False

    with ThreadPoolExecutor(1) as pool:
        for _ in range(1000):
            if refused:
                break
            running = pool.submit(tried, long)
            while not running.done() and not tried(short):
                pass
            running.result()  # shows any other error
    assert set(refused) == {"another call is using this object; use it in one thread at a time"}
    assert not tried(short)  # a refused call leaves the object free


def test_calls_from_the_progress_of_training_are_refused() -> None:
    column, counter = lines(2000), ByteBPEWordCounter()
    counter.add_counted(column.data, column.offsets, np.ones(len(column), np.int64))
    with pytest.raises(RuntimeError, match="another call is using this object"):
        counter.train([bytes([byte]) for byte in range(256)], [], 300, 1, 1, lambda _: counter.places())
    text = training_text(column)
    points = [point for point, _ in text.covered([], 1.0) or []]
    with pytest.raises(RuntimeError, match="another call is using this object"):
        text.learn_bpe(SentencePieceOptions(16, *[False] * 6), points, 50, 1, lambda _: text.lines)


def test_lines_of_a_sampler_stay_when_it_goes_on() -> None:
    sampler = LineSampler(1, 10**9)
    taken = sampler.feed(np.frombuffer(b"a\nb\n", np.uint8), False)
    sampler.feed(np.frombuffer(b"c\n" * 100_000, np.uint8), False)
    assert taken.tobytes() == b"a\nb\n"


ENDING = """
import os, sys, threading, time
import numpy as np
from _nmt_prep_core import T2TTokenCounter

text = np.frombuffer(b"a b " * int(sys.argv[1]), np.uint8)
offsets = np.arange(0, len(text) + 1, 4, dtype=np.int64)

def work():
    while True:
        T2TTokenCounter().add(text, offsets, 16)

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
for _ in range(10):
    if not (child := os.fork()):
        sys.exit(3)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
sys.exit(5)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.parametrize("words", ["1000", "5000000"])  # a long call takes the lock again and again, to see signals
def test_daemon_threads_in_native_code_let_a_program_end(words: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", ENDING, words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (5, "3\n" * 10, "")
