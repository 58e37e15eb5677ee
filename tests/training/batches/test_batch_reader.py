from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast, get_type_hints

import numpy as np
import pytest

import nmt_prep
from nmt_prep.base.errors import ArgumentError, ConfigError, RecordsError
from nmt_prep.training.batches import IdBatch, Options, read_records
from nmt_prep.training.batches.batch_plan import BatchPlan, plan_batches
from nmt_prep.training.batches.batch_reader import prefetched, read_batches
from nmt_prep.training.batches.options import Keywords
from nmt_prep.training.batches.source import BatchSource
from nmt_prep.training.records.dataset_json import InputInfo, load_dataset_info, write_dataset_info

Pair = tuple[list[int], list[int]]
PAIRS: list[Pair] = [([100 + i, *[2] * (i * 7 % 20), 1], [100 + i, *[3] * (i * 5 % 19), 1]) for i in range(1200)]


def pairs_in(batches: list[IdBatch]) -> list[Pair]:
    return [pair for batch in batches for pair in zip(*(side.to_lists() for side in batch), strict=True)]


def same(batches: list[IdBatch], others: list[IdBatch]) -> bool:
    return list(map(pairs_in, ([b] for b in batches))) == list(map(pairs_in, ([b] for b in others)))


@pytest.mark.parametrize(("layout", "workers"), [("example", 1), ("chunk", 3), ("packed", 8)])
def test_workers_divide_all_pairs(encode_run: Callable[..., Path], layout: str, workers: int) -> None:
    run = encode_run({"a": PAIRS}, layout)
    options: dict[str, Any] = {"batch_tokens": 300, "world_size": workers, "seed": 3, "packed": False}
    parts = [list(nmt_prep.read_records(run, "train", **options, rank=worker)) for worker in range(workers)]
    assert sorted(pair for part in parts for pair in pairs_in(part)) == sorted(PAIRS)
    for batch in (batch for part in parts for batch in part):
        assert len(batch.source) * max(*batch.source.lengths, *batch.target.lengths) <= 300


def test_an_epoch_resumes_at_any_batch(encode_run: Callable[..., Path]) -> None:
    run = encode_run({"a": PAIRS})
    whole = list(read_records(run, "train", batch_size=7, seed=1, epoch=2))
    for step in (0, 1, 50, len(whole) - 1, len(whole)):
        assert same(list(read_records(run, "train", batch_size=7, seed=1, epoch=2, skip_batches=step)), whole[step:])
    assert not same(whole, list(read_records(run, "train", batch_size=7, seed=1, epoch=3)))
    with pytest.raises(ConfigError, match=f"skip_batches is 999, but this epoch has {len(whole)} batches"):
        read_records(run, "train", batch_size=7, seed=1, epoch=2, skip_batches=999)


def test_too_long_pairs_and_equal_numbers(encode_run: Callable[..., Path]) -> None:
    run = encode_run({"a": PAIRS})
    short = [pair for pair in PAIRS if max(map(len, pair)) <= 10]
    assert sorted(pairs_in(list(read_records(run, "train", max_length=10)))) == sorted(short)
    cut = [(source[:10], target[:10]) for source, target in PAIRS]
    assert sorted(pairs_in(list(read_records(run, "train", max_length=10, too_long="truncate")))) == sorted(cut)
    sizes = {
        len(list(read_records(run, "train", batch_tokens=200, world_size=5, rank=w, equal_batches=True)))
        for w in range(5)
    }
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("layout", "options"),
    [
        ("example", {"batch_tokens": 200}),
        ("chunk", {"batch_size": 30, "bucketing": "optimal", "num_buckets": 4}),
        ("chunk", {"pad_to": [8, 24], "batch_tokens": 120, "temperature": 3}),
        ("packed", {"batch_size": 7}),
        ("chunk", {"packed": True, "max_length": 24, "batch_size": 3}),
    ],
)
def test_workers_split_their_last_batches(
    encode_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, layout: str, options: dict[str, Any]
) -> None:
    monkeypatch.setattr("nmt_prep.training.batches.batch_plan.WINDOW_PAIRS", 100)
    run = encode_run({"a": PAIRS}, layout)

    def part(worker: int, **more: Any) -> list[IdBatch]:
        return list(read_records(run, "train", world_size=5, rank=worker, **options, **more))

    whole = [part(worker) for worker in range(5)]
    split = [part(worker, equal_batches="split") for worker in range(5)]
    counts = set(map(len, whole))
    assert len(counts) > 1
    assert set(map(len, split)) == {max(counts)}
    for before, after in zip(whole, split, strict=True):
        assert pairs_in(before) == pairs_in(after)
        assert same(before[:3], after[:3])
    for step in (0, 1, max(counts) - 1, max(counts)):
        assert same(part(1, equal_batches="split", skip_batches=step), split[1][step:])
    with pytest.raises(ConfigError, match=f"this epoch has {max(counts)} batches"):
        part(1, equal_batches="split", skip_batches=max(counts) + 1)


def test_batches_that_cannot_be_split(encode_run: Callable[..., Path]) -> None:
    run = encode_run({"a": PAIRS[:5]})
    with pytest.raises(ConfigError, match="process 0 of 2 has too few pairs for the 3 batches that each gets; make"):
        list(read_records(run, "train", batch_size=1, world_size=2, equal_batches="split"))


@pytest.mark.parametrize("layout", ["example", "chunk", "packed"])
def test_the_corpus_of_each_pair(encode_run: Callable[..., Path], layout: str) -> None:
    run = encode_run({"a": PAIRS[:700], "b": PAIRS[700:800], "c": PAIRS[800:]}, layout)
    number = {source[0]: 0 if i < 700 else 1 if i < 800 else 2 for i, (source, _) in enumerate(PAIRS)}
    for options in ({}, {"packed": True, "max_length": 32}, {"world_size": 3, "rank": 1}):
        for batch in read_records(run, "train", corpus_ids=True, batch_tokens=300, **options):  # type: ignore[arg-type]
            assert batch.corpora is not None
            assert batch.corpora.dtype == np.int32
            assert batch.corpora.tolist() == [number[row[0]] for row in batch.source]
    assert {batch.corpora for batch in read_records(run, "train")} == {None}


def test_rows_of_records_stay_together(encode_run: Callable[..., Path]) -> None:
    run = encode_run({"a": PAIRS}, "packed")
    batches = list(read_records(run, "train", batch_size=10))
    assert sorted(pairs_in(batches)) == sorted(PAIRS)
    rows = [count for batch in batches for count in (batch.row_pairs.tolist() if batch.row_pairs is not None else [])]
    assert sum(rows) == len(PAIRS)
    assert {batch.width for batch in batches} == {32}
    for batch in batches:
        assert batch.row_pairs is not None
        first = batch.row_pairs.cumsum() - batch.row_pairs
        assert np.add.reduceat(batch.source.lengths, first).max() <= 32


@pytest.mark.parametrize(("layout", "packed"), [("chunk", True), ("packed", None), ("example", True)])
def test_batches_have_the_requested_width(encode_run: Callable[..., Path], layout: str, packed: bool | None) -> None:
    run = encode_run({"a": PAIRS}, layout)
    assert {batch.width for batch in read_records(run, "train", packed=packed, max_length=32)} == {32}
    assert {batch.width for batch in read_records(run, "train", packed=False)} == {None}
    widths = {batch.width for batch in read_records(run, "train", packed=False, pad_to=[8, 24])}
    assert widths == {8, 24}


def test_input_section_of_the_config_gives_the_defaults(encode_run: Callable[..., Path]) -> None:
    run = encode_run({"a": PAIRS})
    info = load_dataset_info(run / "records")
    recorded = info.model_copy(update={"input": InputInfo(batch_tokens=60, max_length=12)})
    write_dataset_info(run / "records", recorded)
    found = list(read_records(run, "train"))
    assert same(found, list(read_records(run, "train", batch_tokens=60, max_length=12)))
    assert max(len(source) for source, _ in pairs_in(found)) <= 12
    assert max(len(source) for source, _ in pairs_in(list(read_records(run, "train", max_length=None)))) == 21


def windows_of(encode_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> BatchPlan:
    monkeypatch.setattr("nmt_prep.training.batches.batch_plan.WINDOW_PAIRS", 600)
    pairs = [([100 + number, 1], [200 + number, 1]) for number in range(3000)]
    run = encode_run({"a": pairs}, "chunk")
    plan = plan_batches(run, "train", Options(batch_size=100, shuffle=False))
    assert [window.take for window in plan.windows] == [256, 512, 512, 732, 512, 476]
    return plan


def test_batches_before_a_damage_come_first(encode_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    plan = windows_of(encode_run, monkeypatch)
    last = int(plan.windows[-1].runs[0])
    path = plan.order.index.paths[int(plan.order.index.runs.shard[last])]
    content = bytearray(path.read_bytes())
    content[int(plan.order.index.runs.start[last]) + 500] ^= 1
    path.write_bytes(content)
    batches = read_batches(plan)
    assert sum(len(next(batches).source) for _ in range(3 + 6 + 6 + 8 + 6)) == 2524
    with pytest.raises(RecordsError, match=r"the checksum of a record's data does not match"):
        next(batches)


def test_the_thread_that_reads_ahead_ends_with_the_iterator(
    encode_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = read_batches(windows_of(encode_run, monkeypatch))
    next(batches)
    assert [thread for thread in threading.enumerate() if thread.name.startswith("nmt_prep batches")]
    del batches
    assert not is_read()


@pytest.mark.parametrize(
    ("layout", "options", "message"),
    [
        ("chunk", {"skip_batches": -1}, "skip_batches is -1"),
        ("packed", {"too_long": "truncate"}, "use layout chunk"),
        ("example", {"temperature": 2}, r"set records\.layout to chunk"),
        ("chunk", {"packed": True, "pad_to": [8]}, "remove pad_to"),
        ("chunk", {"packed": True, "max_length": None}, "packed rows need max_length"),
        ("chunk", {"pad_to": [0]}, "at least one length, all of them at least 1"),
        ("chunk", {"pad_to": [8], "bucketing": "t2t"}, "remove bucketing"),
        ("chunk", {"bucketing": "best"}, "must be one of 'window', 'optimal', 't2t'"),
        ("chunk", {"too_long": "cut"}, "too_long is 'cut'; it must be one of 'drop', 'truncate'"),
        ("chunk", {"batch_tokens": "4096"}, "batch_tokens is '4096'; it must be a whole number"),
        ("chunk", {"batch_size": 2.5}, "batch_size is 2.5; it must be a whole number"),
        ("chunk", {"rank": "0"}, "rank is '0'; it must be a whole number"),
        ("chunk", {"pad_to": 64}, "pad_to is 64; give a list"),
        ("chunk", {"drop_remainder": True}, "drop_remainder needs"),
        (
            "chunk",
            {"drop_remainder": True, "equal_batches": "split"},
            "full batches, but equal_batches=split splits them",
        ),
        ("chunk", {"equal_batches": "none"}, "equal_batches is 'none'; it must be one of True, False, 'split'"),
        ("chunk", {"weights": {}, "temperature": 1.0}, "mixed by one of them"),
        ("chunk", {"batch_size": 0}, "batch_size is 0; it must be at least 1"),
        ("chunk", {"batch_tokens": 9, "batch_size": 9}, "bounded by one of them"),
        ("chunk", {"world_size": 2, "rank": 2}, "rank is 2, with world_size 2 it must be from 0 to 1; give"),
        ("chunk", {"rank": -1}, "rank is -1, with world_size 1 it must be from 0 to 0"),
        ("chunk", {"world_size": 0}, "world_size is 0; it must be at least 1"),
    ],
)
def test_conflicting_options(encode_run: Callable[..., Path], layout: str, options: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        read_records(encode_run({"a": PAIRS[:3]}, layout), "train", **options)


def test_the_types_of_keywords_are_those_of_the_options(tmp_path: Path) -> None:
    assert get_type_hints(Keywords) == get_type_hints(Options)
    with pytest.raises(
        TypeError, match=r"^read_records\(\) got an unexpected keyword argument 'sead'; did you mean 'seed'\?$"
    ):
        read_records(tmp_path, "train", sead=1)  # type: ignore[call-arg]
    for load in (BatchSource, nmt_prep.make_dataset):
        with pytest.raises(
            TypeError, match=rf"^{load.__name__}\(\) got .* argument 'batch_token'; did you mean 'batch_tokens'\?$"
        ):
            load(tmp_path, "train", batch_token=3)  # type: ignore[operator]


def is_read() -> bool:
    """Returns whether a thread still reads ahead, after those that end have ended."""
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("nmt_prep batches")]
    for thread in threads:
        thread.join(10)
    return any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("ahead", [1, 3, 16, 100])
def test_all_items_in_order(ahead: int) -> None:
    for count in (0, 1, 2, 57):
        assert list(prefetched(iter(range(count)), ahead)) == list(range(count))
    assert not is_read()


def test_an_error_follows_the_items_before_it() -> None:
    def numbers() -> Iterator[int]:
        yield from range(10)
        raise ValueError("no more")

    iterator = prefetched(numbers(), 16)
    assert [next(iterator) for _ in range(10)] == list(range(10))
    with pytest.raises(ValueError, match="no more"):
        next(iterator)
    assert not is_read()


def test_a_closed_iterator_ends_its_thread() -> None:
    made = []

    def numbers() -> Iterator[int]:
        for number in range(10**9):
            made.append(number)
            yield number

    iterator = prefetched(numbers(), 8)
    assert [next(iterator) for _ in range(3)] == [0, 1, 2]
    iterator.close()  # type: ignore[attr-defined]
    assert not is_read()
    assert len(made) < 50


def test_an_iterator_may_be_collected_in_its_own_thread() -> None:
    dropped, collected = threading.Event(), threading.Event()

    def numbers() -> Iterator[int]:
        yield 0
        dropped.wait(10)
        gc.collect()
        collected.set()

    cycle: list[object] = []
    cycle += [cycle, prefetched(numbers(), 1)]
    next(cast(Iterator[int], cycle[1]))
    del cycle
    dropped.set()
    assert collected.wait(10)
    assert not is_read()


def test_items_are_not_lost_if_a_thread_starts_only_later(monkeypatch: pytest.MonkeyPatch) -> None:
    start, refused = threading.Thread.start, []

    def refuse_once(thread: threading.Thread) -> None:
        if not refused:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_once)
    assert list(prefetched(iter(range(9)), 8)) == [*range(9)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_does_not_wait_for_the_thread_of_its_parent() -> None:
    iterator = prefetched(iter(range(9)), 1)
    assert next(iterator) == 0
    if not (child := os.fork()):
        try:
            next(iterator)
        except ArgumentError:
            os._exit(5)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
    assert list(iterator) == [1, 2, 3, 4, 5, 6, 7, 8]


HELD = """
import atexit, time
from nmt_prep.training.batches.batch_reader import prefetched

def numbers():
    yield 0
    time.sleep(0.5)
    print("made", flush=True)
    yield from range(1, 9)

held = prefetched(numbers(), 1)
print(next(held))
atexit.register(lambda: print("end", flush=True) or print(list(held)))
{last}
"""


@pytest.mark.parametrize(("last", "status"), [("", 0), ("raise SystemExit(3)", 3), ("raise ValueError(held)", 1)])
def test_a_program_that_holds_an_iterator_ends_after_its_thread(last: str, status: int) -> None:
    program = [sys.executable, "-c", HELD.format(last=last)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (status, "0\nmade\nend\n[1, 2, 3, 4, 5, 6, 7, 8]\n")
    assert "Exception ignored" not in done.stderr
