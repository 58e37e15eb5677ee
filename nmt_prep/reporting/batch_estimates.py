"""Estimates the batches that loaders make: with the config's settings, and with other settings."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from nmt_prep.base.runtime import available_cores
from nmt_prep.base.sides import SIDES
from nmt_prep.training.batches import BatchPlan, Options, cut_window, vectors
from nmt_prep.training.batches.cutting import DivisionPlan, PlannedWindow, WindowPairs
from nmt_prep.training.batches.epoch import EpochOrder, SplitIndex
from nmt_prep.training.batches.joined_segments import Joining, Segments
from nmt_prep.training.batches.options import BatchRule
from nmt_prep.training.batches.vectors import Int64s
from nmt_prep.training.records.dataset_json import DatasetInfo, SplitInfo

Setting: TypeAlias = "dict[str, Any]"  # A loader's arguments: attributes of `Options`
_Sampled: TypeAlias = tuple[PlannedWindow, WindowPairs, int]

SAMPLE_PAIRS = 131_072  # Approximate number of pairs whose batches are counted, from the first shards
_WINDOWS = 2  # an epoch begins with a small window


@dataclass(frozen=True)
class BatchEstimate:
    """The batches that loaders make with a setting."""

    setting: Setting  # the arguments of a loader that differ from the config; empty for the settings of the config
    sampled_pairs: int  # a sample of the whole split gives the exact numbers of epoch 0 with the default seed
    pairs: int  # sampled pairs in batches; joined segments of documents count as one pair
    batches: int
    tokens: int  # IDs in the batches, both sides
    cells: int  # IDs and padding in the batches, both sides
    left_out: int  # pairs of the whole split that are longer than the limit, exactly
    batches_per_epoch: int  # of the whole split, estimated

    @classmethod
    def of(
        cls, setting: Setting, sampled: int, counts: tuple[int, int, int, int], limit: int | None, split: SplitInfo
    ) -> BatchEstimate:
        """Returns an estimate; pairs longer than ``limit`` are left out."""
        left_out = 0 if limit is None else sum(n for length, n in split.max_lengths if length > limit)
        return cls(setting, sampled, *counts, left_out, -(-counts[1] * split.pairs // max(sampled, 1)))


def estimate_batches(records_dir: Path, info: DatasetInfo, split: str) -> list[BatchEstimate]:
    """Returns estimates for a split: with the config's settings, then with others. Reads part of the indexes."""
    index = first_shards(records_dir, info, split)
    if index is None:
        return []
    # Consecutive pairs of packed records have similar lengths, so the sample is the first epoch of the default seed.
    order = EpochOrder(index, 0, window_pairs=SAMPLE_PAIRS)
    joining = Joining.of(info, split, 0)
    windows = list(_windows(BatchPlan(order, BatchRule(1), info=info, joining=joining)))
    lengths = None if joining is None else partial(joining.lengths, index)
    estimates = [_packed(index, info, split)] if info.layout == "packed" else []

    def estimate(setting: Setting) -> BatchEstimate:
        options = Options(**{"packed": False, **setting})
        rule = BatchRule.of(info, split, options, lengths)
        # Without buckets and rows, the lengths alone decide the batches of sorted pairs, so a shuffle changes no count.
        shuffled = rule.buckets is not None or rule.row_length is not None
        plan = DivisionPlan(order if shuffled else replace(order, seed=None), rule)
        return _estimate(setting, plan, windows, info, split)

    with ThreadPoolExecutor(available_cores()) as pool:
        return estimates + list(pool.map(estimate, _settings(info)))


def _settings(info: DatasetInfo) -> Iterator[Setting]:
    tokens, longest = info.input.batch_tokens, info.input.max_length
    settings: list[Setting] = [{"bucketing": "optimal"}, {"bucketing": "t2t"}]
    if info.layout != "packed":
        settings = [{}, *settings, {"packed": True}]
    settings += [{"batch_tokens": number} for number in (tokens // 2, tokens * 2, tokens * 4) if number]
    settings += [{"batch_size": 64}]
    settings += [{"max_length": length} for length in (longest // 2, longest * 2) if length]
    yield from settings


def first_shards(records_dir: Path, info: DatasetInfo, split: str) -> SplitIndex | None:
    """Returns the index of the first shards that have enough pairs; None without pairs."""
    shards = []
    for shard in info.splits[split].shards:
        shards.append(shard)
        if sum(chosen.pairs for chosen in shards) >= 2 * SAMPLE_PAIRS:
            break
    part = info.splits[split].model_copy(update={"shards": tuple(shards)})
    index = SplitIndex.load(records_dir, info.model_copy(update={"splits": {**info.splits, split: part}}), split)
    return replace(index, packed=False) if sum(shard.pairs for shard in shards) else None


def _windows(plan: BatchPlan) -> Iterator[_Sampled]:
    """Yields windows from the sample: their rows (pairs or joined segments), the lengths, and the pair count."""
    for window in islice(plan.planned_windows(), _WINDOWS):
        pairs = plan.order.index.pairs_of(window.runs)
        source, target = pairs[:, :2].T.astype(np.int64)
        rows = window
        if plan.joining is not None:
            segments = Segments.read(plan.order.index, window.runs, pairs)
            examples = plan.joining.examples_of(window, segments, 0)
            source, target = (examples.lengths[side] for side in SIDES)
            rows = window._replace(skip=0, take=len(examples))
        yield rows, WindowPairs(source, target, None, np.empty(0, np.int64)), len(pairs)


def _estimate(
    setting: Setting,
    plan: DivisionPlan,
    windows: list[_Sampled],
    info: DatasetInfo,
    split: str,
) -> BatchEstimate:
    pairs = batches = tokens = cells = 0
    for window, contents, _ in windows:
        cut = cut_window(plan, window, contents, vectors)
        limit = plan.rule.max_length
        sides = [np.asarray(side)[np.asarray(cut.pairs)] for side in (contents.source, contents.target)]
        if limit is not None:
            sides = [np.minimum(side, limit) for side in sides]
        pairs += len(sides[0])
        batches += len(cut.sizes)
        tokens += sum(int(side.sum()) for side in sides)
        if plan.rule.row_length is not None:
            cells += 2 * int(np.sum(cut.sizes)) * plan.rule.row_length
        else:
            cells += sum(_padded(side, np.asarray(cut.sizes)) for side in sides)
    sampled = sum(count for *_, count in windows)
    return BatchEstimate.of(setting, sampled, (pairs, batches, tokens, cells), plan.rule.max_length, info.splits[split])


def _packed(index: SplitIndex, info: DatasetInfo, split: str) -> BatchEstimate:
    """Returns the estimate for records whose pairs are packed into rows already, from all pairs of the index."""
    length = info.row_length or 0
    rows = sum(int(shard.blocks[:, 3].sum()) for shard in index.shards)
    pairs = np.concatenate([shard.pairs[:, :2] for shard in index.shards]).astype(np.int64)
    fitting = pairs[pairs.max(axis=1) <= length]
    rows_per_batch = max(info.input.batch_tokens // max(length, 1), 1)
    counts = len(fitting), -(-rows // rows_per_batch), int(fitting.sum()), 2 * rows * length
    return BatchEstimate.of({}, len(pairs), counts, length, info.splits[split])


def _padded(lengths: Int64s, sizes: Int64s) -> int:
    """Returns the cell count of one side, given all pair lengths and each batch's pair count."""
    if not len(sizes):
        return 0
    return int((np.maximum.reduceat(lengths, np.cumsum(sizes) - sizes) * sizes).sum())
