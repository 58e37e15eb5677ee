"""The rows with layout ``causal``: their lengths, how they fill longer rows, and examples with the loss mask."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import pack_sequences

from nmt_prep.reporting import Json
from nmt_prep.reporting.batch_estimates import first_shards
from nmt_prep.subwords import Tokenizer
from nmt_prep.training.records.causal_rows import text_of
from nmt_prep.training.records.dataset_json import DatasetInfo
from nmt_prep.training.records.shard_reader import iter_shard, loss_mask

ROW_LENGTHS = (512, 1024, 2048, 4096, 8192)
_EXAMPLES = 3  # Number of rows that are shown
_SHOWN = 2_000  # Maximum number of IDs shown per row
_SHARES = (50, 90, 99)


def row_facts(records_dir: Path, info: DatasetInfo, tokenizer: Tokenizer) -> Json:
    """Returns the facts on each split with rows; reads the index of its first shards, and one batch of records."""
    return {split: _of_split(records_dir, info, split, tokenizer) for split in info.splits if info.splits[split].pairs}


def _of_split(records_dir: Path, info: DatasetInfo, split: str, tokenizer: Tokenizer) -> Json:
    held = [entry for entry in info.splits[split].source_lengths if entry[0]]  # others are turns of other rows
    lengths, counts = np.array(held, np.int64).reshape(-1, 2).T
    rows, ids = int(counts.sum()), int((lengths * counts).sum())
    before = np.cumsum(counts)
    index = first_shards(records_dir, info, split)
    entries: Iterable[int] = [] if index is None else index.pairs_of(np.arange(len(index.runs.pairs)))[:, 0]
    sampled = np.array([length for length in entries if length], np.int32)
    path = next(records_dir / shard.file for shard in info.splits[split].shards if shard.pairs)
    first = next(iter_shard(path, "causal"))
    return {
        "rows": rows,
        "ids": ids,
        "counted": round(float(loss_mask(first).mean()), 4) if len(first.inputs.values) else 0.0,
        "longest": int(lengths.max(initial=0)),
        "percentiles": {
            share: int(lengths[np.searchsorted(before, share * rows / 100)]) if rows else 0 for share in _SHARES
        },
        "row_lengths": {
            length: {"longer": int(counts[lengths > length].sum()), "fill": _fill(sampled[sampled <= length], length)}
            for length in ROW_LENGTHS
        },
        "examples": [
            _parts(tokenizer, row.tolist(), bounds.tolist())
            for row, bounds in zip(first.inputs, first.targets, strict=True)
            if len(row) and split == "train"
        ][:_EXAMPLES],
    }


def _fill(lengths: npt.NDArray[np.int32], length: int) -> float:
    """Returns the share of cells in packed rows that hold token IDs."""
    if not len(lengths):
        return 0.0
    rows = int(pack_sequences(lengths, length).max(initial=-1)) + 1
    return round(float(lengths.sum(dtype=np.int64)) / (rows * length), 4)


def _parts(tokenizer: Tokenizer, ids: list[int], bounds: list[int]) -> list[tuple[str, bool]]:
    """Returns a row's texts in order, each with True if it counts for the loss."""
    cuts = [0, *bounds, len(ids)]
    parts = [(ids[start : min(end, _SHOWN)], number % 2 == 1) for number, (start, end) in enumerate(pairwise(cuts))]
    return [(text_of(tokenizer, part), counts) for part, counts in parts if part]
