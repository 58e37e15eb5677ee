from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from _nmt_prep_core import pack_best_fit, pack_rounds
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.errors import ArgumentError, ConfigError
from nmt_prep.training.batches import vectors
from nmt_prep.training.batches.batch_plan import BatchPlan
from nmt_prep.training.batches.epoch import CorpusMix, EpochOrder, SplitIndex, tempered_draws, weighted_draws
from nmt_prep.training.batches.options import BatchRule
from nmt_prep.training.batches.vectors import Int64s
from nmt_prep.training.records.dataset_json import CorpusInfo, DatasetInfo
from nmt_prep.training.records.record_columns import ShardIndex
from tests.conftest import examples

INFO = DatasetInfo.model_construct()


def split_index(pairs_of_shards: list[int], corpora: int = 1, seed: int = 0) -> SplitIndex:
    rng = np.random.default_rng(seed)
    shards = []
    for pairs in pairs_of_shards:
        columns = rng.integers(1, 60, (pairs, 3)).astype(np.uint16)
        columns[:, 2] = rng.integers(0, corpora, pairs)
        starts = np.arange(0, pairs, 256)
        counts = np.minimum(256, pairs - starts)
        shards.append(ShardIndex(columns, np.column_stack([1000 * starts, np.ones_like(starts), counts, 0 * counts])))
    return SplitIndex(tuple(Path(f"shard-{number}") for number in range(len(shards))), tuple(shards), packed=False)


def test_a_run_ends_where_the_next_one_or_its_shard_does(tmp_path: Path) -> None:
    index = split_index([600, 0, 100])
    paths = []
    for name, size in (("a", 700_000), ("b", 1), ("c", 5_000)):
        paths.append(tmp_path / name)
        paths[-1].write_bytes(bytes(size))
    index = SplitIndex(tuple(paths), index.shards, packed=False)
    assert index.runs.start.tolist() == [0, 256_000, 512_000, 0]
    assert index.run_ends.tolist() == [256_000, 512_000, 700_000, 5_000]
    assert SplitIndex((), (), packed=False).run_ends.tolist() == []


def pairs_of(order: EpochOrder) -> list[tuple[int, int]]:
    """Returns the shard and number of each pair that a worker gets."""
    runs = order.index.runs
    found = []
    for window in order.windows():
        numbers = [
            (int(runs.shard[run]), int(runs.first_pair[run]) + pair)
            for run in window.runs
            for pair in range(int(runs.pairs[run]))
        ]
        found += numbers[window.skip : window.skip + window.take]
    return found


@settings(max_examples=examples(40))
@given(
    st.lists(st.integers(0, 1500), min_size=1, max_size=4), st.integers(1, 8), st.integers(0, 3), st.integers(200, 3000)
)
def test_workers_divide_an_epoch(shards: list[int], workers: int, epoch: int, window_pairs: int) -> None:
    index = split_index(shards)
    orders = [EpochOrder(index, 7, epoch, worker, workers, window_pairs) for worker in range(workers)]
    parts = [pairs_of(order) for order in orders]
    assert sorted(pair for part in parts for pair in part) == [
        (shard, pair) for shard, pairs in enumerate(shards) for pair in range(pairs)
    ]
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert all(0 < window.take <= window_pairs + 256 for order in orders for window in order.windows())


def test_epochs_differ_and_no_seed_keeps_the_order() -> None:
    index = split_index([5000, 3000])
    first, again, second = (EpochOrder(index, 7, epoch).order.tolist() for epoch in (0, 0, 1))
    assert first == again != second
    assert sorted(first) == list(range(32))
    assert EpochOrder(index, None).order.tolist() == list(range(32))


def test_resume_position_is_found_by_counting() -> None:
    order = EpochOrder(split_index([9000]), 1, window_pairs=2000)

    def start(skip: int) -> tuple[int, int]:
        return BatchPlan(order, BatchRule(1000), info=INFO, skip_batches=skip).start

    counts = list(BatchPlan(order, BatchRule(1000), info=INFO).batches())
    assert len(counts) == 6
    assert counts[0] < counts[1] / 2
    assert start(0) == (0, 0)
    assert start(counts[0] - 1) == (0, counts[0] - 1)
    assert start(counts[0]) == (1, 0)
    assert start(sum(counts) - 1) == (5, counts[5] - 1)
    assert start(sum(counts)) == (6, 0)
    with pytest.raises(ArgumentError, match=f"skip_batches is 10000, but this epoch has {sum(counts)} batches"):
        start(10_000)


def test_equal_workers_end_together() -> None:
    orders = [EpochOrder(split_index([9000]), 1, 0, worker, 3, 2000) for worker in range(3)]
    numbers = [sum(BatchPlan(order, BatchRule(1000), info=INFO).batches()) for order in orders]
    assert len(set(numbers)) > 1
    plans = [BatchPlan(order, BatchRule(1000), info=INFO, skip_batches=5, equal_batches=True) for order in orders]
    assert {plan.batches_left for plan in plans} == {min(numbers) - 5}
    late = replace(plans[numbers.index(max(numbers))], skip_batches=max(numbers))
    with pytest.raises(ArgumentError, match=f"but this epoch has {min(numbers)} batches"):
        _ = late.start


CORPORA = [CorpusInfo(name="a", pairs=700), CorpusInfo(name="b", pairs=300), CorpusInfo(name="c", pairs=0)]


def copies_of(mix: CorpusMix, index: SplitIndex, runs: Int64s) -> Int64s:
    copies: Int64s = mix.copies(index.pairs_of(runs)[:, 2], runs, index.runs.pairs[runs], vectors)
    return copies


def test_weights_give_exact_numbers_and_equal_turns() -> None:
    index = split_index([600, 400], corpora=2)
    numbers = np.concatenate([shard.pairs[:, 2] for shard in index.shards])
    corpora = [CorpusInfo(name=name, pairs=int((numbers == number).sum())) for number, name in enumerate("ab")]
    draws = weighted_draws(corpora, {"a": 0.25, "b": 2.5})
    assert draws == [round(corpora[0].pairs * 0.25), round(corpora[1].pairs * 2.5)]
    runs = np.arange(len(index.runs.pairs))
    copies = [copies_of(CorpusMix.of(index, corpora, draws, 3, epoch), index, runs) for epoch in range(4)]
    for epoch in copies:
        assert [int(epoch[numbers == corpus].sum()) for corpus in (0, 1)] == draws
        assert set(epoch[numbers == 0]) == {0, 1}
        assert set(epoch[numbers == 1]) == {2, 3}
    assert (copies[0] != copies[1]).any()
    together = np.sum(copies, axis=0)
    assert set(together[numbers == 1]) == {10}
    assert together[numbers == 0].max() - together[numbers == 0].min() <= 1


def test_copies_of_a_window_equal_those_of_the_whole() -> None:
    index = split_index([3000], corpora=3)
    mix = CorpusMix.of(index, [CorpusInfo(name=n, pairs=1000) for n in "abc"], [500, 1500, 10], 1, 0)
    order = EpochOrder(index, 5).order
    whole = copies_of(mix, index, np.arange(len(order)))
    runs = index.runs
    pieces = [whole[runs.first_pair[run] : runs.first_pair[run] + runs.pairs[run]] for run in order[3:7]]
    assert copies_of(mix, index, order[3:7]).tolist() == np.concatenate(pieces).tolist()


def test_temperature() -> None:
    assert tempered_draws(CORPORA, 1) == [700, 300, 0]
    assert tempered_draws(CORPORA, 1e9) == [500, 500, 0]
    assert tempered_draws(CORPORA, 5) == [542, 458, 0]
    assert sum(tempered_draws(CORPORA, 0.3)) == 1000
    assert tempered_draws([CorpusInfo(name="a", pairs=0)], 2) == [0]
    assert tempered_draws([CorpusInfo(name="a", pairs=9), CorpusInfo(name="b", pairs=1)], 2) == [8, 2]  # 7.5, 2.5
    with pytest.raises(ConfigError, match="temperature is 0"):
        tempered_draws(CORPORA, 0)
    with pytest.raises(ConfigError, match="names the corpus 'z'; the corpora are a, b, c"):
        weighted_draws(CORPORA, {"z": 1})
    with pytest.raises(ConfigError, match="the weight of 'a' is -1"):
        weighted_draws(CORPORA, {"a": -1})


@pytest.mark.slow
@pytest.mark.parametrize("row_length", [None, 256])
def test_a_hundred_million_pairs_resume_in_seconds(row_length: int | None) -> None:
    shard = split_index([1_000_000])
    index = SplitIndex(shard.paths * 100, shard.shards * 100, packed=False)
    rule = BatchRule(4096, 16 if row_length else None, max_length=256, row_length=row_length)
    plan = BatchPlan(EpochOrder(index, 1), rule, info=INFO, skip_batches=1 << 40)
    with pytest.raises(ArgumentError, match="skip_batches is"):
        _ = plan.start


@pytest.mark.parametrize("corpus", ["multi30k", "general-v22"])
def test_real_rows_are_packed_to_98_percent(shared: Path, corpus: str) -> None:
    languages = ("en", "de") if corpus == "multi30k" else ("en", "zh")
    files = [shared / "golden" / "t2t" / f"t2t.{corpus}.{language}.8192.msl200.ids.gz" for language in languages]
    columns = [[line.count(b" ") + 2 for line in gzip.decompress(path.read_bytes()).splitlines()] for path in files]
    source, target = (np.array(column, np.int32) for column in columns)
    short = np.maximum(source, target) <= 256
    source, target = source[short], target[short]
    tokens = max(source.sum(), target.sum())
    online = len(np.unique(pack_rounds(source, target, 256)))
    assert tokens / (online * 256) >= 0.98
    spans = [slice(first, first + 16_384) for first in range(0, len(source), 16_384)]
    packed = (pack_best_fit(source[span], target[span], 256) for span in spans)
    assert tokens / (sum(int(rows.max()) + 1 for rows in packed) * 256) >= 0.98
